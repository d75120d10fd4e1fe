// The small writes beside decisions: which places they extend, which they leave to the lock's current transaction, what
// is retried, and what is skipped because there is nothing to do.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DatabaseClock } from "../../../server/core/database-clock.ts";
import type { LockCache } from "../../../server/storage/mysql/lock-cache.ts";
import { maintenance } from "../../../server/storage/mysql/maintenance.ts";
import { MARK_AGAIN_MS } from "../../../server/storage/storage-bounds.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { ScriptedPool, written } from "./scripted-pool.ts";
import { waiting } from "./transaction/lock-fixture.ts";

// The fake timers do not reach this import.
vi.mock(import("node:timers/promises"), async (original) => ({
  ...(await original()),
  setTimeout: ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms))) as never,
}));

const CLAIMS = [waiting(1), waiting(2), waiting(3)];
const KEEP_US = 50;
const BEFORE_US = 1_000;
const deadlock = () => new StoreError("transient", "deadlock", "A test's.");

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function scene(answer?: ConstructorParameters<typeof ScriptedPool>[0], beforeUs: number | null = BEFORE_US) {
  const scripted = new ScriptedPool(answer);
  const prolonged: unknown[] = [];
  const cache = {
    prolonged: (replica: bigint, claims: readonly { ticketNumber: bigint }[], untilUs: number) =>
      void prolonged.push([replica, claims.map(({ ticketNumber }) => ticketNumber), untilUs]),
  } as unknown as LockCache;
  const clock = { earliestUs: () => beforeUs } as unknown as DatabaseClock;
  return { scripted, prolonged, ...maintenance(scripted.pool, cache, clock) };
}

describe("a heartbeat of waiters", () => {
  test("without waiters is not sent", async () => {
    const { scripted, heartbeat } = scene();
    expect(await heartbeat(7n, [], KEEP_US)).toEqual([]);
    expect(scripted.trips).toEqual([]);
  });

  test("keeps all of them if the database cannot skip locked rows", async () => {
    const { scripted, prolonged, heartbeat } = scene();
    expect(await heartbeat(7n, CLAIMS, KEEP_US)).toEqual([]);
    expect(scripted.names).toEqual(["heartbeat"]);
    expect(scripted.writes).toBe(1);
    const [update] = scripted.sql;
    expect(update).toMatch(/^UPDATE rowlock_claim .* replica = 7 /);
    expect(update).toContain("IN ((1, 1, 1), (1, 2, 2), (1, 3, 3))");
    // No place ends earlier than it did, because the bound of its lock may be that end.
    expect(update).toContain("SET deadline = GREATEST(deadline, LEAST(");
    // And no other claim that has since got one of their numbers.
    expect(update).toContain(`secret IN ('${CLAIMS[0]?.secret}'`);
    // The cache keeps them no longer than the rows do.
    expect(prolonged).toEqual([[7n, [1n, 2n, 3n], BEFORE_US + KEEP_US]]);
  });

  test("is stored without a time if the database's time is unknown", async () => {
    const { prolonged, heartbeat } = scene(undefined, null);
    await heartbeat(7n, CLAIMS, KEEP_US);
    expect(prolonged).toEqual([]);
  });

  /** The first is free, another transaction holds the second, and the third no longer exists. */
  const someHeld = (sql: string) => {
    if (sql.endsWith("FOR UPDATE SKIP LOCKED")) return [["1", "1"]];
    return sql.startsWith("SELECT lock_id") ? [["1", "2"]] : undefined;
  };

  test("keeps the free ones, and returns those that still wait and are locked by another transaction", async () => {
    const { scripted, prolonged, heartbeat } = scene(someHeld);
    scripted.connection.skipsLocked = true;
    expect(await heartbeat(7n, CLAIMS, KEEP_US)).toEqual([{ lockId: 1n, ticketNumber: 2n }]);
    expect(scripted.names).toEqual(["heartbeat_load", "heartbeat"]);
    expect(scripted.trips[0]?.sql).toEqual([
      "START TRANSACTION",
      expect.stringMatching(
        /state = 1 AND \(lock_id, place, ticket_number\) IN \(\(1, 1, 1\), \(1, 2, 2\), \(1, 3, 3\)\) FOR UPDATE SKIP LOCKED$/,
      ),
    ]);
    expect(prolonged).toEqual([[7n, [1n], BEFORE_US + KEEP_US]]);
    const [update, rest, commit] = scripted.trips.at(-1)?.sql ?? [];
    expect(update).toMatch(/^UPDATE rowlock_claim .*lock_id = 1 AND place = 1 AND ticket_number = 1\)/);
    expect(rest).toContain("IN ((1, 2, 2), (1, 3, 3))");
    expect(commit).toBe("COMMIT");
    expect(scripted.connection.inTransaction).toBe(false);
  });

  test("writes nothing if all are locked, and makes no second request if all are free", async () => {
    const noneFree = scene((sql) => (sql.endsWith("SKIP LOCKED") ? [] : someHeld(sql)));
    noneFree.scripted.connection.skipsLocked = true;
    expect(await noneFree.heartbeat(7n, CLAIMS, KEEP_US)).toEqual([{ lockId: 1n, ticketNumber: 2n }]);
    expect(noneFree.scripted.sql.filter((sql) => sql.startsWith("UPDATE"))).toEqual([]);
    const allFree = scene((sql) =>
      sql.endsWith("SKIP LOCKED")
        ? [
            ["1", "1"],
            ["1", "2"],
            ["1", "3"],
          ]
        : undefined,
    );
    allFree.scripted.connection.skipsLocked = true;
    expect(await allFree.heartbeat(7n, CLAIMS, KEEP_US)).toEqual([]);
    expect(allFree.scripted.trips.at(-1)?.sql).toEqual([expect.stringMatching(/^UPDATE/), "COMMIT"]);
  });

  test("is repeated after the database has rolled it back", async () => {
    const { scripted, heartbeat } = scene();
    scripted.failures.set("heartbeat", [deadlock(), deadlock()]);
    const sent = heartbeat(7n, CLAIMS, KEEP_US);
    await vi.runAllTimersAsync();
    expect(await sent).toEqual([]);
    expect(scripted.names).toEqual(["heartbeat", "heartbeat", "heartbeat"]);
  });
});

