// Compares this checkout's server with that of another commit. Both run at once, and the callers drive them alternately
// for a second each, so that changes in the machine's speed affect both equally. Prints, for each work, the median of
// the paired ratios (now / before) with quartiles, for the rate and for the processor time per pair.
//
//   npm run bench:paired -- --before REV [--databases sqlite,mariadb] [--works distinct-64,hot-64] [--slices 15] [--seconds 1]
//
// With --pool N, all names of this checkout's server are in a pool of N permits; with --against WORK, the other one does that work:
//
//   npm run bench:paired -- --before HEAD --pool 1000 --works session-256
//   npm run bench:paired -- --before HEAD --pool 50 --works distinct-100 --against semaphore-50
//   npm run bench:paired -- --before HEAD --works set-2 --against distinct-64

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Flavour } from "../test/support/mysql-family/found-server.ts";
import { postGuardian } from "../test/support/mysql-family/guardian.ts";
import { TestCalls } from "../test/support/test-calls.ts";
import { makeCacheFolder } from "./cache-folder.ts";
import { databaseCpuSeconds } from "./cpu-time.ts";
import { buildDriver, drive } from "./go-driver.ts";
import { targetOf } from "./round.ts";
import { scrape } from "./scrape.ts";
import { DatabaseServers } from "./systems/database-servers.ts";
import { serve } from "./systems/rowlock.ts";
import type { StartedSystem } from "./systems/system.ts";
import { DISTINCT_NAMES, WORKS, WORKS_TO_COMPARE, type Work } from "./works.ts";

const root = join(import.meta.dirname, "..");
/** A server that has just started is slower, until its hot code is compiled. */
const RUN_IN_S = 6;
const SLICE_WARM_UP_S = 0.3;

const { values: options } = parseArgs({
  options: {
    before: { type: "string" },
    databases: { type: "string", default: "sqlite,mariadb" },
    works: { type: "string", default: "distinct-64,hot-64,session-64,session-256" },
    slices: { type: "string", default: "15" },
    seconds: { type: "string", default: "1" },
    pool: { type: "string" },
    against: { type: "string" },
  },
});
if (options.before === undefined) throw new Error("Name the commit to compare with: --before REV");

type Side = "before" | "now";
type Server = Omit<StartedSystem, "version">;

interface Slice {
  readonly perSecond: number;
  readonly nodeUs: number;
  readonly databaseUs: number;
}

const directory = makeCacheFolder("bench-paired-");
const sources = mkdtempSync(join(tmpdir(), "rowlock-bench-paired-"));
const guardian = postGuardian(directory);
const databases = new DatabaseServers(directory);
const servers: Server[] = [];
try {
  const driver = join(directory, "driver");
  await buildDriver(driver);
  const roots = { before: checkOut(options.before), now: root };
  for (const database of options.databases.split(",")) {
    const [before, now] = [
      await start(database, "before", roots.before),
      await start(database, "now", roots.now),
    ];
    if (options.pool !== undefined) await makePool(now, Number(options.pool));
    for (const server of [before, now]) await drive(driver, server.target, DISTINCT_NAMES, 0, RUN_IN_S);
    for (const name of options.works.split(",")) {
      const works = { now: workNamed(name), before: workNamed(options.against ?? name) };
      const pairs: Record<Side, Slice>[] = [];
      for (let index = 0; index < Number(options.slices); index++) {
        // The first side alternates, because the second one finds warmer caches.
        const first = index % 2 === 0 ? "before" : "now";
        const one =
          first === "before"
            ? await slice(driver, before, works.before)
            : await slice(driver, now, works.now);
        const other =
          first === "before"
            ? await slice(driver, now, works.now)
            : await slice(driver, before, works.before);
        pairs.push(first === "before" ? { before: one, now: other } : { before: other, now: one });
      }
      report(database, name, pairs);
    }
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  }
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  await databases.stop();
  rmSync(directory, { recursive: true, force: true });
  rmSync(sources, { recursive: true, force: true });
  execFileSync("git", ["worktree", "prune"], { cwd: root });
  guardian.dismiss();
}

/** A commit's sources with this checkout's packages. Not below node_modules, where Node runs no TypeScript. */
function checkOut(revision: string): string {
  const path = join(sources, "before");
  execFileSync("git", ["worktree", "add", "--quiet", "--detach", path, revision], { cwd: root });
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"));
  return path;
}

async function start(database: string, side: Side, path: string): Promise<Server> {
  const own = join(directory, `${database}-${side}`);
  mkdirSync(own);
  const url =
    database === "sqlite"
      ? `sqlite:${join(own, "rowlock.db")}`
      : (await databases.database(database as Flavour, `rowlock_${side}`)).url;
  const server = await serve(url, own, path);
  servers.push(server);
  return server;
}

function workNamed(name: string): Work {
  const work = [...WORKS, ...WORKS_TO_COMPARE].find((one) => one.name === name);
  if (!work) throw new Error(`There is no work ${name}.`);
  return work;
}

async function makePool({ target }: Server, limit: number): Promise<void> {
  const calls = new TestCalls(target.address);
  const newLimit = { case: "limit", value: limit } as const;
  await calls.call("setLimit", { target: { case: "pool", value: "*" }, newLimit });
  calls.close();
}

async function slice(driver: string, server: Server, work: Work): Promise<Slice> {
  const target = targetOf(server, work);
  const before = await used(server);
  const [figures] = await drive(driver, target, work.task, SLICE_WARM_UP_S, Number(options.seconds));
  const after = await used(server);
  const perSecond = figures?.perSecond ?? Number.NaN;
  // The warm-up takes processor time too; it is assumed to make pairs at the same rate.
  const pairs = perSecond * (Number(options.seconds) + SLICE_WARM_UP_S);
  const us = (name: "node" | "database") => ((after[name] - before[name]) * 1e6) / pairs;
  return { perSecond, nodeUs: us("node"), databaseUs: us("database") };
}

async function used(server: Server): Promise<{ node: number; database: number }> {
  const metrics = await scrape(server.metrics as string);
  return {
    node: metrics.get("process_cpu_seconds_total") ?? Number.NaN,
    database: await databaseCpuSeconds(),
  };
}

function report(database: string, work: string, pairs: readonly Record<Side, Slice>[]): void {
  const of = (figure: keyof Slice) => quartiles(pairs.map(({ now, before }) => now[figure] / before[figure]));
  const median = (side: Side, figure: keyof Slice) =>
    Math.round(quartiles(pairs.map((pair) => pair[side][figure]))[1]);
  const ratio = ([low, middle, high]: Quartiles) =>
    `${middle.toFixed(3)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
  console.log(
    `${database} ${work}: pairs/s ${median("before", "perSecond")} -> ${median("now", "perSecond")}, ${ratio(of("perSecond"))}; ` +
      `us a pair: Node ${median("before", "nodeUs")} -> ${median("now", "nodeUs")}, ${ratio(of("nodeUs"))}` +
      (database === "sqlite"
        ? ""
        : `; database ${median("before", "databaseUs")} -> ${median("now", "databaseUs")}, ${ratio(of("databaseUs"))}`),
  );
}

type Quartiles = readonly [number, number, number];

function quartiles(values: readonly number[]): Quartiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
  return [at(0.25), at(0.5), at(0.75)];
}
