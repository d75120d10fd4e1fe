// The statement of docs/clients.md that checks a lease in a user's own transaction, on each server of the MySQL family:
// what it finds, and that this stays true until that transaction ends.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase, mysqlFamily } from "../../support/database.ts";
import type { TestServer } from "../../support/harness.ts";
import { startServer } from "../../support/harness.ts";
import type { PlainConnection } from "../../support/mysql-stage.ts";
import { openPlainConnection, statementOf, until } from "../../support/mysql-stage.ts";

const CLIENTS = readFileSync(new URL("../../../docs/clients.md", import.meta.url), "utf8");

/** The statements as documented, with the test's lock and token; the last one is the check. */
function checkOf(flavour: "mysql" | "mariadb", lockName: string, fencingToken: bigint): string[] {
  const [, pasted = ""] = CLIENTS.match(/```sql\n([\s\S]*?)```/) ?? [];
  const [, forMariadb] = pasted.match(/-- on MariaDB: (.*)$/m) ?? [];
  const asked = pasted
    .replace("'etl/load'", `'${lockName}'`)
    .replace("= 42", `= ${fencingToken}`)
    .replace("FOR SHARE", flavour === "mysql" ? "FOR SHARE" : (forMariadb as string));
  return asked.replace(/--.*$/m, "").split(";").slice(0, -1);
}

test("docs/clients.md has the statements", () => {
  expect(checkOf("mariadb", "a", 7n).join()).toMatch(/'a' AND c\.fencing_token = 7 .*LOCK IN SHARE MODE$/s);
});

describe.each(mysqlFamily())("on $flavour $version", (database) => {
  let server: TestServer;
  let user: PlainConnection;
  let databaseName: string;
  const cleanups: (() => unknown)[] = [];

  beforeAll(async () => {
    const { url, drop } = await freshDatabase(database);
    cleanups.push(drop);
    databaseName = new URL(url).pathname.slice(1);
    server = await startServer({ url });
    cleanups.push(() => server.stop());
    user = await openPlainConnection(url);
    cleanups.push(() => user.close());
  });
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  /** Begins a user's transaction and runs the check in it. */
  async function begin(lockName: string, token: bigint): Promise<number> {
    const statements = checkOf(database.flavour, lockName, token);
    expect(statements).toHaveLength(3);
    for (const statement of statements.slice(0, -1)) await user.run(statement);
    return ask(lockName, token);
  }

  async function ask(lockName: string, token: bigint): Promise<number> {
    return (await user.run(checkOf(database.flavour, lockName, token).at(-1) as string)).length;
  }

  /** Runs the check in a transaction that ends immediately. */
  async function found(lockName: string, token: bigint): Promise<number> {
    const count = await begin(lockName, token);
    await user.run("COMMIT");
    return count;
  }

  test("a lease is found while it is held, and the lock is not granted again before the transaction ends", async () => {
    const lease = await server.client.lease({ name: "fenced" });
    const stream = server.client.wait({ target: { case: "acquire", value: { name: "fenced" } } });
    await stream.position();
    const next = lease.fencingToken + 1n;

    expect(await begin("fenced", lease.fencingToken)).toBe(1);
    expect(await ask("fenced", next)).toBe(0);
    let released = false;
    const release = server.client.call("release", { leaseId: lease.leaseId }).then((answer) => {
      released = true;
      return answer;
    });
    await statementOf(user, databaseName, "UPDATE rowlock_claim");
    // The release has reached the claim's row and waits there.
    const [claim] = await user.run("SELECT state FROM rowlock_claim WHERE fencing_token = ?", [
      String(lease.fencingToken),
    ]);
    expect(claim?.state).toBe(2);
    expect(released).toBe(false);
    expect(server.events.filter(({ kind }) => kind === "granted")).toHaveLength(1);
    await user.run("COMMIT");

    expect(await release).toMatchObject({ released: true });
    expect((await stream.granted()).fencingToken).toBe(next);
    expect(await found("fenced", lease.fencingToken)).toBe(0);
    expect(await found("fenced", next)).toBe(1);
  });

  test("the transaction delays no other lock, neither a busy one nor a new one", async () => {
    const busy = await server.client.lease({ name: "busy" });
    const lease = await server.client.lease({ name: "last" });
    expect(await begin("last", lease.fencingToken)).toBe(1);
    expect((await server.client.lease({ name: "new" })).fencingToken).toBe(1n);
    expect(await server.client.call("release", { leaseId: busy.leaseId })).toMatchObject({ released: true });
    expect((await server.client.lease({ name: "busy" })).fencingToken).toBe(busy.fencingToken + 1n);
    await user.run("COMMIT");
  });

  test("a lease is not found from the instant at which it ends", async () => {
    const lease = await server.client.lease({ name: "short", ttl: { seconds: 3n, nanos: 0 } });
    const endless = await server.client.lease({ name: "endless", noExpiry: true });
    expect(await found("short", lease.fencingToken)).toBe(1);
    await until(async () => (await found("short", lease.fencingToken)) === 0);
    const [row] = await user.run("SELECT NOW(6) >= FROM_UNIXTIME(?) AS ended", [
      `${lease.expiresAt?.seconds}.${String(lease.expiresAt?.nanos).padStart(9, "0")}`,
    ]);
    expect(Number(row?.ended)).toBe(1);
    expect(await found("endless", endless.fencingToken)).toBe(1);
  });
});
