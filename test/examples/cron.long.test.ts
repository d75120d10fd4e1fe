// The cron example: runs lines of its crontab as cron does, on several machines at once.

import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { processStage, type ServingServer } from "../process/stage.ts";
import { freshSqlite } from "../support/database.ts";

/** The test starts many programs, which are slow on a machine with other work. */
vi.setConfig({ testTimeout: 120_000 });

const stage = processStage();
const house = join(import.meta.dirname, "../..");
const example = join(house, "examples/cron");
const crontab = readFileSync(join(example, "crontab"), "utf8");

/** The command of the crontab line with this lock, after cron's five fields. */
function commandOf(lock: string): string {
  const line = crontab.split("\n").find((each) => /^[\d*]/.test(each) && each.includes(lock));
  return line?.replace(/^(\S+\s+){5}/, "") as string;
}

let server: ServingServer;
let reports: string;
let bin: string;
beforeEach(async () => {
  server = await stage.serving(await stage.database(freshSqlite));
  const folder = stage.folder();
  [reports, bin] = [mkdtempSync(join(folder, "reports-")), mkdtempSync(join(folder, "bin-"))];
  const program = `#!/bin/sh\nexec '${process.execPath}' '${house}/server/main.ts' "$@"\n`;
  writeFileSync(join(bin, "rowlock"), program);
  chmodSync(join(bin, "rowlock"), 0o755);
});

interface Mailed {
  readonly code: number | string | null | undefined;
  readonly printed: string;
}

/**
 * Runs the command as cron does: with /bin/sh and an almost empty environment. Returns the output, which cron would
 * mail.
 */
function byCron(command: string, address = server.grpcAddress): Promise<Mailed> {
  const line = command.replaceAll("/opt/jobs", example);
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: "/", ROWLOCK_ADDR: address, REPORTS: reports };
  return new Promise((resolve) => {
    execFile("/bin/sh", ["-c", line], { env }, (error, out, err) =>
      resolve({ code: error ? error.code : 0, printed: out + err }),
    );
  });
}

const WELL = { code: 0, printed: "" };

describe("the nightly report", () => {
  const command = commandOf("cron/nightly-report");

  test("is written once if several machines begin at the same minute, and nothing is mailed", async () => {
    expect(await Promise.all([byCron(command), byCron(command), byCron(command)])).toEqual([
      WELL,
      WELL,
      WELL,
    ]);
    const written = readdirSync(reports);
    expect(written).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d\.txt$/)]);
    const report = readFileSync(join(reports, written[0] as string), "utf8");
    expect(report).toMatch(/^Report of .* with fencing token \d+\n/);
    // A machine whose clock is behind finds the report done.
    expect(await byCron(command)).toEqual(WELL);
    expect(readFileSync(join(reports, written[0] as string), "utf8")).toBe(report);
  });

  test("is left to the machine that has begun it", async () => {
    await server.client.lease({ name: "cron/nightly-report", terms: { owner: "another machine" } });
    expect(await byCron(command)).toEqual(WELL);
    expect(readdirSync(reports)).toEqual([]);
  });

  test("is mailed if it cannot be written or there is no server", async () => {
    rmSync(reports, { recursive: true });
    const failed = await byCron(command);
    expect(failed.code).not.toBe(0);
    expect(failed.printed).toContain(reports);
    const away = await byCron(command, "127.0.0.1:9");
    expect(away).toMatchObject({ code: 1, printed: expect.stringContaining("nobody listens there") });
    expect((await server.client.call("getLock", { name: "cron/nightly-report" })).lock?.holderCount).toBe(0);
  });

  test("refuses to run without its lock", () => {
    const { status, stderr } = spawnSync(join(example, "nightly-report.sh"), { encoding: "utf8" });
    expect(status).not.toBe(0);
    expect(stderr).toContain("run this by: rowlock run");
  });
});

test("every line of the crontab is one that `rowlock run` accepts, and the README has it", async () => {
  const readme = readFileSync(join(example, "README.md"), "utf8");
  expect(readme).toContain(commandOf("cron/nightly-report"));
  for (const lock of ["cron/nightly-report", "cron/sync", "cron/heavy"]) {
    const jobs = commandOf(lock).replace(/\/opt\/jobs\/\S+/, "true");
    expect(await byCron(jobs)).toEqual(WELL);
    expect((await server.client.call("getLock", { name: lock })).lock?.lastFencingToken).toBe(1n);
  }
});
