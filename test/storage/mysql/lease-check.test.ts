// The statement of docs/clients.md that checks a lease in a user's own transaction, on each server of the MySQL family:
// what it finds, and that this stays true until that transaction ends.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Lease, Mode } from "#proto/rowlock/v1/lock_pb.js";
import { freshDatabase, mysqlFamily } from "../../support/database.ts";
import type { TestServer } from "../../support/harness.ts";
import { startServer } from "../../support/harness.ts";
import type { PlainConnection } from "../../support/mysql-stage.ts";
import { openPlainConnection, statementOf, until } from "../../support/mysql-stage.ts";

const CLIENTS = readFileSync(new URL("../../../docs/clients.md", import.meta.url), "utf8");

/** The statements as documented, with the test's lock and token; the last one is the check. */
function checkOf(flavour: "mysql" | "mariadb", lockName: string, fencingToken: bigint): string[] {
  const [, pasted = ""] = CLIENTS.match(/```sql\n(SET TRANSACTION[\s\S]*?)```/) ?? [];
  const [, forMariadb] = pasted.match(/-- on MariaDB: (.*)$/m) ?? [];
  const asked = pasted
    .replace("'etl/load'", `'${lockName}'`)
    .replaceAll("= 42", `= ${fencingToken}`)
    .replace("FOR SHARE", flavour === "mysql" ? "FOR SHARE" : (forMariadb as string));
  return asked.replace(/--.*$/m, "").split(";").slice(0, -1);
}

test("docs/clients.md has the statements", () => {
  const statements = checkOf("mariadb", "a", 7n).join();
  expect(statements).toMatch(
    /h\.place = 0 AND h\.fencing_token = 7\).* l\.name = 'a' .*l\.holder_fencing_token = 7\).*LOCK IN SHARE MODE$/s,
  );
  expect(statements).not.toContain("42");
});

