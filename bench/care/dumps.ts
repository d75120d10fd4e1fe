// Logical dumps under load, restored in place, into another database server, and up to a point in time by the binary
// log.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { TTL_S } from "./clients.ts";
import { ask, type DatabaseServer, type Stage } from "./stage.ts";
import { BACKED_UP, expectFound, expectHealthy, started, type Trial } from "./trial.ts";

export const DUMPS: readonly Trial[] = [
  {
    name: "dump-in-place",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      const dumpedMs = performance.now();
      const dump = await dumped(stage, source);
      await clients.between();
      const gapS = clients.longestGapS(dumpedMs);
      await clients.after();
      const stoppedMs = performance.now();
      await stage.stopServing();
      await source.tool("", [], { input: dump });
      await stage.rowlock(source.url, "restored", "--pause", `${TTL_S}s`);
      await expectHealthy(stage, source.url);
      await stage.serve(source.url);
      const found = await clients.found();
      expectFound(found, BACKED_UP);
      const note = `while it was dumped, no grants for at most ${gapS.toFixed(2)} s`;
      return { found, pauseS: await clients.pauseUntilGrants(stoppedMs), note };
    },
  },
  {
    name: "dump-in-place-while-servers-run",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      const dump = await dumped(stage, source);
      await clients.between();
      await clients.after();
      const restoredMs = performance.now();
      await source.tool("", [], { input: dump });
      const noticedMs = await untilPaused(source);
      const found = await clients.found();
      expectFound(found, { ...BACKED_UP, placeBefore: found.placeBefore });
      const pauseS = await clients.pauseUntilGrants(noticedMs);
      // A dump restores one table after the other, and until they notice, the servers write into what is half restored.
      const damaged = await stage.rowlock(source.url, "doctor").then(
        () => 0,
        ({ message }: Error) => [...message.matchAll(/^error +placement: /gm)].length,
      );
      return {
        found,
        pauseS,
        note: `noticed ${((noticedMs - restoredMs) / 1_000).toFixed(1)} s after the restore began; the doctor finds ${damaged} claims in two tables`,
      };
    },
  },
  {
    name: "dump-elsewhere",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      const dump = await dumped(stage, source);
      await clients.between();
      await clients.after();
      const stoppedMs = performance.now();
      await stage.stopServing();
      const target = await stage.database();
      await target.tool("", [], { input: dump });
      await expectHealthy(stage, target.url);
      const server = await stage.serve(target.url);
      const found = await clients.found();
      expectFound(found, BACKED_UP);
      await server.logged(/the database has failed over or was restored/);
      return { found, pauseS: await clients.pauseUntilGrants(stoppedMs), note: "noticed without a command" };
    },
  },
  {
    name: "point-in-time",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      const dump = await dumped(stage, source);
      await clients.between();
      await stage.stopServing();
      const sums = await checksums(source);
      const stop = await position(source);
      await stage.serve(source.url);
      await clients.after();
      const stoppedMs = performance.now();
      await stage.stopServing();

      const target = await stage.database();
      await target.tool("", [], { input: dump });
      const start = await positionIn(dump);
      const [row] = await source.query("SELECT @@log_bin_basename AS base");
      const folder = join(String(row?.base), "..");
      const logs = (await source.query("SHOW BINARY LOGS")).map(({ Log_name }) => String(Log_name));
      const wanted = logs.filter((name) => name >= start.file && name <= stop.file);
      const range = [`--start-position=${start.at}`, `--stop-position=${stop.at}`, "--database=rowlock"];
      const skipped = stage.flavour === "mysql" ? ["--skip-gtids"] : [];
      const replay = stage.file("replay.sql");
      await source.tool("binlog", [...range, ...skipped, ...wanted.map((name) => join(folder, name))], {
        output: replay,
      });
      await target.tool("", [], { input: replay });
      const replayed = await checksums(target);
      if (JSON.stringify(replayed) !== JSON.stringify(sums))
        throw new Error(`The replayed rows differ: ${JSON.stringify([sums, replayed])}`);
      await expectHealthy(stage, target.url);
      const server = await stage.serve(target.url);
      const found = await clients.found();
      expectFound(found, { ...BACKED_UP, leaseBetween: true });
      await server.logged(/the database has failed over or was restored/);
      return {
        found,
        pauseS: await clients.pauseUntilGrants(stoppedMs),
        note: "the replayed rows are those of the source, by CHECKSUM TABLE",
      };
    },
  },
];

/** Dumps the database while clients are at work. Returns the file. */
export async function dumped(stage: Stage, source: DatabaseServer): Promise<string> {
  const file = stage.file("rowlock.sql");
  const isMysql = stage.flavour === "mysql";
  const withPosition = isMysql ? ["--source-data=2", "--set-gtid-purged=OFF"] : ["--master-data=2"];
  await source.tool("dump", ["--single-transaction", ...withPosition, "--databases", "rowlock"], {
    output: file,
  });
  return file;
}

/** The time at which the database says that nothing is granted for now. */
async function untilPaused(source: DatabaseServer): Promise<number> {
  for (;;) {
    const [row] = await ask(source.url, "SELECT grants_from > 0 AS is_paused FROM rowlock_meta").catch(
      () => [],
    );
    if (Number(row?.is_paused) === 1) return performance.now();
  }
}

interface Position {
  readonly file: string;
  readonly at: number;
}

async function position(source: DatabaseServer): Promise<Position> {
  const [row] = await source.query("SHOW BINARY LOG STATUS").catch(() => source.query("SHOW MASTER STATUS"));
  return { file: String(row?.File), at: Number(row?.Position) };
}

async function positionIn(dump: string): Promise<Position> {
  const text = await readFile(dump, "utf8");
  const [, file, at] = /_LOG_FILE='([^']+)', (?:MASTER|SOURCE)_LOG_POS=(\d+)/.exec(text) ?? [];
  if (file === undefined) throw new Error("The dump names no position of the binary log.");
  return { file, at: Number(at) };
}

async function checksums(server: DatabaseServer): Promise<Record<string, string>> {
  const tables = ["lock", "claim", "history", "request", "record", "limit_rule", "change", "meta"];
  const rows = await server.query(
    `CHECKSUM TABLE ${tables.map((table) => `rowlock.rowlock_${table}`).join(", ")}`,
  );
  return Object.fromEntries(rows.map(({ Table, Checksum }) => [Table, String(Checksum)]));
}
