// Contract: `checkInvariants` finds nothing in a sound database, and finds each kind of damage in a damaged one.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { LockRecord } from "../../../server/core/lock.ts";
import { RECORD } from "../../support/claims.ts";
import {
  addClaims,
  addTo,
  changeClaims,
  changeLock,
  ENDED,
  type FreshStore,
  HELD,
  lockId,
  NO_CHANGES,
  raised,
  SECOND_US,
  transact,
  type Wanted,
} from "../../support/store-fixture.ts";

const SHARED: Wanted = { ...HELD, mode: "shared" };
const EXCLUSIVE: Wanted = { ...HELD, mode: "exclusive" };
const FAILED: LockRecord = { ...RECORD, attemptsLeft: 1, status: "failed" };
const HOUR_US = 3_600 * SECOND_US;
const NAME = "a\0 'lock' 🔒";

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
      await addTo(store, "a", {});
      expect(await found()).toEqual(["error not_granted"]);
      const pauses = { pauseUsMin: 60 * SECOND_US, pauseUsMax: 60 * SECOND_US };
      await store.failOver({ seenEpoch: 0n, epochMin: 0n, ...pauses });
      expect(await found()).toEqual(["warning fail_over"]);
      const [{ message } = { message: "" }] = await store.checkInvariants(1);
      expect(message).toMatch(/for another (60|[1-5]\d) s/);
    });

    test("finds a row of a claim for several locks that is missing, or in another state", async () => {
      const { store, tamper } = fresh();
      const ids = [await lockId(store, "a"), await lockId(store, "b")];
      const members = ids.map((id, at) => ({
        ...{ lockId: id, ticketNumber: 1n, name: at === 0 ? "a" : "b", mode: "permit" as const, permits: 1 },
        fencingToken: 1n,
      }));
      for (const name of ["a", "b"]) await addTo(store, name, { ...HELD, members, fencingToken: 1n });
      expect(await found()).toEqual([]);
      await tamper("UPDATE rowlock_lock SET holder_members = NULL WHERE id = ?", ids[1] as bigint);
      expect(await found()).toEqual(["error sets"]);
    });

    test("accepts locks that are held and waited for in every way", async () => {
      const { store } = fresh();
      await limit(await lockId(store, "pool"), 5);
      await limit(await lockId(store, "paused"), 0);
      await transact(store, { rule: { prefix: "etl/", afterLockId: 0n } }, (loaded) => ({
        ...NO_CHANGES,
        locks: raised(loaded),
        rule: {
          prefix: "etl/",
          limit: 2,
          rate: null,
          queueRules: null,
          version: 1n,
          reason: "",
          changeMark: 0n,
        },
      }));
      const claims: Record<string, Wanted[]> = {
        mutex: [{ ...ENDED, fencingToken: 1n }, HELD, {}, { mode: "shared" }],
        pool: [{ ...HELD, permits: 3 }, HELD, { permits: 2 }, {}],
        readers: [SHARED, SHARED, { mode: "exclusive" }],
        writer: [{ ...EXCLUSIVE, dueInUs: null }, { mode: "shared" }],
        paused: [{}, { mode: "shared" }],
        overdue: [{ ...HELD, dueInUs: -SECOND_US }, {}],
        "etl/a": [HELD, HELD, {}],
        idle: [],
      };
      for (const [name, wanted] of Object.entries(claims)) await addTo(store, name, ...wanted);
      expect(await store.checkInvariants(100)).toEqual([]);
    });

    /** With a holder and a waiter. */
    test.for([
      ["held_permits", "held_permits = held_permits + 1", "2 and should be 1"],
      ["shared_holders", "shared_holders = shared_holders + 1", "1 and should be 0"],
      ["exclusive_holders", "exclusive_holders = exclusive_holders + 1", "1 and should be 0"],
      ["holders", "holders = 0", "0 and should be 1"],
      ["waiting", "waiting = waiting + 1", "2 and should be 1"],
      ["waiting_permits", "waiting_permits = 0", "0 and should be 1"],
    ] as const)(
      "names a counter that differs from the rows, and its right value: %s",
      async ([counter, sql, is]) => {
        const { store, tamper } = fresh();
        await addTo(store, NAME, HELD, {});
        await tamper(`UPDATE rowlock_lock SET ${sql}`);
        const [finding] = await store.checkInvariants(100);
        expect(finding).toMatchObject({ severity: "error", check: "counters" });
        expect(finding?.message).toContain(`${counter} is ${is}`);
        expect(finding?.message).toContain(JSON.stringify(NAME));
      },
    );

    const lockSet = (sql: string) => `UPDATE rowlock_lock SET ${sql}`;
    const claimSet = (sql: string) => `UPDATE rowlock_claim SET ${sql}`;
    test.for<[what: string, claims: Wanted[], damage: string[], findings: string[]]>([
      // The guard row had the holder.
      ["claims without a guard row", [HELD, {}], ["DELETE FROM rowlock_lock"], ["no_guard", "requests"]],
      ["two writers at once", [EXCLUSIVE, EXCLUSIVE], [], ["overlap"]],
      ["a writer and a reader at once", [EXCLUSIVE, SHARED], [], ["overlap"]],
      ["a permit and a writer at once", [HELD, EXCLUSIVE], [], ["overlap"]],
      ["a reader and a permit at once", [SHARED, HELD], [], ["overlap"]],
      [
        "a token that was issued twice",
        [
          { ...ENDED, fencingToken: 5n },
          { ...HELD, fencingToken: 5n },
        ],
        [],
        ["tokens"],
      ],
      ["a token of 0 at a holder", [SHARED, SHARED], [lockSet("holder_fencing_token = 0")], ["tokens"]],
      [
        "a token above the last one",
        [SHARED, SHARED],
        [lockSet("holder_fencing_token = 9")],
        ["tokens", "order"],
      ],
      ["one at a further holder", [SHARED, SHARED], [claimSet("fencing_token = 9")], ["tokens"]],
      ["a ticket number that will be issued again", [HELD, {}], [lockSet("next_ticket = 2")], ["tickets"]],
      [
        "claims that would never end",
        [HELD, {}],
        [claimSet("deadline = NULL"), lockSet("holder_deadline = NULL")],
        ["deadlines", "deadlines"],
      ],
      ["a lock without a bound of deadlines", [HELD, {}], [lockSet("next_deadline = NULL")], ["deadlines"]],
      [
        "a bound later than a deadline",
        [HELD, {}],
        [lockSet("next_deadline = next_deadline + 1")],
        ["deadlines"],
      ],
      ["a claim in two tables", [ENDED, HELD], IN_TWO_TABLES, ["placement"]],
      [
        "request ids of other claims",
        [HELD, {}, { requestId: "\0made by a server" }],
        ["UPDATE rowlock_request SET ticket_number = ticket_number + 1"],
        ["requests", "requests"],
      ],
      ["request ids without claims", [HELD, {}], WITHOUT_CLAIMS, ["requests", "requests"]],
    ])("finds %s", async ([, claims, damage, findings]) => {
      const { tamper } = fresh();
      await addTo(fresh().store, "a", ...claims);
      if (damage.length > 0) expect(await found()).toEqual([]);
      for (const sql of damage) await tamper(sql);
      expect(await found()).toEqual(findings.map((check) => `error ${check}`));
    });

    test("says what to do about a claim in two tables, and that a token at another lock is no damage", async () => {
      const { store, tamper } = fresh();
      await addTo(store, "a", { ...ENDED, fencingToken: 5n }, { ...HELD, fencingToken: 6n });
      await addTo(store, "b", { ...HELD, fencingToken: 5n });
      expect(await found()).toEqual([]);
      for (const sql of IN_TWO_TABLES) await tamper(sql);
      const [finding] = await store.checkInvariants(1);
      expect(finding?.message).toMatch(/ has more than one row\. .*: stop all servers, and restore again\.$/);
    });

    test("warns of more permits than the limit in force, which may be draining", async () => {
      const { store } = fresh();
      await addTo(store, "a", HELD, HELD);
      await limit(await lockId(store, "b"), 5);
      await addTo(store, "b", { ...HELD, permits: 5 });
      expect(await found()).toEqual(["warning over_limit"]);
      const rule = {
        prefix: "",
        limit: 1,
        rate: null,
        queueRules: null,
        version: 1n,
        reason: "",
        changeMark: 0n,
      };
      await transact(store, { rule: { prefix: "", afterLockId: 0n, rulesOnly: true } }, () => ({
        ...NO_CHANGES,
        rule,
      }));
      await addTo(store, "c", ...[HELD, HELD, HELD]);
      const messages = (await store.checkInvariants(100)).map(({ message }) => message);
      expect(messages).toEqual([
        expect.stringContaining('"a" has 2 permits held, and its limit is 1'),
        expect.stringContaining('"c" has 3 permits held, and its limit is 1'),
      ]);
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

    test("finds a waiter that was granted out of turn", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await limit(id, 2);
      const [first] = (await addClaims(store, id, {}, { ...HELD, permits: 2 })) as [Claim];
      expect(await found()).toEqual(["error order"]);
      await changeClaims(store, { ...first, state: "held", fencingToken: 2n });
      const counters = { limit: 3, waiting: 0, waitingPermits: 0, holders: 2, heldPermits: 3 };
      await changeLock(store, id, (lock) => Object.assign(lock, { lastToken: 2n, ...counters }));
      expect(await found()).toEqual(["error order"]);
    });

    test("finds a waiter that fits and was not granted, unless a deadline has just passed", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      for (const id of [a, b]) await limit(id, 5);
      const [holder] = (await addClaims(store, a, { ...HELD, permits: 3 }, { permits: 2 }, {})) as [Claim];
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
      await expect(store.view("gone", 1)).rejects.toThrow("has no record");
      await tamper("DELETE FROM rowlock_lock WHERE id = ?", ids.get("nobody's") as bigint);
      expect(await found()).toEqual(["error no_guard", "error records", "error records"]);
    });

    test.for([
      ["name", "x'62'"],
      ["due_at", "NULL"],
      ["due_at", "1"],
    ])("finds a record whose %s is %s and should not be", async ([column, value]) => {
      const { store, tamper } = fresh();
      await remember(await lockId(store, "a"), { ...FAILED, notBeforeUs: 2 });
      expect(await found()).toEqual([]);
      await tamper(`UPDATE rowlock_record SET ${column} = ${value}`);
      expect(await found()).toEqual(["error records"]);
    });

    test("finds a free lock that no search finds, and waiters with no wake-up scheduled", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      const { nowUs } = await store.claims([]);
      await addClaims(store, id, {});
      const notBeforeUs = nowUs + 3_600 * SECOND_US;
      await changeLock(store, id, (lock) =>
        Object.assign(lock, { record: { ...FAILED, notBeforeUs }, wakesAtUs: notBeforeUs }),
      );
      expect(await found()).toEqual([]);
      for (const [sql, findings] of [
        ["lock SET wakes_at = NULL", ["error wakes"]],
        ["record SET not_before = 1", ["error not_granted"]],
        ["lock SET wakes_at = 1", ["error wakes"]],
        ["lock SET next_deadline = 1", []],
      ] as const) {
        await tamper(`UPDATE rowlock_${sql}`);
        expect(await found()).toEqual(findings);
      }
    });

    test("finds waiters with no wake-up scheduled for when their rate allows a grant, and a wake-up for nobody", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, id, { dueInUs: 3 * HOUR_US });
      const rate = { permits: 1, perUs: 60 * SECOND_US, burst: 1 };
      await changeLock(store, id, (lock, nowUs) =>
        Object.assign(lock, { rate, rateUntilUs: nowUs + 60 * SECOND_US, wakesAtUs: nowUs + 60 * SECOND_US }),
      );
      expect(await found()).toEqual([]);
      const { nowUs } = await store.claims([]);
      for (const [sql, findings, message] of [
        ["wakes_at = NULL", ["error wakes"], /no wake-up scheduled for when its rate allows a grant/],
        ["rate_until = 0", ["error not_granted"], /first in the queue of lock "a" and could be granted/],
        [
          `wakes_at = ${nowUs + HOUR_US}, next_deadline = ${nowUs + 2 * HOUR_US}`,
          ["error wakes"],
          /nothing looks at it in time/,
        ],
      ] as const) {
        await tamper(`UPDATE rowlock_lock SET ${sql}`);
        expect(await found()).toEqual(findings);
        expect((await store.checkInvariants(1))[0]?.message).toMatch(message);
      }
      await tamper("DELETE FROM rowlock_claim");
      await tamper(
        "UPDATE rowlock_lock SET waiting = 0, waiting_permits = 0, next_deadline = NULL, wakes_at = 1",
      );
      expect(await found()).toContain("error wakes");
    });

    test("of live claims alone finds the same in their rows, and reads no ended ones", async () => {
      const { store, tamper } = fresh();
      await addTo(store, "a", { ...ENDED, fencingToken: 5n }, { ...HELD, fencingToken: 5n }, {});
      expect(await found()).toEqual(["error tokens"]);
      expect(await store.checkLiveClaims(100, 60_000)).toEqual([]);
      await tamper("UPDATE rowlock_lock SET waiting = waiting + 1");
      const live = await store.checkLiveClaims(100, 60_000);
      expect(live).toMatchObject([{ severity: "error", check: "counters" }]);
    });

    test("finds no more than requested", async () => {
      const { store, tamper } = fresh();
      for (const name of ["a", "b", "c"]) await addTo(store, name, HELD, HELD);
      expect((await found(2)).length).toBe(2);
      await tamper("UPDATE rowlock_lock SET holders = 7");
      for (const [max, count] of [
        [100, 6],
        [4, 4],
        [0, 0],
      ] as const)
        expect(await found(max)).toHaveLength(count);
    });
  });
}

const IN_TWO_TABLES = [
  "UPDATE rowlock_history SET ticket_number = 2",
  "DELETE FROM rowlock_request WHERE ticket_number = 1",
];
const WITHOUT_CLAIMS = [
  "DELETE FROM rowlock_claim",
  "UPDATE rowlock_lock SET holder_state = 0, waiting = 0, waiting_permits = 0, holders = 0, held_permits = 0",
];
