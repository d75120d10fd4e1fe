// A server whose database goes away under it and comes back: calls fail as UNAVAILABLE and say when to come again, streams
// stay, waiters get their grants afterwards, and the log says so without repeating itself. And
// schemas that it must not touch.

import { DatabaseSync } from "node:sqlite";
import { createConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import { freshDatabase, freshSqlite, mysqlFamily } from "../database.ts";
import { leaseIn } from "../server/lock-client.ts";
import { startDroppingProxy } from "../storage/dropping-proxy.ts";
import { serveArgs } from "./server-process.ts";
import { AWAY, answered, processStage } from "./stage.ts";

const { afterwards, rowlock, serving } = processStage();

const linesOf = (log: string, level: string) =>
  log.split("\n").filter((line) => line.startsWith(`{"level":"${level}"`));

describe.each(mysqlFamily())("on $flavour $version, a database", (database) => {
  test("that goes away and comes back costs nobody a place, and nobody has to do anything", async () => {
    const fresh = await freshDatabase(database);
    afterwards(() => fresh.drop());
    const url = new URL(fresh.url);
    const proxy = await startDroppingProxy(url.hostname, Number(url.port));
    afterwards(() => proxy.close());
    url.hostname = "127.0.0.1";
    url.port = String(proxy.port);
    const { client, process, metricsUrl } = await serving(url.href);

    const lease = await client.lease({ name: "etl" });
    const stream = client.wait({
      target: { case: "acquire", value: { name: "etl", requestId: "streamed" } },
    });
    await stream.position();
    const blocked = client.call("acquire", { name: "etl", requestId: "blocked", whenBusy: WhenBusy.WAIT });
    await answered(async () => {
      const { lock } = await client.call("getLock", { name: "etl" });
      if (lock?.waiting !== 2) throw Object.assign(new Error("Not there yet."), AWAY);
    });

    proxy.leave();
    const calls = [
      client.call("renew", { leaseId: lease.leaseId }),
      client.call("acquire", { name: "other" }),
      client.call("getLock", { name: "etl" }),
      client.call("release", { leaseId: lease.leaseId }),
    ];
    const failed = { status: "rejected", reason: AWAY };
    expect(await Promise.allSettled(calls)).toMatchObject([failed, failed, failed, failed]);
    await process.logged(/not ready: the database cannot be written/);
    expect((await fetch(`${metricsUrl}/readyz`)).status).toBe(503);
    // The poll alone has failed a dozen times by now.
    expect(linesOf(process.err, "warn").length).toBeLessThan(10);
    expect(linesOf(process.err, "error")).toEqual([]);
    await proxy.comeBack();

    await process.logged(/ready again/);
    expect((await fetch(`${metricsUrl}/readyz`)).status).toBe(200);
    expect(await answered(() => client.call("release", { leaseId: lease.leaseId }))).toBeTruthy();
    const granted = await stream.granted();
    expect(granted.fencingToken).toBe(lease.fencingToken + 1n);
    await client.call("release", { leaseId: granted.leaseId });
    expect(leaseIn(await blocked).fencingToken).toBe(lease.fencingToken + 2n);
  });
});

describe.each(mysqlFamily())("on $flavour $version, a schema", (database) => {
  test("that is newer than the server is left alone", async () => {
    const fresh = await freshDatabase(database);
    afterwards(() => fresh.drop());
    const up = rowlock(["migrate", "up"], { ROWLOCK_DATABASE_URL: fresh.url });
    expect(await up.exited).toMatchObject({ code: 0 });
    await runOn(fresh.url, "INSERT INTO rowlock_migration (name, batch) VALUES ('0999-from-the-future', 2)");
    await refusesNewer(fresh.url);
  });
});

describe("on SQLite, a schema", () => {
  test("that is newer than the server is left alone", async () => {
    const { url, drop } = await freshSqlite();
    afterwards(drop);
    const up = rowlock(["migrate", "up", "--database-url", url]);
    expect(await up.exited).toMatchObject({ code: 0 });
    const file = new DatabaseSync(url.slice("sqlite:".length));
    file.exec("INSERT INTO rowlock_migration (name, migrated_at) VALUES ('0999-from-the-future', 0)");
    file.close();
    await refusesNewer(url);
  });
});

/** At once, and in the words of `rowlock migrate status` and `rowlock doctor`, too. */
async function refusesNewer(url: string): Promise<void> {
  const env = { ROWLOCK_DATABASE_URL: url };
  const run = (...args: string[]) => rowlock(args, env).exited;
  // One after the other: an SQLite file has room for one of them.
  const served = await run(...serveArgs(url));
  const servedAsItIs = await run(...serveArgs(url, "--migrate", "false"));
  const status = await run("migrate", "status");
  const doctor = await run("doctor");
  for (const { code, err } of [served, servedAsItIs]) {
    expect(code).toBe(1);
    expect(err).toMatch(
      /^rowlock cannot start: The database's schema is newer than this server: .*0999-from-the-future/,
    );
    expect(err).not.toContain("Trying again");
  }
  expect(status).toMatchObject({ code: 1, out: expect.stringContaining("newer Rowlock") });
  expect(doctor).toMatchObject({ code: 1, out: expect.stringContaining("newer Rowlock") });
}

async function runOn(url: string, sql: string): Promise<void> {
  const connection = await createConnection(url);
  await connection.query(sql);
  await connection.end();
}
