// Which statements write records, and which lock rows beforehand. What a decision leaves is in the contract suite.

import { describe, expect, test } from "vitest";
import type { Lock } from "../../../../server/core/lock.ts";
import type { LockRecord } from "../../../../server/core/record.ts";
import type { Connection } from "../../../../server/storage/mysql/connection/connection.ts";
import type { Read } from "../../../../server/storage/mysql/transaction/read.ts";
import { addRowLocks } from "../../../../server/storage/mysql/transaction/row-locks.ts";
import {
  addWrites,
  leavesWaiters,
  recordWrites,
} from "../../../../server/storage/mysql/transaction/write.ts";
import { recordsOf } from "../../../../server/storage/rows/from-rows.ts";
import { type Moves, movesOf } from "../../../../server/storage/rows/placement.ts";
import { RECORD } from "../../../support/claims.ts";
import { NO_CHANGES } from "../../../support/store-fixture.ts";
import { held, LOCK, numbers, openTrip, textOf } from "./lock-fixture.ts";

const NOW_US = 5_000_000;

/** The statements that change these locks, which were `from` before. */
function written(changed: readonly Lock[], from: readonly Lock[]): string[] {
  const { trip, statements } = openTrip();
  const locks = new Map(from.map((lock) => [lock.id, lock]));
  const before = { lock: (id: bigint) => locks.get(id), claim: () => undefined };
  const failOver = { epoch: 3n, atUs: 10, grantsFromUs: 20 };
  const loaded = { nowUs: NOW_US, atLeastUs: NOW_US, failOver, rulesRevision: 7n } as Read["loaded"];
  const all = { ...NO_CHANGES, locks: changed };
  const read = { loaded, before, assumptions: null };
  const options = { lockOfRules: "LOCKED", mayReorder: true };
  addWrites(trip, all, movesOf(all, NOW_US), recordWrites(all.locks, before), read, options);
  return statements.map(textOf);
}

const lock = (id: number, more: Partial<Lock> = {}): Lock => ({
  ...LOCK,
  id: BigInt(id),
  name: `etl/${id}`,
  ...more,
});
test("rules are asserted if a lock without its own limit leaves waiters", () => {
  const leaves = (...locks: Lock[]) => leavesWaiters({ ...NO_CHANGES, locks });
  expect(leaves(lock(1, { waiting: 1 }))).toBe(true);
  expect(leaves(lock(1), lock(2, { waiting: 1, limit: 5 }))).toBe(false);
  expect(leaves(lock(1, { waiting: 1, limit: 0 }))).toBe(false);
  expect(leaves(lock(1), lock(2, { waiting: 1 }))).toBe(true);
  expect(leaves()).toBe(false);
});

