// What reads beside decisions do on a node that lags, and beside transactions that hold or take rows back. What they
// return is in the contract suite.

import { describe, expect, test } from "vitest";
import { DatabaseClock } from "../../../server/core/database-clock.ts";
import type { Row } from "../../../server/storage/mysql/connection/connection.ts";
import { reads } from "../../../server/storage/mysql/reads.ts";
import { stepsOn } from "../../../server/storage/mysql/steps.ts";
import { coldReads } from "../../../server/storage/reads/reads.ts";
import { NEVER_DUE_US } from "../../../server/storage/rows/columns.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import { ScriptedPool, written } from "./scripted-pool.ts";
import { guardRow, held, LOCK } from "./transaction/lock-fixture.ts";

function scene(answer: ConstructorParameters<typeof ScriptedPool>[0] = () => undefined) {
  const scripted = new ScriptedPool(
    (sql) => answer(sql) ?? (sql.startsWith("SELECT CAST") ? [["900"]] : undefined),
  );
  return {
    scripted,
    ...reads(scripted.pool, new DatabaseClock()),
    ...coldReads(stepsOn(scripted.pool, null)),
  };
}

describe("on a node that may lag", () => {
  test("claims by request id see what other nodes of a cluster have committed, and other reads do not wait for that", async () => {
    const { scripted, claims, claimsByRequest } = scene();
    await claimsByRequest(["a"]);
    expect(scripted.sql).toHaveLength(2);
    scripted.connection.mayLag = true;
    await claims([held(4)]);
    expect(scripted.sql).toHaveLength(4);
    await claimsByRequest(["a"]);
    expect(scripted.sql.slice(4)).toEqual([
      "SET SESSION wsrep_sync_wait = 1",
      expect.stringContaining("FROM rowlock_request r "),
      "SET SESSION wsrep_sync_wait = DEFAULT",
      expect.stringMatching(/^SELECT CAST/),
    ]);
  });

  const deciding = () =>
    new ScriptedPool((sql) => (sql.endsWith("FROM rowlock_meta WHERE id = 1") ? [["1000", "5"]] : undefined));
  const from = { atUs: 70, afterLockId: 3n };

  test("recent decisions are read after it has caught up, which delays no later decision", async () => {
    const scripted = deciding();
    scripted.connection.mayLag = true;
    await coldReads(stepsOn(scripted.pool, null)).decidedSince(from, null, 2);
    const order = scripted.sql.map((sql) => sql.split(" ").slice(0, 2).join(" "));
    expect(order).toEqual([
      "SET SESSION",
      "SELECT CAST(UNIX_TIMESTAMP(NOW(6))",
      "SET SESSION",
      "(SELECT id,",
    ]);
    expect(scripted.destroyed).toEqual([]);
  });

  test("recent decisions that could not be read leave no connection that waits for it", async () => {
    for (const mayLag of [true, false]) {
      const scripted = deciding();
      scripted.connection.mayLag = mayLag;
      const failure = new Error("away");
      scripted.failures.set("decided_since", [failure]);
      await expect(coldReads(stepsOn(scripted.pool, null)).decidedSince(from, null, 2)).rejects.toBe(failure);
      expect(scripted.destroyed).toEqual(mayLag ? [failure] : []);
    }
  });
});

describe("due locks", () => {
  /** With rows of a lock and its exact bound, and locks that wake; `locked`: those that no other transaction holds. */
  const passing = (bounds: readonly Row[], woken: readonly string[] = [], locked: readonly string[] = []) =>
    scene((sql) => {
      if (sql.startsWith("SELECT l.id, CASE")) return bounds;
      if (sql.startsWith("SELECT lock_id FROM rowlock_record")) return woken.map((id) => [id]);
      return sql.startsWith("SELECT id FROM rowlock_lock") ? locked.map((id) => [id]) : undefined;
    });

  test("are no others whose bound has passed: these get their exact bounds, unless another transaction holds them", async () => {
    const { scripted, dueLocks } = passing(
      [
        ["3", null],
        ["4", "900"],
        ["5", "901"],
        ["6", `${NEVER_DUE_US}`],
      ],
      [],
      ["3", "6"],
    );
    scripted.connection.skipsLocked = true;
    expect(await dueLocks(2n, 4)).toEqual({ nowUs: 900, lockIds: [4n], next: 6n });
    expect(scripted.names).toEqual(["due_locks", "due_locks_load", "due_locks_save"]);
    expect(scripted.trips[1]?.sql).toEqual([
      "START TRANSACTION",
      "SELECT id FROM rowlock_lock WHERE id IN (3, 5, 6) ORDER BY id FOR UPDATE SKIP LOCKED",
    ]);
    expect(scripted.trips[2]?.sql).toEqual([
      expect.stringMatching(
        /^UPDATE rowlock_lock l SET l\.next_deadline = CASE .* END WHERE l\.id IN \(3, 6\)$/,
      ),
      "COMMIT",
    ]);
    expect(scripted.connection.inTransaction).toBe(false);
    expect(scripted.writes).toBe(1);
  });

  test("are found although another transaction holds all those that are not due", async () => {
    const { scripted, dueLocks } = passing([
      ["3", null],
      ["4", "1"],
    ]);
    expect((await dueLocks(2n, 9)).lockIds).toEqual([4n]);
    expect(scripted.trips[1]?.sql[1]?.endsWith("FOR UPDATE")).toBe(true);
    expect(scripted.trips.at(-1)?.sql).toEqual(["COMMIT"]);
  });

  test("are found after a second try, if the database has rolled the first one back", async () => {
    const { scripted, dueLocks } = passing([["3", null]], [], ["3"]);
    scripted.failures.set("due_locks_load", [new StoreError("transient", "deadlock", "A test's.")]);
    expect(await dueLocks(2n, 9)).toEqual({ nowUs: 900, lockIds: [], next: null });
    expect(scripted.names.slice(1)).toEqual([
      "due_locks_load",
      "rollback",
      "due_locks_load",
      "due_locks_save",
    ]);
    // A node of a cluster says only by the status of an answer that it has rolled back.
    let isOpen = false;
    const cut = scene((sql) => {
      if (sql.startsWith("SELECT l.id, CASE")) return [["3", null]];
      if (sql.startsWith("SELECT id FROM rowlock_lock")) return [["3"]];
      if (!sql.startsWith("UPDATE")) return undefined;
      const answer = isOpen ? written(1) : { ...written(1), serverStatus: 0b10 };
      isOpen = true;
      return answer;
    });
    await cut.dueLocks(2n, 9);
    expect(cut.scripted.names.filter((name) => name === "due_locks_save")).toHaveLength(2);
  });
});

test("a lock whose record is missing is damage, and not a lock without one", async () => {
  const row = guardRow({ ...LOCK, record: RECORD }).map((value) =>
    typeof value === "bigint" ? `${value}` : value,
  );
  const { views } = scene((sql) => (sql.startsWith("SELECT l.id") ? [row as unknown as Row] : undefined));
  await expect(views([1n], 1)).rejects.toThrow("has no record");
});
