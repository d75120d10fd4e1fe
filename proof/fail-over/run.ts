// Plays fail-overs of the database with real clients at two Rowlock servers, checks that no promise was broken, and
// prints how long it took until grants flowed again. Each round has a new database.
//
//   npm run fail-over -- [--only semi-sync,semi-sync-mysql,group,galera] [--faults kill,freeze,...] [--rounds 1]

import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { databaseAt, Household, type Serving, untilGranted } from "../../bench/fail-over/household.ts";
import { RowlockProcess } from "../../test/process/server-process.ts";
import { ownBinaries } from "../../test/support/mysql-family/own-binaries.ts";
import {
  GALERA_FAULTS,
  GROUP_FAULTS,
  galera,
  group,
  type PlayedDatabase,
  SEMI_SYNC_FAULTS,
  semiSync,
} from "./databases.ts";
import { Load } from "./load.ts";

const BEFORE_MS = 2_000;
/** After grants flow again, and once more after the server that failed is back. */
const AFTER_MS = 4_000;
const FLOWS_MS_MAX = 60_000;
const LOG_TAIL_LINES = 6;
/** After it, nothing succeeds any more by what was under way when the fault began. */
const FAULT_SEEN_MS = 50;
/** Printed as missed beyond it: the goal for a killed primary. */
const GOAL_MS = 5_000;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "semi-sync,semi-sync-mysql,group,galera" },
    faults: { type: "string" },
    rounds: { type: "string", default: "1" },
  },
});
const binaries = await ownBinaries();
const [mariadb, mysql] = [binaries.get("mariadb"), binaries.get("mysql")];
const PLAYS: Readonly<Record<string, Play>> = {
  "semi-sync": { start: mariadb ? () => semiSync(mariadb, "mariadb") : null, faults: SEMI_SYNC_FAULTS },
  "semi-sync-mysql": { start: mysql ? () => semiSync(mysql, "mysql") : null, faults: SEMI_SYNC_FAULTS },
  group: { start: mysql ? () => group(mysql) : null, faults: GROUP_FAULTS },
  galera: { start: mariadb ? galera : null, faults: GALERA_FAULTS },
};

interface Play {
  /** null: its server is not here. */
  readonly start: (() => Promise<PlayedDatabase>) | null;
  readonly faults: readonly string[];
}

interface Outcome {
  /** Until a new lock was granted at each of the two servers, by calls that are repeated at once. */
  readonly flowsMs: readonly number[];
  /** Until a successor itself commits; null: somebody promotes it. */
  readonly databaseMs: number | null;
  /** Of the clients, which wait a little before they repeat something. */
  readonly gapMs: number;
  readonly problems: readonly string[];
}

for (const name of options.only.split(",")) {
  const played = PLAYS[name];
  if (!played) throw new Error(`There is no database ${name}, but ${Object.keys(PLAYS).join(", ")}.`);
  const { start, faults } = played;
  if (start === null) {
    console.log(`${name}: left out, as its server is missing (MySQL: name it in ROWLOCK_TEST_MYSQLD)`);
    continue;
  }
  const wanted = options.faults?.split(",") ?? faults;
  for (const fault of faults.filter((each) => wanted.includes(each))) {
    const outcomes: Outcome[] = [];
    for (let round = 0; round < Number(options.rounds); round++)
      outcomes.push(await play(name, fault, start));
    if (outcomes.length > 1) summary(`${name}, ${fault}`, outcomes);
  }
}

