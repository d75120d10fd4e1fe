// Contract: `checkInvariants` finds nothing in a sound database, and finds each kind of damage in a damaged one.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { LockRecord } from "../../../server/core/record.ts";
import { RECORD } from "../../support/claims.ts";
import type { FreshStore, Wanted } from "../../support/store-fixture.ts";
import {
  addClaims,
  changeClaims,
  changeLock,
  lockId,
  NO_CHANGES,
  raised,
  SECOND_US,
  transact,
} from "../../support/store-fixture.ts";

const HELD: Wanted = { state: "held" };
const FAILED: LockRecord = { ...RECORD, attemptsLeft: 1, status: "failed" };

export function contractOfInvariants(fresh: () => FreshStore): void {
  const found = async (max = 100) =>
    (await fresh().store.checkInvariants(max)).map(({ severity, check }) => `${severity} ${check}`);

  const limit = (id: bigint, value: number) =>
    changeLock(fresh().store, id, (lock) => Object.assign(lock, { limit: value, limitVersion: 1n }));

  const remember = (id: bigint, record: LockRecord) =>
    changeLock(fresh().store, id, (lock) => Object.assign(lock, { record }));

  describe("the check of all rows", () => {
    test("reports that grants are paused after a fail-over, and then takes no waiter for forgotten", async () => {
      const { store } = fresh();
      await addClaims(store, await lockId(store, "a"), {});
      expect(await found()).toEqual(["error not_granted"]);
      await store.failOver({
        seenEpoch: 0n,
        epochMin: 0n,
        pauseUsMin: 60 * SECOND_US,
        pauseUsMax: 60 * SECOND_US,
      });
      expect(await found()).toEqual(["warning fail_over"]);
    });

    test("accepts locks that are held and waited for in every way", async () => {
      const { store } = fresh();
      const ids = await store.resolve([
        "mutex",
        "pool",
        "readers",
        "writer",
        "paused",
        "overdue",
        "etl/a",
        "idle",
      ]);
      const id = (name: string) => ids.get(name) as bigint;
      await limit(id("pool"), 5);
      await limit(id("paused"), 0);
      await transact(store, { rule: { prefix: "etl/", afterLockId: 0n } }, (loaded) => ({
        ...NO_CHANGES,
        locks: raised(loaded),
        rule: { prefix: "etl/", limit: 2, version: 1n, reason: "", changeMark: 0n },
      }));
      await addClaims(store, id("mutex"), { state: "ended", fencingToken: 1n }, HELD, {}, { mode: "shared" });
      await addClaims(store, id("pool"), { ...HELD, permits: 3 }, HELD, { permits: 2 }, {});
      await addClaims(
        store,
        id("readers"),
        { ...HELD, mode: "shared" },
        { ...HELD, mode: "shared" },
        { mode: "exclusive" },
      );
      await addClaims(store, id("writer"), { ...HELD, mode: "exclusive", dueInUs: null }, { mode: "shared" });
      await addClaims(store, id("paused"), {}, { mode: "shared" });
      await addClaims(store, id("overdue"), { dueInUs: -SECOND_US }, {});
      await addClaims(store, id("etl/a"), HELD, HELD, {});
      expect(await store.checkInvariants(100)).toEqual([]);
    });

    test.for([
      ["held_permits", "UPDATE rowlock_lock SET held_permits = held_permits + 1"],
      ["shared_holders", "UPDATE rowlock_lock SET shared_holders = shared_holders + 1"],
      ["exclusive_holders", "UPDATE rowlock_lock SET exclusive_holders = exclusive_holders + 1"],
      ["holders", "UPDATE rowlock_lock SET holders = 0"],
      ["waiting", "UPDATE rowlock_lock SET waiting = waiting + 1"],
      ["waiting_permits", "UPDATE rowlock_lock SET waiting_permits = 0"],
    ] as const)("finds a counter that differs from the rows: %s", async ([counter, sql]) => {
      const { store, tamper } = fresh();
      await addClaims(store, await lockId(store, "a\0 'lock' 🔒"), HELD, {});
      await tamper(sql);
      const [finding] = await store.checkInvariants(100);
      expect(finding).toMatchObject({ severity: "error", check: "counters" });
      expect(finding?.message).toContain(`${counter} is`);
      expect(finding?.message).toContain(JSON.stringify("a\0 'lock' 🔒"));
    });

    test("finds claims without a guard row", async () => {
      const { store, tamper } = fresh();
      await addClaims(store, await lockId(store, "a"), HELD, {});
      await tamper("DELETE FROM rowlock_lock");
      // The guard row had the holder.
      expect(await found()).toEqual(["error no_guard", "error requests"]);
    });

    test.for<[string, Wanted, Wanted]>([
      ["two writers", { mode: "exclusive" }, { mode: "exclusive" }],
      ["a writer and a reader", { mode: "exclusive" }, { mode: "shared" }],
      ["a permit and a writer", {}, { mode: "exclusive" }],
      ["a reader and a permit", { mode: "shared" }, {}],
    ])("finds %s that hold one lock together", async ([, first, second]) => {
      const { store } = fresh();
      await addClaims(store, await lockId(store, "a"), { ...HELD, ...first }, { ...HELD, ...second });
      expect(await found()).toEqual(["error overlap"]);
    });

    test("warns of more permits than the limit, which may be draining", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      await addClaims(store, a, HELD, HELD);
      await limit(b, 5);
      await addClaims(store, b, { ...HELD, permits: 5 });
      expect(await found()).toEqual(["warning over_limit"]);
    });

    test("finds a token that was issued twice", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, id, { state: "ended", fencingToken: 5n }, { ...HELD, fencingToken: 5n });
      await addClaims(store, await lockId(store, "b"), { ...HELD, fencingToken: 5n });
      expect(await found()).toEqual(["error tokens"]);
    });

    test.for<[string, string]>([
      ["above the one given last", "UPDATE rowlock_lock SET holder_fencing_token = 9"],
      ["of 0 at a holder", "UPDATE rowlock_lock SET holder_fencing_token = 0"],
      ["above the one given last, at a further holder", "UPDATE rowlock_claim SET fencing_token = 9"],
    ])("finds a token %s", async ([, sql]) => {
      const { store, tamper } = fresh();
      await addClaims(
        store,
        await lockId(store, "a"),
        { ...HELD, mode: "shared" },
        { ...HELD, mode: "shared" },
      );
      await tamper(sql);
      expect(await found()).toContain("error tokens");
    });

    test("finds a ticket number that will be issued again", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, id, HELD, {});
      await changeLock(store, id, (lock) => {
        lock.nextTicket = 2n;
      });
      expect(await found()).toEqual(["error tickets"]);
    });

    test("finds a claim that would never end", async () => {
      const { store, tamper } = fresh();
      await addClaims(store, await lockId(store, "a"), HELD, {});
      await tamper("UPDATE rowlock_claim SET deadline = NULL");
      await tamper("UPDATE rowlock_lock SET holder_deadline = NULL");
      expect(await found()).toEqual(["error deadlines", "error deadlines"]);
    });

    test.for([
      ["is missing", "next_deadline = NULL"],
      ["is later than a deadline", "next_deadline = next_deadline + 1"],
    ])("finds a lock whose bound of deadlines %s", async ([, wrong]) => {
      const { store, tamper } = fresh();
      await addClaims(store, await lockId(store, "a"), HELD, {});
      expect(await found()).toEqual([]);
      await tamper(`UPDATE rowlock_lock SET ${wrong}`);
      expect(await found()).toEqual(["error deadlines"]);
    });

    test.for([
      ["a waiter at the place of holders", "0 WHERE state = 1"],
      ["a holder in the queue", "ticket_number WHERE state = 2"],
      ["a waiter where its number does not lead", "place + 1 WHERE state = 1", "error requests"],
    ])("finds %s", async ([, wrong, ...others]) => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      await limit(id, 2);
      await addClaims(store, id, HELD, HELD, { permits: 2 });
      expect(await found()).toEqual([]);
      await tamper(`UPDATE rowlock_claim SET place = ${wrong}`);
      expect(await found()).toEqual(["error places", ...others]);
    });

    test("finds a claim in two tables", async () => {
      const { store, tamper } = fresh();
      await addClaims(store, await lockId(store, "a"), { state: "ended" }, HELD);
      await tamper("UPDATE rowlock_history SET ticket_number = 2");
      await tamper("DELETE FROM rowlock_request WHERE ticket_number = 1");
      expect(await found()).toEqual(["error placement"]);
      const [finding] = await store.checkInvariants(1);
      expect(finding?.message).toMatch(/ has more than one row\. .*: stop all servers, and restore again\.$/);
    });

    test("finds request ids without their claims, and claims without their request ids", async () => {
      const { store, tamper } = fresh();
      await addClaims(store, await lockId(store, "a"), HELD, {}, { requestId: "\0made by a server" });
      expect(await found()).toEqual([]);
      await tamper("UPDATE rowlock_request SET ticket_number = ticket_number + 1");
      expect(await found()).toEqual(["error requests", "error requests"]);
      await tamper("DELETE FROM rowlock_claim");
      await tamper(
        "UPDATE rowlock_lock SET holder_state = 0, waiting = 0, waiting_permits = 0, holders = 0, held_permits = 0",
      );
      expect(await found()).toEqual(["error requests", "error requests"]);
    });

    test("finds a waiter that was granted out of turn", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await limit(id, 2);
      const [first] = (await addClaims(store, id, {}, { ...HELD, permits: 2 })) as [Claim];
      expect(await found()).toEqual(["error order"]);
      await changeClaims(store, { ...first, state: "held", fencingToken: 2n });
      await changeLock(store, id, (lock) =>
        Object.assign(lock, {
          lastToken: 2n,
          limit: 3,
          waiting: 0,
          waitingPermits: 0,
          holders: 2,
          heldPermits: 3,
        }),
      );
      expect(await found()).toEqual(["error order"]);
    });

    test("finds a waiter that fits and was not granted, unless a deadline has just passed", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      await limit(a, 5);
      const [holder] = (await addClaims(store, a, { ...HELD, permits: 3 }, { permits: 2 }, {})) as [Claim];
      await limit(b, 5);
      await addClaims(store, b, { ...HELD, permits: 3 }, { permits: 3 }, {});
      expect(await found()).toEqual(["error not_granted"]);
      await changeClaims(store, { ...holder, deadlineUs: 1 });
      expect(await found()).toEqual([]);
    });

    test("finds records that the lock does not know, that are missing, and that belong to no lock", async () => {
      const { store, tamper } = fresh();
      const ids = await store.resolve(["unknown", "gone", "nobody's"]);
      for (const id of ids.values()) await remember(id, FAILED);
      expect(await found()).toEqual([]);
      await tamper("UPDATE rowlock_lock SET has_record = 0 WHERE id = ?", ids.get("unknown") as bigint);
      expect(await found()).toEqual(["error records"]);
      await tamper("DELETE FROM rowlock_record WHERE lock_id = ?", ids.get("gone") as bigint);
      expect(await found()).toEqual(["error records", "error records"]);
      await tamper("DELETE FROM rowlock_lock WHERE id = ?", ids.get("nobody's") as bigint);
      expect(await found()).toEqual(["error no_guard", "error records", "error records"]);
    });

    test.for([
      ["name", "'b'"],
      ["due_at", "NULL"],
      ["due_at", "1"],
      ["wakes_at", "not_before"],
    ])("finds a record whose %s is %s and should not be", async ([column, value]) => {
      const { store, tamper } = fresh();
      await remember(await lockId(store, "a"), { ...FAILED, notBeforeUs: 2 });
      expect(await found()).toEqual([]);
      await tamper(`UPDATE rowlock_record SET ${column} = ${column === "name" ? "x'62'" : value}`);
      expect(await found()).toEqual(["error records"]);
    });

    test("finds a free lock that no search finds, and waiters with no wake-up scheduled", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      const { nowUs } = await store.claims([]);
      await addClaims(store, id, {});
      const notBeforeUs = nowUs + 3_600 * SECOND_US;
      await remember(id, { ...FAILED, notBeforeUs, wakesAtUs: notBeforeUs });
      expect(await found()).toEqual([]);
      await tamper("UPDATE rowlock_record SET wakes_at = NULL");
      expect(await found()).toEqual(["error records"]);
      await tamper("UPDATE rowlock_record SET not_before = 1");
      expect(await found()).toEqual(["error not_granted"]);
      await tamper("UPDATE rowlock_record SET wakes_at = 1");
      expect(await found()).toEqual([]);
    });

    test("of live claims alone finds the same in their rows, and reads no ended ones", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, id, { state: "ended", fencingToken: 5n }, { ...HELD, fencingToken: 5n }, {});
      expect(await found()).toEqual(["error tokens"]);
      expect(await store.checkLiveClaims(100, 60_000)).toEqual([]);
      await tamper("UPDATE rowlock_lock SET waiting = waiting + 1");
      expect(await store.checkLiveClaims(100, 60_000)).toMatchObject([
        { severity: "error", check: "counters" },
      ]);
    });

    test("finds no more than requested", async () => {
      const { store, tamper } = fresh();
      for (const name of ["a", "b", "c"]) await addClaims(store, await lockId(store, name), HELD, HELD);
      expect((await found(2)).length).toBe(2);
      await tamper("UPDATE rowlock_lock SET holders = 7");
      expect((await found()).length).toBe(6);
      expect((await found(4)).length).toBe(4);
      expect(await found(0)).toEqual([]);
    });
  });
}