describe("a heartbeat of a server", () => {
  const SELF = { id: 7n, address: "a:1", version: "1", secret: "s" };

  test("stores all its facts, and forgets finished ones", async () => {
    const { scripted, register } = scene();
    await register(SELF, KEEP_US, 3n);
    expect(scripted.sql.map((sql) => sql.split(" ")[0])).toEqual(["SHOW", "SHOW", "INSERT", "DELETE"]);
    expect(scripted.sql[2]).toContain("VALUES (7, 'a:1', '1', 's'");
    expect(scripted.renewals).toBe(0);
  });

  test("fails if it finds a database that must not be written", async () => {
    const { register } = scene((sql) =>
      sql.startsWith("SHOW GLOBAL VARIABLES") ? [["read_only", "ON"]] : undefined,
    );
    await expect(register(SELF, KEEP_US, 3n)).rejects.toMatchObject({ reason: "read_only" });
  });

  test("that fails otherwise affects no connection", async () => {
    const { scripted, register } = scene();
    scripted.failures.set("register", [new StoreError("unavailable", "connection_refused", "A test's.")]);
    await expect(register(SELF, KEEP_US, 3n)).rejects.toMatchObject({ reason: "connection_refused" });
    expect(scripted.renewals).toBe(0);
  });

  test("that stops deletes its row and its mark", async () => {
    const { scripted, retire } = scene();
    await retire(7n);
    expect(scripted.sql).toEqual([
      "DELETE FROM rowlock_replica WHERE id = 7",
      "DELETE FROM rowlock_witness WHERE id = 7",
    ]);
  });
});

describe("a mark", () => {
  /** The database at 5 µs; `takes` says how many marks each write changes, in order. */
  const marking = (...takes: number[]) =>
    scene((sql) => {
      if (sql.startsWith("UPDATE rowlock_witness")) return written(takes.shift() ?? 0);
      return sql.startsWith("SELECT CAST") ? [["5"]] : undefined;
    });

  test("is set if the previous one is expected, or if an earlier attempt has set it", async () => {
    const { scripted, mark } = marking(1);
    expect(await mark(7n, [3n, 4n], 9n)).toEqual({ isDone: true, nowUs: 5 });
    expect(scripted.sql[0]).toMatch(/^UPDATE rowlock_witness SET mark = 9, .* mark IN \(3, 4, 9\)$/);
    expect(scripted.trips).toHaveLength(1);
  });

  test("is set anew whatever is there, and old ones of others are deleted", async () => {
    const { scripted, mark } = marking();
    expect(await mark(7n, null, 9n)).toEqual({ isDone: true, nowUs: 5 });
    expect(scripted.sql.map((sql) => sql.split(" ")[0])).toEqual(["INSERT", "DELETE", "SELECT"]);
  });

  test("that is unexpected is read once more in a cluster, whose node may lag, and nowhere else", async () => {
    const alone = marking(0, 1);
    expect(await alone.mark(7n, [3n], 9n)).toMatchObject({ isDone: false });
    const cluster = marking(0, 1);
    cluster.scripted.isCluster = true;
    const marked = cluster.mark(7n, [3n], 9n);
    await vi.advanceTimersByTimeAsync(MARK_AGAIN_MS - 1);
    expect(cluster.scripted.trips).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await marked).toMatchObject({ isDone: true });
    expect(cluster.scripted.trips).toHaveLength(2);
  });
});
