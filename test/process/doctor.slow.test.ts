// `rowlock migrate` and `rowlock doctor` as processes, beside a server and on the database that it left.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { freshDatabase, freshSqlite, mysqlFamily, testDatabases } from "../support/database.ts";
import { openPlainConnection } from "../support/mysql-stage.ts";
import { TestCalls } from "../support/test-calls.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const { afterwards, database, rowlock } = processStage();

describe.each(testDatabases())("on $label", ({ kind, fresh }) => {
  test("migrate shows the state of the schema and updates it, and doctor finds it sound", async () => {
    const url = await database(fresh);
    const env = { ROWLOCK_DATABASE_URL: url };
    expect(await rowlock(["doctor"], env).exited).toMatchObject({ code: 2 });
    expect(await rowlock(["migrate", "status"], env).exited).toMatchObject({ code: 1 });
    expect(await rowlock(["migrate", "up"], env).exited).toMatchObject({ code: 0 });
    expect(await rowlock(["migrate", "status"], env).exited).toMatchObject({ code: 0 });
    const nobody = expect.stringMatching(/^replica {2}none is registered$/m);
    expect(await rowlock(["doctor"], env).exited).toMatchObject({ code: 0, out: nobody });
    await screenOf(rowlock(serveArgs(url, "--migrate", "false")));
    // An SQLite file belongs to its server alone.
    const listed =
      /^replica {2}127\.0\.0\.1:[1-9]\d*: version \d\S+, level \d, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, last heard of \d s ago$/m;
    const expected = kind === "sqlite" ? { code: 2 } : { code: 0, out: expect.stringMatching(listed) };
    expect(await rowlock(["doctor"], env).exited).toMatchObject(expected);
  });
});

test.each(mysqlFamily())("on $flavour $version, doctor reports a user who may not write", async (server) => {
  const url = await database(() => freshDatabase(server));
  // The first who opens the database notes which database server it is on.
  for (const command of [["migrate", "up"], ["doctor"]])
    expect(await rowlock([...command, "--database-url", url]).exited).toMatchObject({ code: 0 });
  const plain = await openPlainConnection(url);
  const { pathname } = new URL(url);
  const user = `reader_${randomBytes(4).toString("hex")}`;
  await plain.run(`CREATE USER ${user}@'%' IDENTIFIED BY 'x'`);
  afterwards(async () => {
    await plain.run(`DROP USER ${user}@'%'`);
    plain.close();
  });
  const grant = (rights: string) => plain.run(`GRANT ${rights} ON ${pathname.slice(1)}.* TO ${user}@'%'`);
  const limited = Object.assign(new URL(url), { username: user, password: "x" }).href;
  const doctor = () => rowlock(["doctor", "--database-url", limited]).exited;
  await grant("SELECT, DELETE");
  const found = await doctor();
  expect(found).toMatchObject({ code: 1, err: "" });
  expect(found.out).toMatch(
    /^error {4}rights: .* may not INSERT on rowlock_lock, .*\nerror {4}rights: .* UPDATE on /m,
  );
  expect(found.out).not.toContain("DELETE on rowlock");
  await grant("INSERT, UPDATE");
  expect(await doctor()).toMatchObject({ code: 0, out: expect.stringMatching(/^ok {7}rights: /m) });
});

const sqliteUrl = () => database(freshSqlite);

test.each([[["doctor"]], [["migrate", "up"]]])("Ctrl-C ends %j at once", async (command) => {
  // A database that accepts connections and never answers.
  const silent = createServer();
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  afterwards(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const called = once(silent, "connection");
  const process = rowlock(command, { ROWLOCK_DATABASE_URL: `mysql://u@127.0.0.1:${port}/x` });
  const [socket] = await called;
  afterwards(() => socket.destroy());
  process.kill("SIGINT");
  expect(await process.exited).toMatchObject({ signal: "SIGINT" });
});

test("doctor waits for the server to stop, then finds a sound database, and then a planted fault", async () => {
  const url = await sqliteUrl();
  const server = await screenOf(rowlock(serveArgs(url)));
  const client = new TestCalls(server.grpcAddress);
  afterwards(() => client.close());
  await client.call("acquire", { name: "held" });
  const beside = await rowlock(["doctor", "--database-url", url]).exited;
  expect(beside).toMatchObject({ code: 2, err: expect.stringContaining("is in use by another process") });

  server.process.kill("SIGTERM");
  await server.process.exited;
  const sound = await rowlock(["doctor", "--database-url", url]).exited;
  expect(sound).toMatchObject({ code: 0, out: expect.stringContaining("no errors, no warnings"), err: "" });

  const file = new DatabaseSync(url.slice("sqlite:".length));
  file.exec("UPDATE rowlock_lock SET held_permits = held_permits + 1");
  file.close();
  const drifted = await rowlock(["doctor", "--database-url", url]).exited;
  expect(drifted).toMatchObject({ code: 1, out: expect.stringMatching(/^error {4}counters: .*held/m) });
});