describe.each(mysqlFamily())("on $flavour $version", (database) => {
  let server: TestServer;
  let user: PlainConnection;
  let other: PlainConnection;
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
    other = await openPlainConnection(url);
    cleanups.push(() => other.close());
  });
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  async function limitTo(limit: number, name: string): Promise<void> {
    const target = { case: "name", value: name } as const;
    await server.client.call("setLimit", { target, newLimit: { case: "limit", value: limit } });
  }

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
    const stream = server.client.wait({ target: { case: "request", value: { name: "fenced" } } });
    await stream.position();
    const next = lease.fencingToken + 1n;

    expect(await begin("fenced", lease.fencingToken)).toBe(1);
    expect(await ask("fenced", next)).toBe(0);
    const release = await releaseThatWaits(lease);
    const [guard] = await user.run(
      "SELECT holder_state, holder_fencing_token FROM rowlock_lock WHERE name = ?",
      ["fenced"],
    );
    expect(guard).toEqual({ holder_state: 2, holder_fencing_token: Number(lease.fencingToken) });
    expect(release.isDone()).toBe(false);
    expect(server.events.filter(({ kind }) => kind === "granted")).toHaveLength(1);
    // Another check in the same transaction needs nothing that the release has locked.
    expect(await ask("fenced", lease.fencingToken)).toBe(1);
    await user.run("COMMIT");

    expect(await release.answer).toMatchObject({ released: true });
    expect((await stream.granted()).fencingToken).toBe(next);
    expect(await found("fenced", lease.fencingToken)).toBe(0);
    expect(await found("fenced", next)).toBe(1);
  });

  /** Releases the lease; resolves when the release has reached the lock's row, which a transaction must hold. */
  async function releaseThatWaits({ leaseId }: Lease) {
    let isDone = false;
    const answer = server.client.call("release", { leaseId }).then((answered) => {
      isDone = true;
      return answered;
    });
    await statementOf(user, databaseName, "UPDATE rowlock_lock");
    return { answer, isDone: () => isDone };
  }

  const SHARINGS = [
    ["a semaphore", { permits: 1 }],
    ["readers", { mode: Mode.SHARED }],
  ] as const;

  test.each(SHARINGS)(
    "%s: further leases are found like the first, also after the first has ended",
    async (what, how) => {
      const name = `shared by ${what}`;
      await limitTo(2, name);
      const take = () => server.client.lease({ name, ...how });
      const [first, second] = [await take(), await take()];
      const further =
        "SELECT c.fencing_token FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id WHERE l.name = ?";
      expect(await user.run(further, [name])).toEqual([{ fencing_token: Number(second.fencingToken) }]);
      expect(await found(name, first.fencingToken)).toBe(1);
      expect(await found(name, second.fencingToken + 1n)).toBe(0);

      expect(await begin(name, second.fencingToken)).toBe(1);
      const release = await releaseThatWaits(second);
      expect(await ask(name, second.fencingToken)).toBe(1);
      expect(await ask(name, first.fencingToken)).toBe(1);
      expect(release.isDone()).toBe(false);
      await user.run("COMMIT");
      expect(await release.answer).toMatchObject({ released: true });
      expect(await found(name, second.fencingToken)).toBe(0);

      const third = await take();
      await server.client.call("release", { leaseId: first.leaseId });
      expect(await found(name, first.fencingToken)).toBe(0);
      expect(await found(name, third.fencingToken)).toBe(1);
      const fourth = await take();
      // The row of the lock has the fourth lease now, and the third is where it was.
      expect(await user.run(further, [name])).toEqual([{ fencing_token: Number(third.fencingToken) }]);
      expect(await found(name, third.fencingToken)).toBe(1);
      expect(await found(name, fourth.fencingToken)).toBe(1);
    },
  );

  test("waiters keep their places during the transaction, and the check waits for none of their rows", async () => {
    const name = "waited for";
    await limitTo(2, name);
    const leases = [await server.client.lease({ name }), await server.client.lease({ name })];
    const streams = [1, 2].map(() => server.client.wait({ target: { case: "request", value: { name } } }));
    for (const stream of streams) await stream.position();
    const waiters = `FROM rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id AND c.place > 0
      WHERE l.name = '${name}'`;
    const deadlines = async () =>
      (await user.run(`SELECT c.deadline ${waiters} ORDER BY c.ticket_number`)).map((row) =>
        Number(row.deadline),
      );
    const rows = await user.run(`SELECT c.lock_id, c.place, c.ticket_number ${waiters}`);
    expect(rows).toHaveLength(2);
    /** Locks the waiters' rows in a stranger's transaction. */
    const lockRows = async () => {
      await other.run("SET innodb_lock_wait_timeout = 1");
      await other.run("START TRANSACTION");
      const row = "rowlock_claim FORCE INDEX (PRIMARY) WHERE lock_id = ? AND place = ? AND ticket_number = ?";
      for (const { lock_id, place, ticket_number } of rows)
        await other.run(`SELECT 1 FROM ${row} FOR UPDATE`, [lock_id, place, ticket_number]);
    };
    for (const { fencingToken } of leases) {
      expect(await begin(name, fencingToken)).toBe(1);
      await lockRows();
      await other.run("COMMIT");
      const before = await deadlines();
      expect(before).toHaveLength(2);
      // A heartbeat has extended each place.
      await until(async () => (await deadlines()).every((deadline, at) => deadline > (before[at] as number)));
      await user.run("COMMIT");
    }
    await lockRows();
    await user.run("SET innodb_lock_wait_timeout = 1");
    for (const { fencingToken } of leases) expect(await found(name, fencingToken)).toBe(1);
    await user.run("SET innodb_lock_wait_timeout = DEFAULT");
    await other.run("COMMIT");
    for (const { leaseId } of leases) await server.client.call("release", { leaseId });
    for (const stream of streams) await stream.granted();
  });

  test("the transaction delays no other lock, neither a busy one nor a new one", async () => {
    for (const limit of [1, 2]) {
      const name = `last of ${limit}`;
      await limitTo(limit, name);
      const busy = await server.client.lease({ name: "busy" });
      for (let others = 1; others < limit; others++) await server.client.lease({ name });
      const lease = await server.client.lease({ name });
      expect(await begin(name, lease.fencingToken)).toBe(1);
      expect((await server.client.lease({ name: `new beside ${limit}` })).fencingToken).toBe(1n);
      await server.client.call("release", { leaseId: busy.leaseId });
      const again = await server.client.lease({ name: "busy" });
      expect(again.fencingToken).toBe(busy.fencingToken + 1n);
      await user.run("COMMIT");
      await server.client.call("release", { leaseId: again.leaseId });
    }
  });

  test.each(["first", "further"])(
    "the lease of a %s holder is not found from the instant at which it ends",
    async (which) => {
      const [short, endless] = [`short and ${which}`, `endless and ${which}`];
      for (const name of [short, endless]) {
        await limitTo(2, name);
        if (which === "further") await server.client.lease({ name });
      }
      const ttl = { case: "ttl", value: { seconds: 3n, nanos: 0 } } as const;
      const lease = await server.client.lease({ name: short, terms: { lasting: ttl } });
      const endlessly = { lasting: { case: "noExpiry", value: {} } } as const;
      const forever = await server.client.lease({ name: endless, terms: endlessly });
      expect(await found(short, lease.fencingToken)).toBe(1);
      // In one transaction, so that no server can end the lease meanwhile.
      expect(await begin(short, lease.fencingToken)).toBe(1);
      await until(async () => (await ask(short, lease.fencingToken)) === 0);
      const [row] = await user.run("SELECT NOW(6) >= FROM_UNIXTIME(?) AS ended", [
        `${lease.expiresAt?.seconds}.${String(lease.expiresAt?.nanos).padStart(9, "0")}`,
      ]);
      expect(Number(row?.ended)).toBe(1);
      await user.run("COMMIT");
      await server.event(
        (event) => event.kind === "ended" && event.claim.fencingToken === lease.fencingToken,
      );
      expect(await found(short, lease.fencingToken)).toBe(0);
      expect(await found(endless, forever.fencingToken)).toBe(1);
    },
  );
});
