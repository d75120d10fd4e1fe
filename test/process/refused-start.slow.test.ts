// Servers that must not start print one sentence that says what to do, no stack, and exit with code 1.

import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { freshDatabase, freshSqlite, mysqlFamily, testDatabases } from "../support/database.ts";
import { startDroppingProxy } from "../support/dropping-proxy.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const { afterwards, database, rowlock: start, folder: emptyFolder } = processStage();

const sqliteUrl = () => database(freshSqlite);

/** What it prints to standard error when it gives up. */
async function refusal(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, out, err } = await start(args, env).exited;
  expect([code, out]).toEqual([1, ""]);
  const spoken = err.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
  expect(err).not.toMatch(/^\s+at /m);
  return spoken.join("\n");
}

describe("a server does not start", () => {
  test("on an SQLite file that another server uses", async () => {
    const url = await sqliteUrl();
    const first = await screenOf(start(serveArgs(url)));
    const said = await refusal(serveArgs(url));
    expect(said).toMatch(/^rowlock cannot start: .* is in use by another process/);
    expect((await fetch(`${first.metricsUrl}/readyz`)).status).toBe(200);
  });

  test("on an impossible path, with one sentence and no retry", async () => {
    const folder = emptyFolder();
    const refused = async (path: string) => {
      const { code, out, err } = await start(serveArgs(`sqlite:${path}`)).exited;
      expect([code, out]).toEqual([1, ""]);
      return err;
    };
    const nowhere = `${folder}/no/such/x.db`;
    expect(await refused(nowhere)).toBe(
      `rowlock cannot start: The database file ${nowhere} cannot be opened: its folder does not exist.\n`,
    );
    expect(await refused(folder)).toBe(
      `rowlock cannot start: The database file ${folder} cannot be opened: it is a folder; name a file in it.\n`,
    );
  });

  test.each(mysqlFamily())(
    "on a missing database in $flavour, and every command reports it as missing",
    async (found) => {
      const url = new URL(found.url);
      url.pathname = "/rowlock_nowhere";
      const env = { ROWLOCK_DATABASE_URL: url.href };
      const commands = [serveArgs(url.href), ["migrate", "up"], ["migrate", "status"], ["doctor"]];
      for (const command of commands) {
        const { code, err } = await start(command, env).exited;
        expect(code).not.toBe(0);
        expect(err).toMatch(/has no database of that name: create it \(CREATE DATABASE\)/);
        expect(err).not.toMatch(/rowlock migrate up|Migrating|Trying again|^\s+at /m);
      }
    },
  );

  test.each(testDatabases())("on a missing schema on $label that it may not create", async ({ fresh }) => {
    const url = await database(fresh);
    const said = await refusal(serveArgs(url, "--migrate", "false"));
    const sentence = "rowlock cannot start: The database's schema lacks 0001-.* Run `rowlock migrate up`\\.";
    expect(said).toMatch(new RegExp(`^${sentence}$`));
    // The server did not create the schema either.
    const status = await start(["migrate", "status"], { ROWLOCK_DATABASE_URL: url }).exited;
    expect(status).toMatchObject({ code: 1 });
  });

  /** An address that something else uses. */
  async function taken(): Promise<string> {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    afterwards(() => new Promise<void>((resolve) => other.close(() => resolve())));
    return `127.0.0.1:${(other.address() as AddressInfo).port}`;
  }

  test("where it cannot listen, with advice for each listener", async () => {
    const url = await sqliteUrl();
    const [first, second] = [await taken(), await taken()];
    expect(await refusal([...serveArgs(url), "--metrics-listen", second])).toContain(second);
    const both = await refusal([...serveArgs(url), "--listen", first, "--metrics-listen", second]);
    for (const [setting, address] of [
      ["ROWLOCK_LISTEN", first],
      ["ROWLOCK_METRICS_LISTEN", second],
    ])
      expect(both).toMatch(
        new RegExp(`on ${address} .* Stop whatever uses that address, or set ${setting}\\.`),
      );
    // A server that does not start creates nothing.
    expect(existsSync(url.slice("sqlite:".length))).toBe(false);
    const elsewhere = (address: string) => refusal([...serveArgs(url), "--metrics-listen", address]);
    expect(await elsewhere("192.0.2.1:5")).toMatch(/does not have that address: set ROWLOCK_METRICS_LISTEN/);
    expect(await elsewhere("no-such-host.invalid:5")).toMatch(
      /has no address: correct ROWLOCK_METRICS_LISTEN/,
    );
  });

  test("on an unavailable MySQL, after the start-up timeout", async () => {
    const url = "mysql://root:hush@127.0.0.1:1/rowlock";
    // Long enough for two tries on a busy machine.
    const server = start(serveArgs(url, "--startup-timeout", "5s"));
    const { code, out, err } = await server.exited;
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("Trying again");
    expect(err).toMatch(
      /^rowlock cannot start: .*\(ECONNREFUSED\)\. Gave up after 5 s \(ROWLOCK_STARTUP_TIMEOUT\)\. Check that the database/m,
    );
    expect(err).toContain("mysql://root@127.0.0.1:1/rowlock");
    expect(err).not.toContain("hush");
    expect(err).not.toContain('"stack"');
  });
});

describe("a server that is still starting", () => {
  test.each(mysqlFamily())("serves as soon as the missing $flavour is there", async (found) => {
    const { url, drop } = await freshDatabase(found);
    afterwards(drop);
    const target = new URL(url);
    const proxy = await startDroppingProxy(target.hostname, Number(target.port));
    afterwards(() => proxy.close());
    proxy.leave();
    target.host = `127.0.0.1:${proxy.port}`;
    const server = start(serveArgs(target.href));
    await server.logged(/cannot be reached.*Trying again/);
    expect(server.out).toBe("");
    await proxy.comeBack();
    const { metricsUrl } = await screenOf(server);
    expect((await fetch(`${metricsUrl}/readyz`)).status).toBe(200);
  });

  test("ends at once on request", async () => {
    const server = start(serveArgs("mysql://root:hush@127.0.0.1:1/rowlock", "--startup-timeout", "1h"));
    await server.logged(/Trying again/);
    server.kill("SIGTERM");
    expect(await server.exited).toMatchObject({ code: 0 });
  });
});
