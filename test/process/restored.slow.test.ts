// A backup is restored in place, into the same database server, while no Rowlock server runs. A server with a state
// file notices the restore when it starts, and `rowlock restored` informs all others. The backup lacks leases that
// were granted after it.

import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { testDatabases } from "../support/database.ts";
import { lasting } from "../support/lasting.ts";
import { processStage, type ServingServer } from "./stage.ts";

const TABLES = ["lock", "claim", "record", "limit_rule", "replica", "meta", "witness"];
const NAMES = Array.from({ length: 20 }, (_, index) => `job/${index}`);

const stage = processStage();

/** Backs up a database that no server uses. Returns a function that restores the backup. */
async function backUp(url: string): Promise<() => Promise<void>> {
  if (url.startsWith("sqlite:")) {
    const file = url.slice("sqlite:".length);
    copyFileSync(file, `${file}.backup`);
    return async () => {
      for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
      copyFileSync(`${file}.backup`, file);
    };
  }
  const run = async (sql: (table: string) => string) => {
    const connection = await createConnection({ uri: url, multipleStatements: true });
    for (const table of TABLES) await connection.query(sql(table));
    await connection.end();
  };
  await run((table) => `CREATE TABLE kept_${table} AS SELECT * FROM rowlock_${table}`);
  return () =>
    run((table) => `DELETE FROM rowlock_${table}; INSERT INTO rowlock_${table} SELECT * FROM kept_${table}`);
}

async function stopped(server: ServingServer): Promise<void> {
  server.process.kill("SIGTERM");
  expect(await server.process.exited).toMatchObject({ code: 0 });
}

describe.each(testDatabases())("on $label, a restore in place", ({ fresh }) => {
  /** A database with a backup that lacks what servers did later, and a function that starts the next server. */
  async function restoredDatabase(withFile: boolean) {
    const url = await stage.database(fresh);
    const folder = stage.folder();
    const file = join(folder, "state");
    const start = () => stage.serving(url, ...(withFile ? ["--state-file", file] : []));
    await stopped(await start());
    const restore = await backUp(url);
    const server = await start();
    const leases = await Promise.all(NAMES.map((name) => server.client.lease({ name, terms: lasting() })));
    await stopped(server);
    return { url, file, start, restore, leases };
  }

  async function grantsNothing({ client }: ServingServer): Promise<void> {
    for (const name of NAMES) {
      await client.refusal({ name });
    }
  }

  test("is noticed at the start of a server that has a state file", async () => {
    const { start, restore, leases } = await restoredDatabase(true);
    // Nothing has been lost yet.
    const before = await start();
    expect(before.process.err).not.toContain("was restored");
    await stopped(before);
    await restore();
    const server = await start();
    expect(server.process.err).toContain("the database has failed over or was restored");
    await grantsNothing(server);
    for (const { leaseId } of leases)
      await expect(server.client.call("renew", { leaseId })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await stopped(server);
    // The restore is reported only once.
    const after = await start();
    expect(after.process.err).not.toContain("was restored");
    await grantsNothing(after);
  });

  test("is recorded by `rowlock restored`, which reports what it did", async () => {
    const { url, start, restore } = await restoredDatabase(false);
    await restore();
    const done = await stage.rowlock(["restored", "--pause", "1h"], { ROWLOCK_DATABASE_URL: url }).exited;
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(done.out).toMatch(/^epoch {4}0 before, \d+ now: the next fencing token is at least \d{10,}$/m);
    expect(done.out).toMatch(
      /^grants {3}begin at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, in 3(600|59\d) s; renewals and releases go on$/m,
    );
    const server = await start();
    await grantsNothing(server);
    await stopped(server);

    const again = await stage.rowlock(["restored", "--pause", "0s"], { ROWLOCK_DATABASE_URL: url }).exited;
    // A later call never shortens the pause.
    expect(again.out).toMatch(/, in 3(600|5\d\d) s; /);
  });
});
