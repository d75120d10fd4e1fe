// Physical copies: of MariaDB by mariadb-backup and of MySQL by CLONE, both under load; of an SQLite file, whose server
// must stop for it.

import { copyFile, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { TTL_S } from "./clients.ts";
import { type DatabaseServer, pathOf, run, type Stage } from "./stage.ts";
import { ALL, BACKED_UP, expectFound, expectHealthy, started, type Trial } from "./trial.ts";

export const COPIES: readonly Trial[] = [
  {
    name: "copy-elsewhere",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      const data = await copied(stage, source);
      await clients.between();
      await clients.after();
      const stoppedMs = performance.now();
      await stage.stopServing();
      const target = await stage.database([], data);
      await expectHealthy(stage, target.url);
      const server = await stage.serve(target.url);
      const found = await clients.found();
      expectFound(found, BACKED_UP);
      await server.logged(/the database has failed over or was restored/);
      const pauseS = await clients.pauseUntilGrants(stoppedMs);
      return { found, pauseS, note: "noticed without a command" };
    },
  },
  {
    name: "sqlite-copy",
    databases: ["sqlite"],
    async run(stage) {
      const file = stage.file("rowlock.db");
      const backup = stage.file("backup.db");
      const url = `sqlite:${file}`;
      await stage.serve(url);
      const clients = stage.clients();
      await clients.before();
      expectRefused(file, backup);
      const copiedMs = performance.now();
      await stage.stopServing();
      vacuumInto(file, backup);
      await stage.serve(url);
      const pausedS = await clients.pauseUntilGrants(copiedMs);
      await clients.between();
      await clients.after();

      const stoppedMs = performance.now();
      await stage.stopServing();
      for (const suffix of ["-wal", "-shm"]) await rm(file + suffix, { force: true });
      await copyFile(backup, file);
      await stage.rowlock(url, "restored", "--pause", `${TTL_S}s`);
      await expectHealthy(stage, url);
      await stage.serve(url);
      const found = await clients.found();
      expectFound(found, BACKED_UP);
      const pauseS = await clients.pauseUntilGrants(stoppedMs);
      // Once more, soon: the backup does not know the tokens that were given after it was restored.
      const againMs = performance.now();
      await stage.stopServing();
      await copyFile(backup, file);
      await stage.rowlock(url, "restored", "--pause", `${TTL_S}s`);
      await stage.serve(url);
      await clients.pauseUntilGrants(againMs);
      return {
        found,
        pauseS,
        note: `the backup itself took ${pausedS.toFixed(1)} s without grants`,
      };
    },
  },
  {
    name: "sqlite-file-of-a-running-server",
    databases: ["sqlite"],
    async run(stage) {
      // What somebody does who does not know better: the file without its log lacks what the log has.
      const file = stage.file("rowlock.db");
      const url = `sqlite:${file}`;
      await stage.serve(url);
      const clients = stage.clients();
      await clients.before();
      await clients.between();
      await clients.after();
      const stoppedMs = performance.now();
      const alone = stage.file("alone.db");
      await copyFile(file, alone);
      const known = locksIn(alone);
      const both = stage.file("both.db");
      await stage.stopServing();
      await copyFile(file, both);
      await expectHealthy(stage, `sqlite:${both}`);
      const all = locksIn(both);
      if (known >= all)
        throw new Error("The file of a running server had everything, so this shows nothing.");
      await stage.serve(`sqlite:${both}`);
      const found = await clients.found();
      expectFound(found, ALL);
      const pauseS = await clients.pauseUntilGrants(stoppedMs);
      return {
        found,
        pauseS,
        note: `the file of the running server had ${known} of ${all} locks, that of the stopped one all`,
      };
    },
  },
];

/** Copies the data directory while clients are at work. Returns the copy. */
async function copied(stage: Stage, source: DatabaseServer): Promise<string> {
  const copy = stage.file("copy");
  if (stage.flavour === "mysql") {
    await source.query("INSTALL PLUGIN clone SONAME 'mysql_clone.so'");
    await source.query(`CLONE LOCAL DATA DIRECTORY = '${copy}'`);
    return copy;
  }
  const backup = pathOf("mariadb-backup");
  const { username, password, port } = new URL(source.url);
  const [row] = await source.query("SELECT @@datadir AS folder");
  const login = [`--user=${username}`, "--host=127.0.0.1", `--port=${port}`, `--datadir=${row?.folder}`];
  await run(backup, [
    "--no-defaults",
    "--backup",
    `--target-dir=${copy}`,
    ...login,
    `--password=${password}`,
  ]);
  await run(backup, ["--no-defaults", "--prepare", `--target-dir=${copy}`]);
  return copy;
}

function locksIn(file: string): number {
  const database = new DatabaseSync(file);
  const row = database.prepare("SELECT count(*) AS count FROM rowlock_lock").get();
  database.close();
  return Number(row?.count);
}

/** A running server keeps its file for itself, so that no tool can read it meanwhile. */
function expectRefused(file: string, backup: string): void {
  try {
    vacuumInto(file, backup);
  } catch (error) {
    if ((error as { errstr?: string }).errstr === "database is locked") return;
    throw error;
  }
  throw new Error("The file of a running server could be copied by VACUUM INTO.");
}

function vacuumInto(file: string, backup: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(`VACUUM INTO '${backup}'`);
  } finally {
    database.close();
  }
}
