// How a transaction that ended before its COMMIT is recognised, without a cluster: a Galera node that rolls one back in
// the middle of a trip answers a statement as done, and only that answer's status says that no transaction is open.

import { describe, expect, test } from "vitest";
import { DatabaseClock } from "../../../../server/core/database-clock.ts";
import { type Connection, Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { LockCache } from "../../../../server/storage/mysql/lock-cache.ts";
import { RuleCache } from "../../../../server/storage/mysql/meta.ts";
import { mustStillBeOpen, WriteChain } from "../../../../server/storage/mysql/transaction/assertions.ts";
import { transactOn } from "../../../../server/storage/mysql/transaction/transact.ts";
import { CLAIM_ROW_LENGTH } from "../../../../server/storage/rows/columns.ts";
import { holderValues } from "../../../support/row-values.ts";
import { NO_CHANGES, NO_PLAN, planned, raised } from "../../../support/store-fixture.ts";
import { guardRow, LOCK, waiting } from "./lock-fixture.ts";

const OPEN = { affectedRows: 1, serverStatus: 0b11 };
const GONE = { affectedRows: 1, serverStatus: 0b10 };
/** A waiter as a read returns it: without an end, and not by a request id. */
const WAITER = [LOCK.id, ...holderValues(waiting(1)), null, null, null, null, 0, null];

test("a write that was executed outside the transaction makes it retryable, in any position", () => {
  expect(() => mustStillBeOpen([OPEN, OPEN])).not.toThrow();
  // An answer with rows has no status.
  expect(() => mustStillBeOpen([[], OPEN])).not.toThrow();
  for (const writes of [
    [GONE, OPEN],
    [OPEN, GONE],
    [OPEN, GONE, OPEN],
  ])
    expect(() => mustStillBeOpen(writes)).toThrow(expect.objectContaining({ kind: "transient" }));
});

describe("a decision", () => {
  /**
   * Decides with a server that answers each statement. `goneIn` and `goneAt`: the trip and the write in it at which the
   * transaction is lost.
   */
  async function decide(goneIn: string | null, goneAt = 0): Promise<string[]> {
    const trips: string[] = [];
    const now = Date.now() * 1_000;
    const run = async (trip: Trip) => {
      trips.push(trip.name);
      const statements = trip.sql.split(";\n").filter((sql) => sql.trim() !== "");
      let writes = 0;
      return statements.map((sql) => {
        if (sql.includes("FROM rowlock_meta m LEFT JOIN")) return [[null, ...Array(9).fill("0")]];
        if (sql.startsWith("SELECT") && sql.includes("rules_revision")) return [[now, "7", "0", 0, 0, null]];
        if (sql.startsWith("SELECT l.id"))
          return [[...guardRow(LOCK), ...Array(1 + CLAIM_ROW_LENGTH).fill(null)]];
        if (sql.startsWith("(SELECT")) return [WAITER];
        if (sql.startsWith("SELECT")) return [];
        if (!/^(INSERT|UPDATE|DELETE)/.test(sql)) return OPEN;
        return trip.name === goneIn && writes++ === goneAt ? GONE : OPEN;
      });
    };
    const connection = {
      run,
      alive: true,
      sent: 0,
      setsPatience: true,
      serverIdentity: null,
    } as unknown as Connection;
    const clock = new DatabaseClock();
    const observer = { statement() {}, transaction() {}, connection() {} };
    let round = 0;
    await transactOn(
      connection,
      { ...NO_PLAN, locks: planned(1n), claims: [waiting(1)] },
      (loaded) => {
        round += 1;
        const [added, changed] = [[waiting(round + 1)], [waiting(1, { deadlineUs: 9 })]];
        return { ...NO_CHANGES, locks: raised(loaded), added, changed, again: round === 1 ? [1n] : [] };
      },
      { rules: new RuleCache(), cache: new LockCache(clock), clock, observer },
    );
    return trips;
  }

  test("is committed if each write found it open", async () => {
    expect(await decide(null)).toEqual(expect.arrayContaining(["save", "save_commit"]));
  });

  test.each(["save", "save_commit"])("is retryable if a write of its %s found it closed", async (trip) => {
    // The guard row, the changed claim, the added claim, and its request id.
    for (const write of [0, 1, 2, 3])
      await expect(decide(trip, write)).rejects.toMatchObject({ kind: "transient" });
  });
});

test("each write writes only while a transaction is open, on a server that can check it", () => {
  const statements: string[] = [];
  const trip = new Trip("test");
  const add = trip.add.bind(trip);
  trip.add = (sql, ...values) => {
    statements.push(sql);
    return add(sql, ...values);
  };
  const writes = new WriteChain(trip);
  writes.update(1, "UPDATE a SET b = 1 WHERE c = 1");
  writes.insert("INSERT INTO a (b, c)", [[1, 2]]);
  writes.insert("INSERT INTO a (b, c)", [
    [3, 4],
    [5, 6],
  ]);
  writes.update(2, "UPDATE a SET b = 2 WHERE c = 2");
  expect(statements).toHaveLength(4);
  for (const sql of statements) expect(sql).toMatch(/@@in_transaction/);
});
