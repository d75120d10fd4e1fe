// Contract: what keeps the database in order between decisions. Signs of life, due claims, and clean-up, after which no
// token ever falls.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { LEVEL } from "../../../server/core/level.ts";
import type { Store } from "../../../server/storage/store.ts";
import { WITNESS_KEPT_US } from "../../../server/storage/store.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import {
  addClaims,
  BIG,
  changeLock,
  load,
  lockId,
  NO_CHANGES,
  planned,
  raised,
  readClaim,
  SECOND_US,
  TRIES_MAX,
  transact,
} from "../../support/store-fixture.ts";

const HOUR_US = 3600 * SECOND_US;

export function contractOfMaintenance(fresh: () => FreshStore): void {
  describe("a heartbeat", () => {
    test("keeps the places of the replica's waiters, and of those without a replica", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const own = await addClaims(
        store,
        id,
        { replica: BIG, dueInUs: SECOND_US * 20 },
        { dueInUs: SECOND_US * 30 },
      );
      const before = (await store.claims([])).nowUs;
      const revision = (await store.view("a", 0))?.lock.revision;
      await store.heartbeat(BIG, own, HOUR_US);
      const { nowUs, claims } = await store.claims(own);
      for (const claim of claims) {
        expect(claim.replica).toBe(BIG);
        expect(claim.deadlineUs).toBeGreaterThanOrEqual(before + HOUR_US);
        expect(claim.deadlineUs).toBeLessThanOrEqual(nowUs + HOUR_US);
      }
      expect(claims).toEqual(
        own.map((claim, i) => ({ ...claim, replica: BIG, deadlineUs: claims[i]?.deadlineUs })),
      );
      expect((await store.view("a", 0))?.lock.revision).toBe(revision);
    });

    test("never makes a place end earlier", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const [claim] = (await addClaims(store, id, { dueInUs: 2 * HOUR_US })) as [Claim];
      await store.heartbeat(1n, [claim], HOUR_US);
      expect(await readClaim(store, claim)).toEqual({ ...claim, replica: 1n });
    });

    test("keeps no place beyond the end of its wait", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const waitUntilUs = (await load(store, {})).nowUs + 60 * SECOND_US;
      const [claim] = (await addClaims(store, id, { waitUntilUs, replica: 1n, dueInUs: SECOND_US * 20 })) as [
        Claim,
      ];
      await store.heartbeat(1n, [claim], HOUR_US);
      expect((await readClaim(store, claim)).deadlineUs).toBe(waitUntilUs);
    });

    test("adopts the waiter of another replica, and an overdue one that has not ended", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const waiters = await addClaims(store, id, { replica: 2n }, { replica: 1n, dueInUs: -1 });
      const before = (await store.claims([])).nowUs;
      await store.heartbeat(1n, waiters, HOUR_US);
      for (const claim of (await store.claims(waiters)).claims) {
        expect(claim.replica).toBe(1n);
        expect(claim.deadlineUs).toBeGreaterThanOrEqual(before + HOUR_US);
      }
    });

    test("leaves out holders, ended claims and claims that it does not name", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const added = await addClaims(
        store,
        id,
        { replica: 1n, state: "held" },
        { replica: null, state: "held", dueInUs: null },
        { replica: null, state: "ended" },
        { replica: 1n },
      );
      const [left, ...named] = added.toReversed() as [Claim, ...Claim[]];
      const another = "s".repeat(22);
      const strangers = [
        { lockId: id, ticketNumber: 99n, secret: another },
        { ...left, secret: another },
      ];
      await store.heartbeat(1n, [...named, ...strangers], HOUR_US);
      expect((await store.claims(added)).claims).toEqual(added);
      await store.heartbeat(1n, [], HOUR_US);
    });

    test("of hundreds of waiters at many locks keeps them all", async () => {
      const { store } = fresh();
      const ids = [...(await store.resolve(Array.from({ length: 10 }, (_, i) => `many ${i}`))).values()];
      const waiters: Claim[] = [];
      for (const id of ids) {
        waiters.push(...(await addClaims(store, id, ...Array.from({ length: 40 }, () => ({ replica: 1n })))));
      }
      const before = (await store.claims([])).nowUs;
      await store.heartbeat(1n, waiters, HOUR_US);
      const { claims } = await store.claims(waiters);
      expect(claims.length).toBe(400);
      expect(claims.every((claim) => (claim.deadlineUs ?? 0) >= before + HOUR_US)).toBe(true);
    });
  });

  describe("the mark of a witness", () => {
    test("is written only over an expected mark, or over itself", async () => {
      const { store, tamper } = fresh();
      const write = async (...asked: Parameters<Store["mark"]>) => (await store.mark(...asked)).isDone;
      expect(await write(BIG, [BIG], 1n)).toBe(false);
      expect(await write(BIG, null, BIG)).toBe(true);
      expect(await write(BIG, [1n, BIG], 2n)).toBe(true);
      expect(await write(BIG, [1n], 2n)).toBe(true);
      expect(await write(BIG, [1n, BIG], 3n)).toBe(false);
      expect(await write(1n, [2n], 3n)).toBe(false);
      expect(await write(BIG, null, 3n)).toBe(true);
      const { nowUs } = await store.mark(BIG, [3n], 4n);
      expect(Math.abs(nowUs - (await store.claims([])).nowUs)).toBeLessThan(HOUR_US);
      // Old marks are forgotten when a new one is written.
      await tamper("UPDATE rowlock_witness SET written_at = written_at - ?", WITNESS_KEPT_US);
      expect(await write(1n, null, 1n)).toBe(true);
      expect(await write(BIG, [4n], 5n)).toBe(false);
      await store.retire(1n);
      expect(await write(1n, [1n], 2n)).toBe(false);
    });
  });

  describe("the register of replicas", () => {
    test("adds a replica, again and again, and removes it, even twice", async () => {
      const { store } = fresh();
      const replica = { id: BIG, address: "host 🖥:50051", version: "1.2.3", secret: "of the replica" };
      await store.register(replica, SECOND_US, -1n);
      await store.register({ ...replica, address: "elsewhere" }, SECOND_US, BIG);
      await store.register({ ...replica, id: 1n }, SECOND_US, -1n);
      const { nowUs, replicas } = await store.replicas(10);
      const byId = replicas.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      expect(byId).toMatchObject([
        { id: 1n, rulesRevision: -1n },
        { ...replica, address: "elsewhere", rulesRevision: BIG, level: LEVEL },
      ]);
      for (const { sinceUs, deadlineUs } of replicas) {
        expect(sinceUs).toBeLessThanOrEqual(nowUs);
        expect(deadlineUs).toBeGreaterThanOrEqual(sinceUs + SECOND_US);
      }
      expect((await store.replicas(1)).replicas).toHaveLength(1);
      await store.retire(BIG);
      await store.retire(BIG);
      expect((await store.replicas(10)).replicas).toMatchObject([{ id: 1n }]);
      await store.register(replica, SECOND_US, -1n);
    });
  });

  describe("the lowest level", () => {
    test("rises and never falls, and every decision after that knows it", async () => {
      const { store, other } = fresh();
      const id = await lockId(store, "a");
      const stores = other ? [store, other] : [store];
      const seen = async () => {
        const levels: number[] = [];
        // Each decides again about rows that it may know.
        for (const each of stores)
          await transact(each, { locks: planned(id) }, (loaded) => {
            levels.push(loaded.levelMin);
            return { ...NO_CHANGES, locks: raised(loaded) };
          });
        return new Set(levels);
      };
      for (const _ of [1, 2, 3]) expect(await seen()).toEqual(new Set([0]));
      const before = (await load(store, {})).rulesRevision;
      await store.raiseLevelMin({ level: 3, by: "1.2.3 🖥" });
      expect(await store.levelMin()).toEqual({ level: 3, by: "1.2.3 🖥" });
      expect(await seen()).toEqual(new Set([3]));
      await store.raiseLevelMin({ level: 2, by: "older" });
      await store.raiseLevelMin({ level: 3, by: "the same" });
      expect(await store.levelMin()).toEqual({ level: 3, by: "1.2.3 🖥" });
      // The revision tells servers that remember the row to read it again.
      expect((await load(store, {})).rulesRevision).toBe(before + 1n);
    });
  });

  describe("due locks", () => {
    test("are those with a live claim past its deadline, in order of id from one id on", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["late", "later", "latest", "ended", "endless", "in time", "none"]);
      const add = (name: string, ...wanted: Parameters<typeof addClaims>[2][]) =>
        addClaims(store, ids.get(name) as bigint, ...wanted);
      await add("late", { dueInUs: -HOUR_US });
      await add("latest", { state: "held", dueInUs: -3 * SECOND_US }, { dueInUs: -1 }, { dueInUs: HOUR_US });
      await add("later", { dueInUs: -1 }, { state: "held", dueInUs: -2 * SECOND_US });
      await add("ended", { state: "ended", dueInUs: -HOUR_US });
      await add("endless", { state: "held", dueInUs: null });
      await add("in time", { state: "held", dueInUs: HOUR_US }, { dueInUs: HOUR_US });
      const expected = ["late", "later", "latest"]
        .map((name) => ids.get(name) as bigint)
        .sort((x, y) => (x < y ? -1 : 1));
      const { nowUs } = await load(store, {});
      const due = await store.dueLocks(0n, 10);
      expect(due.lockIds).toEqual(expected);
      expect(due.nowUs).toBeGreaterThanOrEqual(nowUs);
      expect((await store.dueLocks(0n, 2)).lockIds).toEqual(expected.slice(0, 2));
      expect((await store.dueLocks(expected[0] as bigint, 2)).lockIds).toEqual(expected.slice(1));
      expect((await store.dueLocks(expected[2] as bigint, 2)).lockIds).toEqual([]);
    });

    test("are not those whose claims end later than the bound says, which is written anew", async () => {
      const { store, tamper } = fresh();
      const ids = await store.resolve(["free", "held", "waited for", "endless", "due"]);
      const add = (name: string, ...wanted: Parameters<typeof addClaims>[2][]) =>
        addClaims(store, ids.get(name) as bigint, ...wanted);
      await add("held", { state: "held", dueInUs: 2 * HOUR_US });
      await add("waited for", { state: "held", dueInUs: 3 * HOUR_US }, { dueInUs: HOUR_US });
      await add("endless", { state: "held", dueInUs: null });
      await add("due", { state: "held", dueInUs: -1 });
      await tamper("UPDATE rowlock_lock SET next_deadline = 1");
      expect(await store.checkInvariants(10)).toEqual([]);
      let after: bigint | null = 0n;
      const found: bigint[] = [];
      for (let steps = 0; after !== null; steps++) {
        expect(steps).toBeLessThan(5);
        const step: Awaited<ReturnType<Store["dueLocks"]>> = await store.dueLocks(after, 2);
        found.push(...step.lockIds);
        after = step.next;
      }
      expect(found).toEqual([ids.get("due")]);
      // The bounds are exact now: a microsecond more is too much.
      await tamper("UPDATE rowlock_lock SET next_deadline = next_deadline + 1");
      const wrong = await store.checkInvariants(10);
      // That of the lock that is due is left to the decision.
      expect(wrong.map(({ check }) => check)).toEqual(["deadlines", "deadlines", "deadlines"]);
    });

    test("come with the revisions of the watched locks, without missing ones", async () => {
      const { store } = fresh();
      const [a, b, c] = [await lockId(store, "a"), await lockId(store, "b"), await lockId(store, "c")];
      await addClaims(store, a, { dueInUs: -1 }, { dueInUs: -2 }, { dueInUs: HOUR_US });
      await addClaims(
        store,
        b,
        { state: "held", dueInUs: null },
        { dueInUs: HOUR_US },
        { state: "ended", dueInUs: -1 },
      );
      await addClaims(store, c, { dueInUs: -1 });
      await changeLock(store, b, (lock) => {
        lock.revision = BIG;
      });
      expect(await store.poll([b, a, a + 1000n], 0)).toMatchObject({
        revisions: new Map([
          [a, 1n],
          [b, BIG + 1n],
        ]),
        due: [a],
        dueSoon: new Map(),
      });
      await changeLock(store, a, () => {});
      expect((await store.poll([a], 0)).revisions).toEqual(new Map([[a, 2n]]));
      expect(await store.poll([], 0)).toMatchObject({ revisions: new Map(), due: [], dueSoon: new Map() });
    });

    test("include the time to the first deadline of each lock, if that is near", async () => {
      const { store } = fresh();
      const [a, b, c] = [await lockId(store, "a"), await lockId(store, "b"), await lockId(store, "c")];
      await addClaims(store, a, { dueInUs: 40 * SECOND_US }, { dueInUs: 20 * SECOND_US }, { dueInUs: null });
      await addClaims(store, b, { dueInUs: 80 * SECOND_US }, { state: "ended", dueInUs: 20 * SECOND_US });
      await addClaims(store, c, { dueInUs: 20 * SECOND_US }, { dueInUs: -1 });
      const { due, dueSoon } = await store.poll([a, b, c], 60 * SECOND_US);
      expect(due).toEqual([c]);
      expect([...dueSoon.keys()]).toEqual([a]);
      expect(dueSoon.get(a)).toBeGreaterThan(10 * SECOND_US);
      expect(dueSoon.get(a)).toBeLessThanOrEqual(20 * SECOND_US);
    });
  });

  describe("cleaning up", () => {
    test("measures the idle time of a guard row from the last decision about it", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      await load(store, { locks: planned(id) });
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(0);
    });

    test("deletes guard rows that are long idle, without claims and never limited, and no others", async () => {
      const { store, tamper } = fresh();
      const names = [
        "idle",
        "idle too",
        "held",
        "remembered",
        "limited",
        "limited once",
        "rated once",
        "new",
        "recent",
      ];
      const ids = await store.resolve(names.filter((name) => name !== "new"));
      const id = (name: string) => ids.get(name) as bigint;
      await addClaims(store, id("held"), { state: "held" });
      await addClaims(store, id("remembered"), { state: "ended" });
      await changeLock(store, id("limited"), (lock) => Object.assign(lock, { limit: 1, limitVersion: 1n }));
      await changeLock(store, id("limited once"), (lock) =>
        Object.assign(lock, { limit: null, limitVersion: 2n }),
      );
      await changeLock(store, id("rated once"), (lock) => Object.assign(lock, { limitVersion: 2n }));
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      await store.resolve(["new"]);
      const { nowUs } = await load(store, {});
      await tamper("UPDATE rowlock_lock SET decided_at = ? WHERE id = ?", nowUs - HOUR_US / 2, id("recent"));
      expect(await store.purgeLocks(HOUR_US, 1)).toBe(1);
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(1);
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(0);
      expect([...(await store.find(names)).keys()].sort()).toEqual(names.slice(2).sort());
    });

    test("keeps a guard row of whose rate something was taken that came back less than the idle time ago, or never will soon", async () => {
      const { store, tamper } = fresh();
      const ids = await store.resolve(["ahead", "just back", "long back"]);
      const { nowUs } = await load(store, {});
      for (const [name, backInUs] of [
        ["ahead", HOUR_US],
        ["just back", -HOUR_US / 2],
        ["long back", -2 * HOUR_US],
      ] as const)
        await changeLock(store, ids.get(name) as bigint, (lock) =>
          Object.assign(lock, { rateUntilUs: nowUs + backInUs }),
        );
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(1);
      expect([...(await store.find([...ids.keys()])).keys()].sort()).toEqual(["ahead", "just back"]);
    });

    test("starts a name that is used again at the highest token of all deleted rows", async () => {
      const { store, tamper } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      await changeLock(store, a, (lock) => Object.assign(lock, { lastToken: BIG }));
      await changeLock(store, b, (lock) => Object.assign(lock, { lastToken: 7n }));
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(2);
      const back = await store.resolve(["a", "b", "new"]);
      for (const [name, id] of back) {
        expect([a, b]).not.toContain(id);
        expect((await store.view(name, 0))?.lock).toMatchObject({ lastToken: BIG, nextTicket: 1n });
      }
      // The token floor never falls.
      await tamper("UPDATE rowlock_lock SET decided_at = 1, last_token = 3");
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(3);
      await store.resolve(["a"]);
      expect((await store.view("a", 0))?.lock.lastToken).toBe(BIG);
    });

    test("never lowers tokens, even while a name is deleted and used at the same time", async () => {
      const { store, other, tamper } = fresh();
      let last = 0n;
      for (let round = 0; round < 15; round++) {
        const [first] = await Promise.all([
          grant(store, "back and forth"),
          store.purgeLocks(HOUR_US, 10),
          grant(other ?? store, "another"),
        ]);
        expect(first).toBeGreaterThan(last);
        const next = await grant(other ?? store, "back and forth");
        expect(next).toBeGreaterThan(first);
        last = next;
        await tamper("UPDATE rowlock_lock SET decided_at = 1");
      }
    });

    test("makes a guard row that it deletes during a decision missing, and a retry creates it", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, id, { state: "ended", dueInUs: HOUR_US });
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(0);
      await tamper("UPDATE rowlock_history SET ended_at = 1, kept_for = 0");
      expect(await store.purgeClaims(1, 10)).toBe(1);
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(1);
      expect((await load(store, { locks: planned(id) })).locks.size).toBe(0);
      expect(await lockId(store, "a")).not.toBe(id);
    });
  });
}

/** Issues the next token of a name, with as many tries as that takes. */
async function grant(store: Store, name: string): Promise<bigint> {
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const id = await lockId(store, name);
    let token: bigint | undefined;
    await transact(store, { locks: planned(id) }, (loaded) => {
      const [lock] = raised(loaded);
      if (!lock) return NO_CHANGES;
      lock.lastToken += 1n;
      token = lock.lastToken;
      return { ...NO_CHANGES, locks: [lock] };
    });
    if (token !== undefined) return token;
  }
  throw new Error(`${name} was cleaned away ${TRIES_MAX} times while it was in use.`);
}