describe("records", () => {
  const remembers = (id: number, more: Partial<LockRecord> = {}, of: Partial<Lock> = {}) =>
    lock(id, { ...of, record: { ...RECORD, ...more } });
  const statements = (before: Lock[], after: Lock[]) =>
    written(after, before).filter((sql) => sql.includes("rowlock_record"));

  test("are selected by their locks, and tied to the guard rows", () => {
    const before = [remembers(1), remembers(2), remembers(3)];
    const after = [remembers(1, { status: "x" }), remembers(2, { status: "y" }), lock(3)];
    expect(statements(before, after)).toEqual([
      "UPDATE rowlock_record SET status = CASE CAST(lock_id AS SIGNED) WHEN 1 THEN 'x' WHEN 2 THEN 'y' END " +
        "WHERE lock_id IN (1, 2) AND ROW_COUNT() = 3",
      "DELETE r FROM rowlock_record r WHERE r.lock_id IN (3) AND ROW_COUNT() = 2",
    ]);
  });

  test("of a lock without one, or that did not change, are not written", () => {
    const record = { ...RECORD };
    expect(recordWrites([lock(1)], { lock: () => lock(1), claim: () => undefined })).toBeNull();
    const same = [lock(1, { record })];
    expect(statements(same, [lock(1, { record, limit: 3 })])).toEqual([]);
    // A different object with the same content.
    expect(statements(same, [remembers(1)])).toEqual([]);
  });

  test.each([
    ["nobody holds it any more", { holders: 1 }, {}, true],
    ["somebody holds it", {}, { holders: 1 }, true],
    ["somebody waits for it", {}, { waiting: 1 }, true],
    ["nobody waits for it any more", { waiting: 1 }, {}, true],
    ["its last waiter holds it", { waiting: 1 }, { holders: 1 }, false],
    ["one of its two holders is left", { holders: 2 }, { holders: 1 }, false],
    ["its holder is gone and its waiter is left", { holders: 1, waiting: 1 }, { waiting: 1 }, false],
  ])("are checked if %s", (_, before, after, expected) => {
    const record = { ...RECORD };
    const from = lock(1, { ...before, record });
    const writes = recordWrites([lock(1, { ...after, record })], {
      lock: () => from,
      claim: () => undefined,
    });
    expect(writes?.changed).toHaveLength(expected ? 1 : 0);
  });

  test("are added if there was none, even for a lock that was not read", () => {
    const writes = recordWrites([remembers(1)], { lock: () => undefined, claim: () => undefined });
    expect(writes).toEqual({ added: [remembers(1)], changed: [], removed: [] });
    expect(statements([lock(1)], [remembers(1)])).toEqual([
      expect.stringMatching(
        /^INSERT INTO rowlock_record \(lock_id, folder, name, .* VALUES \(IF\(.*, 1, NULL\), 'etl\/'/,
      ),
    ]);
  });

  test("that a guard row mentions and that are missing are a bug", () => {
    const run = [null, null, null, null, null, null];
    const row = ["4", Buffer.from("failed"), "10", 3, "8", null, ...run, "2", Buffer.from("token:a")];
    const read = { notBeforeUs: 10, attemptsLeft: 3, version: 8n, attemptsSince: 2n, principal: "token:a" };
    expect([...recordsOf([4n], [row])]).toEqual([[4n, { ...RECORD, status: "failed", ...read }]]);
    expect(() => recordsOf([4n, 5n], [row])).toThrow("Lock 5 has no record");
    expect(recordsOf([], [])).toEqual(new Map());
  });
});

describe("rows that an impatient transaction is about to write", () => {
  const locked = (
    moves: Partial<Moves>,
    guards: readonly Lock[] = [],
    records: { changed?: readonly Lock[]; removed?: readonly Lock[]; added?: readonly Lock[] } | null = null,
    setsPatience = false,
  ) => {
    const { trip, statements } = openTrip();
    const recordChanges = records && { added: [], changed: [], removed: [], ...records };
    const all = { ...movesOf(NO_CHANGES, NOW_US), ...moves };
    const before = { lock: () => undefined, claim: () => held(1) };
    addRowLocks(trip, { setsPatience } as Connection, all, guards, recordChanges, before);
    return statements.map(textOf);
  };
  const ONE = /SELECT 1 FROM rowlock_\w+ WHERE [^()]* FOR UPDATE NOWAIT/g;

  test("are locked one by one if they are few", () => {
    const records = { changed: [lock(3)], removed: [lock(4)], added: [lock(5)] };
    const [sql, ...others] = locked({ removed: [held(7)] }, [lock(1)], records);
    expect(others).toEqual([]);
    expect(locked({ changed: [held(7)] }, [lock(1)], records)).toEqual([sql]);
    expect(sql?.match(ONE)).toEqual([
      "SELECT 1 FROM rowlock_lock WHERE id = 1 FOR UPDATE NOWAIT",
      "SELECT 1 FROM rowlock_claim WHERE lock_id = 1 AND place = 0 AND ticket_number = 7 FOR UPDATE NOWAIT",
      "SELECT 1 FROM rowlock_record WHERE lock_id = 3 FOR UPDATE NOWAIT",
      "SELECT 1 FROM rowlock_record WHERE lock_id = 4 FOR UPDATE NOWAIT",
    ]);
  });

  test("are counted if they are more, so that a missing one fails the statement", () => {
    const records = { changed: [lock(3)], removed: [lock(4)] };
    const [sql] = locked({ changed: [held(7)], removed: [held(8)] }, [lock(1)], records);
    expect(sql).toBe(
      "DO (SELECT COUNT(*) FROM rowlock_lock WHERE id IN (1) FOR UPDATE SKIP LOCKED) " +
        "+ (SELECT COUNT(*) FROM rowlock_claim WHERE (lock_id, place, ticket_number) IN ((1, 0, 7), (1, 0, 8)) FOR UPDATE SKIP LOCKED) " +
        "+ (SELECT COUNT(*) FROM rowlock_record WHERE lock_id IN (3, 4) FOR UPDATE SKIP LOCKED) - CAST(5 AS UNSIGNED)",
    );
    expect(
      locked(
        {},
        numbers(1, 5).map((id) => lock(id)),
      ),
    ).toEqual([
      expect.stringMatching(/^DO \(SELECT COUNT\(\*\) FROM rowlock_lock [^+]* - CAST\(5 AS UNSIGNED\)$/),
    ]);
    const claims = numbers(1, 5).map((number) => held(number));
    expect(locked({ changed: claims })[0]).toMatch(
      /^DO \(SELECT COUNT\(\*\) FROM rowlock_claim [^+]* - CAST\(5/,
    );
    const five = numbers(1, 5).map((id) => lock(id));
    expect(locked({}, [], { changed: five })[0]).toMatch(
      /^DO \(SELECT COUNT\(\*\) FROM rowlock_record [^+]* - CAST\(5/,
    );
  });

  test("are locked with the request ids that callers chose, which others may be adding", () => {
    const own = held(1, { requestId: "a caller's own" });
    expect(locked({ requests: [own] })).toEqual([
      expect.stringMatching(
        /^DO \(SELECT COUNT\(\*\) FROM rowlock_request WHERE request_key IN \('.+'\) FOR UPDATE NOWAIT\)$/s,
      ),
    ]);
    // Their claims may be in the guard row, or in a table to which the decision only adds.
    expect(locked({ added: [own], ended: [own] })).toEqual([]);
  });

  test("are locked by the writes themselves on a server with a statement for not waiting", () => {
    expect(locked({ changed: [held(7)] }, [lock(1)], null, true)).toEqual([]);
  });

  test("are none if nothing is there yet", () => {
    expect(locked({})).toEqual([]);
    expect(locked({}, [], { added: [lock(1)] })).toEqual([]);
  });
});