async function play(name: string, fault: string, start: () => Promise<PlayedDatabase>): Promise<Outcome> {
  const house = new Household();
  try {
    const database = await start();
    house.afterwards(() => database.stop());
    const url = severalAddresses(await databaseAt(database.urls));
    const servers = [
      await house.serving(url, ...database.flags),
      await house.serving(url, ...database.flags),
    ];
    const load = new Load(servers.map(({ grpcAddress }) => grpcAddress));
    await load.start();
    await sleep(BEFORE_MS);
    load.measure();
    const startedMs = performance.now();
    const happening = (database.faults[fault] as PlayedDatabase["faults"][string])();
    const flowing = servers.map((server) => flows(server, startedMs));
    const committing = untilCommitted(database, startedMs);
    const end = await happening;
    const flowsMs = await Promise.all(flowing);
    const databaseMs = await committing;
    if (flowsMs.includes(Number.POSITIVE_INFINITY)) return await stalled(name, fault, servers, databaseMs);
    if (!(await untilMore(load))) return await stalled(name, fault, servers, databaseMs);
    const gapMs = load.longestGapMs;
    await sleep(AFTER_MS);
    load.measure();
    if (end !== null) {
      await end();
      await sleep(AFTER_MS);
    }
    const laterGapMs = load.longestGapMs;
    const noted = await Promise.all(servers.map(failOversAt));
    const { breaches, grants, failed } = await load.stop();
    const problems = [...breaches, ...(await doctored(url))];
    // The nodes of a cluster lose nothing, so nothing may pause grants.
    if (database.successors.length > 0 && Math.max(...noted) > 0)
      problems.push(`fail-overs were noted: ${noted.join(" and ")}`);
    const figures = [
      `grants after ${flowsMs.map((ms) => `${ms.toFixed(0)} ms`).join(" and ")}`,
      ...(databaseMs === null ? [] : [`the database itself after ${databaseMs.toFixed(0)} ms`]),
      `clients' longest gap ${gapMs.toFixed(0)} ms`,
      ...(end === null ? [] : [`${laterGapMs.toFixed(0)} ms when the server came back`]),
      `${grants} grants`,
      ...(failed.size > 0
        ? [`failed: ${[...failed].map(([reason, count]) => `${reason} ${count}`).join(", ")}`]
        : []),
      `load ${(loadavg()[0] as number).toFixed(0)}`,
      ...(Math.max(...flowsMs) > GOAL_MS ? [`beyond ${GOAL_MS / 1_000} s`] : []),
    ];
    console.log(`${name}, ${fault}: ${figures.join("; ")}`);
    for (const [index, { process }] of servers.entries())
      for (const line of movesIn(process.err)) console.log(`  server ${index}: ${line}`);
    for (const problem of problems.slice(0, 20)) console.error(`  BROKEN: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
    return { flowsMs, databaseMs, gapMs, problems };
  } finally {
    await house.close();
  }
}

/** Prints what the servers have logged last. A cluster that has lost its majority cannot be blamed on them. */
async function stalled(
  name: string,
  fault: string,
  servers: readonly Serving[],
  databaseMs: number | null,
): Promise<Outcome> {
  console.error(
    `${name}, ${fault}: BROKEN: grants did not flow again; the database itself after ${databaseMs} ms`,
  );
  for (const { process } of servers) console.error(process.err.split("\n").slice(-LOG_TAIL_LINES).join("\n"));
  process.exitCode = 1;
  return {
    flowsMs: [Number.POSITIVE_INFINITY],
    databaseMs,
    gapMs: Number.POSITIVE_INFINITY,
    problems: ["stalled"],
  };
}

/** mysql://user:password@a:1,b:2,c:3/rowlock */
function severalAddresses(urls: readonly string[]): string {
  const hosts = urls.map((url) => new URL(url).host).join(",");
  return (urls[0] as string).replace(new URL(urls[0] as string).host, hosts);
}

/** Until a successor commits a change, as soon as it can; null: there is none that takes over by itself. */
async function untilCommitted({ successors }: PlayedDatabase, startedMs: number): Promise<number | null> {
  if (successors.length === 0) return null;
  await sleep(FAULT_SEEN_MS);
  await Promise.race(
    successors.map(async (node) => {
      while (performance.now() - startedMs < FLOWS_MS_MAX) {
        const isDone = await node.run("CREATE DATABASE IF NOT EXISTS played").then(
          () => true,
          () => false,
        );
        if (isDone) return;
        await sleep(FAULT_SEEN_MS);
      }
    }),
  );
  return performance.now() - startedMs;
}

/** Until the server grants a lock that was asked for during the fault; Infinity: not in time. */
async function flows({ client }: Serving, startedMs: number): Promise<number> {
  await sleep(FAULT_SEEN_MS);
  const stop = new AbortController();
  const late = sleep(FLOWS_MS_MAX, "late", { signal: stop.signal }).catch(() => "late");
  const first = await Promise.race([untilGranted(client, stop.signal), late]);
  stop.abort();
  return first === "late" ? Number.POSITIVE_INFINITY : performance.now() - startedMs;
}

/** Until the clients have been granted more locks. Returns whether they were, in time. */
async function untilMore(load: Load): Promise<boolean> {
  const wanted = load.grants + 20;
  const untilMs = performance.now() + FLOWS_MS_MAX;
  while (load.grants < wanted) {
    if (performance.now() > untilMs) return false;
    await sleep(10);
  }
  return true;
}

/** What `rowlock doctor` finds wrong. */
async function doctored(url: string): Promise<string[]> {
  const doctor = new RowlockProcess(["doctor", "--database-url", url]);
  const { code, out, err } = await doctor.ended();
  return code === 0 ? [] : `${out}${err}`.split("\n").filter((line) => /error/.test(line));
}

/** How many fail-overs with a loss of commits, and a pause, the server has noted. */
async function failOversAt({ metricsUrl }: Serving): Promise<number> {
  const page = await (await fetch(`${metricsUrl}/metrics`)).text();
  return Number(/^rowlock_fail_overs_total (\d+)/m.exec(page)?.[1]);
}

/** What a server has logged of its moves. */
function movesIn(log: string): string[] {
  return log.split("\n").flatMap((line) => {
    if (!/"msg":"(moved from|database servers that)/.test(line)) return [];
    const { msg, afterMs } = JSON.parse(line) as { msg: string; afterMs?: number };
    return [`${msg}${afterMs === undefined ? "" : ` (after ${afterMs} ms)`}`];
  });
}

function summary(what: string, outcomes: readonly Outcome[]): void {
  const of = (figures: readonly number[]) => {
    const sorted = [...figures].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
    return `median ${at(0.5).toFixed(0)} ms, worst ${at(1).toFixed(0)} ms`;
  };
  const flows = of(outcomes.map(({ flowsMs }) => Math.max(...flowsMs)));
  const own = outcomes.flatMap(({ databaseMs }) => databaseMs ?? []);
  if (own.length > 0) console.log(`${what}: the database itself ${of(own)}`);
  console.log(
    `${what}: grants ${flows}; clients' gap ${of(outcomes.map(({ gapMs }) => gapMs))}; ${outcomes.length} rounds`,
  );
}
