// The page of a job table: the table is moved, again and again, while old workers with the table and new workers with
// Rowlock run its jobs side by side, and at last it is gone.

import { spawn } from "node:child_process";
import { appendFileSync, closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { processStage, type ServingServer } from "../process/stage.ts";
import { reportLeftOut, testServers } from "../support/database.ts";
import { seed } from "../support/seed.ts";
import { until } from "../support/until.ts";
import { installedPrograms } from "./job-table/installed-programs.ts";
import { BAD, JOBS, type Job, jobTable, running } from "./job-table/job-table.ts";
import { finishAsBefore, workAsBefore } from "./job-table/old-worker.ts";
import { mostAtOnce, whoDid } from "./recipes/journal.ts";
import { Run } from "./recipes/run.ts";

/** The tests start many programs, which are slow on a machine with other work. */
vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const TRY_AGAIN = 75;
const packages = processStage("after all");
const stage = processStage();
let programs: string;
beforeAll(() => {
  programs = installedPrograms(packages.folder());
});

const servers = testServers();
reportLeftOut(servers);

describe.each(servers)("on $label", ({ fresh }) => {
  let server: ServingServer;
  let jobsUrl: string;
  let folder: string;
  let journal: string;
  beforeEach(async () => {
    server = await stage.serving(await stage.database(fresh));
    jobsUrl = await stage.database(fresh);
    folder = stage.folder();
    journal = join(folder, "journal");
    writeFileSync(journal, "");
  });

  async function jobs(rows: readonly Job[]): Promise<Pool> {
    const pool = await jobTable(jobsUrl, rows);
    stage.afterwards(() => pool.end());
    return pool;
  }

  /** Its standard output goes to the journal, or to the test. */
  function started(program: string, args: readonly string[], settings = {}, out: number | "pipe" = "pipe") {
    const child = spawn(process.execPath, [join(programs, program), ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, ROWLOCK_ADDR: server.grpcAddress, JOBS_URL: jobsUrl, ...settings },
      stdio: ["ignore", out, "pipe"],
    });
    const run = new Run(child);
    stage.afterwards(() => run.kill());
    let text = "";
    child.stdout?.on("data", (chunk) => (text += chunk));
    return { run, child, text: () => text };
  }

  async function moved(...args: string[]) {
    const { run, text } = started("move.ts", args);
    return {
      code: await run.ended,
      lines: text().trim().split("\n"),
      faults: run.complaints.trim().split("\n"),
    };
  }

  const locks = async () => (await server.client.call("listLocks", { prefix: "jobs/" })).locks;
  const lock = async (job: string) => (await server.client.call("getLock", { name: `jobs/${job}` })).lock;

  test("reports all faults of a table at once, and changes nothing", async () => {
    await jobs([...JOBS, ...BAD]);
    await server.client.call("setLimit", {
      target: { case: "name", value: "jobs/plain-0" },
      newLimit: { case: "limit", value: 3 },
    });
    const { code, faults } = await moved();
    expect(code).toBe(1);
    const twice = '"plain-0": its lock has a limit of 3, so it could run twice';
    const words = [...new Set(BAD.map(({ fault }) => fault)), twice].map((fault) => `  ${fault}`);
    expect(faults).toEqual([`Nothing was changed. ${words.length} faults:`, ...words]);
    expect((await locks()).filter(({ record }) => record !== undefined)).toEqual([]);
  });

  test("moves each job, and later only what has changed", async () => {
    const pool = await jobs(JOBS);
    const total =
      "48 rows: 45 would be new, 0 would be changed, 0 as before, 3 left to the old system, 0 at new workers";
    const dry = await moved("--dry-run", "--schedule", "schedule.json");
    expect([dry.code, dry.lines.at(-1)]).toEqual([
      TRY_AGAIN,
      `${total}; 6 are disabled, 0 locks without a row`,
    ]);
    expect(dry.lines).toHaveLength(49);
    expect(await locks()).toEqual([]);

    const first = await moved("--schedule", "schedule.json");
    expect([first.code, first.lines]).toEqual([
      TRY_AGAIN,
      dry.lines.map((line) => line.replaceAll("would be ", "")),
    ]);
    const [rows] = await pool.query<RowDataPacket[]>(
      "SELECT *, UNIX_TIMESTAMP(next_run) AS next_s FROM jobs",
    );
    const still = rows.filter(({ running_at }) => running_at === null);
    expect(await Promise.all(still.map(async ({ job_id }) => (await lock(job_id))?.record))).toMatchObject(
      still.map(({ next_s, attempts, state }) => ({
        ...(next_s !== null && { notBefore: { seconds: BigInt(next_s) } }),
        attemptsLeft: 5 - attempts,
        status: state,
      })),
    );
    expect((await lock("never-run-0"))?.record?.notBefore).toBeUndefined();
    expect((await locks()).filter(({ limit }) => limit?.permits === 0)).toHaveLength(6);
    expect((await lock("running-0"))?.record).toBeUndefined();
    const schedule = JSON.parse(readFileSync(join(folder, "schedule.json"), "utf8"));
    expect(schedule).toEqual(Object.fromEntries(rows.map(({ job_id }) => [job_id, 3600])));

    const again = await moved();
    expect([again.code, again.lines.length]).toEqual([TRY_AGAIN, 4]);
    expect(again.lines.at(-1)).toMatch(/^48 rows: 0 new, 0 changed, 45 as before, 3 left to the old system/);

    await pool.query("UPDATE jobs SET enabled = 1 WHERE job_id = 'disabled-0'");
    await pool.query("UPDATE jobs SET enabled = 0 WHERE job_id = 'plain-0'");
    await pool.query("UPDATE jobs SET next_run = NOW() + INTERVAL 1 DAY WHERE job_id = 'plain-1'");
    await pool.query("UPDATE jobs SET attempts = 0 WHERE job_id = 'failed-3'");
    await pool.query("DELETE FROM jobs WHERE job_id = 'plain-2'");
    for (const at of [0, 1, 2]) await finishAsBefore(pool, "old-9", `running-${at}`);
    // Somebody else's pause stays, whatever the table says of a job.
    await server.client.call("setLimit", {
      target: { case: "name", value: "jobs/plain-3" },
      newLimit: { case: "limit", value: 0 },
      reason: "its host is away",
    });
    const later = await moved();
    expect(later.code).toBe(0);
    expect(later.lines).toContain(
      "jobs/plain-2: has no row any more; it stays until: rowlock delete 'jobs/plain-2'",
    );
    expect(later.lines.at(-1)).toBe(
      "47 rows: 3 new, 4 changed, 40 as before, 0 left to the old system, 0 at new workers; 6 are disabled, 1 locks without a row",
    );
    const permits = async (job: string) => (await lock(job))?.limit?.permits;
    const paused = ["disabled-0", "plain-0", "plain-3"];
    expect(await Promise.all(paused.map(permits))).toEqual([1, 0, 0]);
    expect((await lock("failed-3"))?.record?.attemptsLeft).toBe(5);
    expect((await moved()).lines).toHaveLength(2);

    const { code } = await stage.rowlock(["resume", "jobs/plain-0"], { ROWLOCK_ADDR: server.grpcAddress })
      .exited;
    expect([code, await permits("plain-0")]).toEqual([0, 1]);
  });

  test("a new worker that loses its lock gives the row back as failed, and the lock learns when it is due again", async () => {
    const pool = await jobs([{ job: "mail" }]);
    expect((await moved()).code).toBe(0);
    const worker = started("beside.ts", [], { WORK_SECONDS: "600", LOOK_AGAIN_SECONDS: "0.1" });
    await until(() => worker.text() === "mail begins\n");
    await server.client.call("forceRelease", {
      target: { case: "name", value: "jobs/mail" },
      reason: "an operator is asked to",
    });
    await until(async () => (await lock("mail"))?.record?.notBefore !== undefined);
    expect(worker.text()).toBe("mail begins\nmail fails\n");
    const [[row]] = await pool.query<RowDataPacket[]>(
      "SELECT *, UNIX_TIMESTAMP(next_run) AS next_s FROM jobs",
    );
    expect(row).toMatchObject({ state: "failed", running_on: null, running_at: null, attempts: 1 });
    await until(async () => (await lock("mail"))?.record?.status === "failed");
    await until(async () =>
      /^1 rows: 0 new, 0 changed, 1 as before/.test((await moved()).lines.at(-1) ?? ""),
    );
    expect((await lock("mail"))?.record).toMatchObject({ status: "failed", attemptsLeft: 4 });
  });

  test("old and new workers side by side run no job twice, and lose none", async () => {
    console.error(`the old workers choose by seed ${seed}`);
    const plain = Array.from({ length: 20 }, (_, at) => `job-${at}`);
    const away = ["away-0", "away-1"];
    const pool = await jobs([
      ...plain.map((job, at) => ({
        job,
        every: 1,
        ...(at % 2 === 0 && { nextRun: "NOW() - INTERVAL 1 HOUR" }),
      })),
      ...away.map((job) => ({ ...running(job), every: 1 })),
      ...["off-0", "off-1"].map((job) => ({ job, enabled: 0, every: 1 })),
    ]);
    await watchClaims(pool);
    const say = (line: string) => appendFileSync(journal, `${line}\n`);
    const lines = () => readFileSync(journal, "utf8").split("\n").slice(0, -1);
    const runs: Run[] = [];
    const untilAll = async (ask: () => Promise<boolean> | boolean) =>
      await until(async () => {
        for (const run of runs) run.check();
        return await ask();
      });
    /** Waits until each of these jobs has ended so often since now. */
    const moreRuns = async (jobs: readonly string[], times: number) => {
      const from = lines().length;
      await untilAll(() => {
        const ended = whoDid("ends", lines().slice(from));
        return jobs.every((job) => ended.filter((each) => each === job).length >= times);
      });
    };
    const claims = async (pattern: string) => {
      const [rows] = await pool.query<RowDataPacket[]>("SELECT * FROM claims WHERE owner LIKE ?", [pattern]);
      return rows;
    };
    const settings = { WORK_SECONDS: "0.02", LOOK_AGAIN_SECONDS: "0.1" };
    const newWorker = (program: string, ...args: string[]) => {
      const out = openSync(journal, "a");
      const started_ = started(program, args, settings, out);
      closeSync(out);
      runs.push(started_.run);
      return started_;
    };

    const stop = new AbortController();
    const old = [1, 2].map((at) =>
      workAsBefore({ name: `old-${at}`, random: randomOf(seed + at), pool, say }, stop.signal),
    );
    stage.afterwards(async () => {
      stop.abort();
      await Promise.allSettled(old);
    });
    await moreRuns(plain, 1);
    expect((await moved("--schedule", "schedule.json")).code).toBe(TRY_AGAIN);
    const beside = [1, 2].map(() => newWorker("beside.ts"));
    await moreRuns(plain, 3);
    await untilAll(
      async () => (await claims("rowlock:%")).length >= 20 && (await claims("old-%")).length >= 40,
    );

    // A new worker dies in a job. No old worker takes the job over, but a new one does.
    const doomed = started("beside.ts", [], { ...settings, WORK_SECONDS: "600", TTL_SECONDS: "3" });
    await until(() => doomed.text() !== "");
    const [lost = ""] = whoDid("begins", doomed.text().split("\n"));
    say(`${lost} begins`);
    await doomed.run.kill();
    say(`${lost} dies`);
    await moreRuns([lost], 2);

    // The old system ends what it ran before the move.
    expect(whoDid("begins", lines())).not.toContain("away-0");
    for (const job of away) await finishAsBefore(pool, "old-9", job);
    await untilAll(async () => {
      await moved();
      const moves = await Promise.all(away.map(lock));
      return moves.every((each) => each?.record !== undefined);
    });
    await moreRuns(away, 3);

    // The last old worker ends, and the last look at the table finds nothing that only the table knows.
    stop.abort();
    await Promise.all(old);
    const last = await moved();
    expect([last.code, last.lines.at(-1)]).toEqual([
      0,
      expect.stringMatching(/ 0 new, .* 0 left to the old system/),
    ]);
    await moreRuns([...plain, ...away], 1);

    // New workers that need no table replace the others, and nobody notices that the table goes.
    const after = [1, 2].map(() => newWorker("worker.ts", "schedule.json"));
    await moreRuns([...plain, ...away], 1);
    for (const { child, run } of beside) {
      child.kill();
      expect(await run.ended, run.complaints).toBe(0);
    }
    const [left] = await pool.query("SELECT job_id FROM jobs WHERE running_at IS NOT NULL");
    expect(left).toEqual([]);
    await pool.query("RENAME TABLE jobs TO jobs_before_rowlock");
    await moreRuns([...plain, ...away], 2);
    for (const { child, run } of after) {
      child.kill();
      expect(await run.ended, run.complaints).toBe(0);
    }

    const said = lines();
    expect([...new Set(whoDid("begins", said))].sort()).toEqual([...plain, ...away].sort());
    for (const job of [...plain, ...away])
      expect(mostAtOnce(said.filter((line) => line.startsWith(`${job} `)))).toBe(1);
    expect(whoDid("begins", said)).toHaveLength(whoDid("ends", said).length + 1);
    expect(whoDid("dies", said)).toEqual([lost]);
    // Each time that a job was due, one worker took it; the lost one's job was taken over once.
    const all = await claims("%");
    const taken = all.filter(({ took_over }) => took_over === 0).map(({ job_id, due }) => `${job_id} ${due}`);
    expect(new Set(taken).size).toBe(taken.length);
    expect(all.filter(({ took_over }) => took_over === 1)).toMatchObject([{ job_id: lost }]);
  });
});

/** Writes down each claim of a row, by a trigger, so that it is in the transaction of the claim. */
async function watchClaims(pool: Pool): Promise<void> {
  await pool.query(
    "CREATE TABLE claims (job_id VARCHAR(300), due VARCHAR(32) NULL, owner VARCHAR(64), took_over INT)",
  );
  await pool.query(`CREATE TRIGGER watch AFTER UPDATE ON jobs FOR EACH ROW
    INSERT INTO claims SELECT NEW.job_id, OLD.next_run, NEW.running_on, OLD.running_on IS NOT NULL FROM DUAL
      WHERE NEW.running_on IS NOT NULL AND NOT (NEW.running_on <=> OLD.running_on)`);
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(from: number): () => number {
  let state = from | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
