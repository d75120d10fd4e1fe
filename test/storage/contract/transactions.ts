// Contract: what a transaction reads, that it is all or nothing, and that two transactions on one lock run one after
// the other.

import { describe, expect, test } from "vitest";
import { DUE_MAX, QUEUE_HEAD_MAX } from "../../../server/core/bounds.ts";
import type { Claim } from "../../../server/core/claim.ts";
import { countWaiter } from "../../../server/core/lock.ts";
import { requestKeyOf } from "../../../server/storage/rows/values.ts";
import { UPDATE_ROWS_MAX } from "../../../server/storage/storage-bounds.ts";
import { type Loaded, StoreError } from "../../../server/storage/store.ts";
import {
  addClaims,
  addClaimsTo,
  changeClaims,
  changeLock,
  type FreshStore,
  load,
  lockId,
  NO_CHANGES,
  planned,
  raised,
  readClaim,
  SECOND_US,
  transact,
} from "../../support/store-fixture.ts";

const keysOf = (claims: readonly Claim[]) => claims.map((claim) => claim.ticketNumber);
const sorted = (claims: readonly Claim[]) => [...claims].sort((a, b) => (a.requestId < b.requestId ? -1 : 1));

export function contractOfTransactions(fresh: () => FreshStore): void {
  describe("a transaction reads", () => {
    test("a clock that never goes back and counts microseconds", async () => {
      const { store } = fresh();
      const first = await load(store, {});
      const second = await load(store, {});
      expect(first.nowUs).toBeGreaterThan(Date.UTC(2020) * 1000);
      expect(first.nowUs).toBeLessThan(Date.UTC(2255) * 1000);
      expect(Number.isSafeInteger(first.nowUs)).toBe(true);
      expect(second.nowUs).toBeGreaterThanOrEqual(first.nowUs);
    });

    test("guard rows by id, in ascending order, without missing ones", async () => {
      const { store } = fresh();
      const ids = [...(await store.resolve(["a", "b", "c"])).values()].sort((a, b) => (a < b ? -1 : 1));
      const gone = (ids.at(-1) as bigint) + 1000n;
      const { locks } = await load(store, { locks: planned(...ids, gone) });
      expect([...locks.keys()]).toEqual(ids);
      expect((await load(store, { locks: planned(gone) })).locks.size).toBe(0);
      expect((await load(store, {})).locks.size).toBe(0);
    });

    test("no claim by the key of its request id alone, but that this id is taken", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      const [claim] = (await addClaims(store, id, { requestId: "mine" })) as [Claim];
      const plan = { locks: planned(id), requestIds: ["mine", "theirs"] };
      for (const wanted of [plan, { ...plan, locks: planned(await lockId(store, "b")) }]) {
        await tamper("UPDATE rowlock_request SET request_key = ?", requestKeyOf("mine"));
        const right = await load(store, wanted);
        expect([keysOf(right.claims), right.takenRequestIds]).toEqual([[claim.ticketNumber], undefined]);
        await tamper("UPDATE rowlock_request SET request_key = ?", requestKeyOf("theirs"));
        const { claims, takenRequestIds } = await load(store, { ...wanted, requestIds: ["theirs"] });
        expect([claims, takenRequestIds]).toEqual([[], new Set(["theirs"])]);
      }
      expect((await store.claimsByRequest(["theirs"])).claims).toEqual([]);
    });

    test("a claim once whose request id comes again for another lock that it decides about, too", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      const [claim] = (await addClaims(store, a, { requestId: "mine" })) as [Claim];
      await addClaims(store, b, { state: "ended" });
      const plan = {
        locks: planned(a, b).map((lock) => ({ ...lock, byRequest: lock.id === b })),
        claims: [claim],
        requestIds: ["mine"],
      };
      // From the database, and then from memory.
      for (const _again of [1, 2])
        expect(keysOf((await load(store, plan)).claims)).toEqual([claim.ticketNumber]);
    });

    test("claims by key and by request id, at whatever lock, without missing ones", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      const [first] = (await addClaims(store, a, { state: "ended" })) as [Claim];
      const [second] = (await addClaims(store, b, { requestId: "Mine" })) as [Claim];
      const { claims } = await load(store, {
        locks: planned(a),
        claims: [first, { lockId: a, ticketNumber: 77n }, { lockId: 1n, ticketNumber: 1n }],
        requestIds: ["Mine", "mine", "Mine ", "theirs"],
      });
      expect(sorted(claims)).toEqual(sorted([first, second]));
    });

    test("each claim once, if it is requested in several ways and is due", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const [claim] = (await addClaims(store, id, { state: "held", dueInUs: -1 })) as [Claim];
      const { claims } = await load(store, {
        locks: planned(id),
        claims: [claim, claim],
        requestIds: [claim.requestId, claim.requestId],
        holdersOf: [id],
      });
      expect(claims).toEqual([claim]);
    });

    test("what is due of the planned locks, and nothing due of others", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      const added = await addClaims(
        store,
        a,
        { state: "held", dueInUs: -1 },
        { state: "held", dueInUs: null },
        { state: "held", dueInUs: SECOND_US * 3600 },
        { state: "waiting", dueInUs: 0 },
        { state: "waiting", dueInUs: SECOND_US * 3600 },
        { state: "ended", dueInUs: -1 },
      );
      await addClaims(store, b, { state: "held", dueInUs: -SECOND_US });
      const { claims } = await load(store, { locks: planned(a) });
      expect(claims).toEqual(expect.arrayContaining([added[0], added[3]]));
      expect(added).toEqual(expect.arrayContaining([...claims]));
      expect((await load(store, { locks: [] })).claims).toEqual([]);
    });

    test("no more of what is due than the bound", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, id, ...Array.from({ length: DUE_MAX + 20 }, () => ({ dueInUs: -1 })));
      const { claims } = await load(store, { locks: [{ id, heads: 1, likelyQueue: false }] });
      expect(claims.length).toBe(DUE_MAX);
      expect(new Set(keysOf(claims)).size).toBe(DUE_MAX);
    });

    test("the holder of a lock that has no other, without a request, also when it is known", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const added = await addClaims(store, id, { state: "held", dueInUs: SECOND_US * 3600 });
      for (let reads = 0; reads < 3; reads++)
        expect((await load(store, { locks: planned(id) })).claims).toEqual(added);
    });

    test("all holders of a lock on request, oldest first, and no waiters", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      const held = Array.from({ length: 12 }, () => ({ state: "held" as const }));
      const holders = await addClaims(store, a, ...held);
      await addClaims(store, a, { state: "ended" }, { state: "waiting" });
      await addClaims(store, b, ...held);
      // Also when the store knows them.
      for (let reads = 0; reads < 4; reads++) {
        const { claims } = await load(store, { locks: planned(a, b), holdersOf: [a] });
        expect(claims.filter((claim) => claim.lockId === a)).toEqual(holders);
      }
    });

    test.for([true, false])(
      "the heads of queues in order, whether a queue was likely (%s) or not",
      async (likelyQueue) => {
        const { store } = fresh();
        const ids = await store.resolve(["a", "b", "idle"]);
        const [a, b, idle] = [...ids.values()] as [bigint, bigint, bigint];
        const waiters = await addClaims(
          store,
          a,
          { state: "held" },
          ...Array.from({ length: 12 }, () => ({})),
        );
        const queue = waiters.slice(1);
        const [only] = await addClaims(store, b, { state: "ended" }, { state: "held" }, {}).then((c) =>
          c.slice(-1),
        );
        const planOf = (heads: number) =>
          [a, b, idle].sort((x, y) => (x < y ? -1 : 1)).map((id) => ({ id, heads, likelyQueue }));
        for (const heads of [1, 11, 12, 13, QUEUE_HEAD_MAX]) {
          const { queues } = await load(store, { locks: planOf(heads) });
          const { head, complete } = queues.get(a) ?? { head: [], complete: false };
          expect(head.length).toBeGreaterThanOrEqual(Math.min(heads, 12));
          expect(head).toEqual(queue.slice(0, head.length));
          expect(complete).toBe(heads >= 12 || head.length === 12);
          expect(queues.get(b)).toEqual({ head: [only], complete: true });
          expect(queues.get(idle)?.head ?? []).toEqual([]);
          expect(queues.get(idle)?.complete ?? true).toBe(true);
        }
      },
    );

    test("tickets in the order of their numbers, not of their digits", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const numbers = [2n ** 53n + 2n, 9n, 10n, 2n ** 53n + 1n, 100n, 1n];
      await addClaims(store, id, ...numbers.map((ticketNumber) => ({ ticketNumber })));
      const { queues } = await load(store, { locks: [{ id, heads: 10, likelyQueue: true }] });
      const inOrder = [1n, 9n, 10n, 100n, 2n ** 53n + 1n, 2n ** 53n + 2n];
      expect(keysOf(queues.get(id)?.head ?? [])).toEqual(inOrder);
      expect((await store.queue(id)).places.map((place) => place.ticketNumber)).toEqual(inOrder);
    });
  });

  describe("a decision with several rounds", () => {
    test("gets the unfinished locks again in the same transaction, as just written, with a full head", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      await addClaims(store, a, ...Array.from({ length: 10 }, () => ({})));
      await addClaims(store, b, {});
      const rounds: Loaded[] = [];
      await transact(store, { locks: planned(a, b), claims: [{ lockId: b, ticketNumber: 1n }] }, (loaded) => {
        rounds.push(structuredClone(loaded));
        const lock = loaded.locks.get(a);
        const head = loaded.queues.get(a)?.head[0];
        if (!lock || !head) throw new Error("The lock or its queue was not read.");
        head.state = "ended";
        countWaiter(lock, head, -1);
        return { ...NO_CHANGES, locks: raised(loaded), changed: [head], again: rounds.length < 3 ? [a] : [] };
      });
      expect(rounds.map((round) => [...round.locks.keys()])).toEqual([[a, b], [a], [a]]);
      expect(rounds.map((round) => round.locks.get(a)?.waiting)).toEqual([10, 9, 8]);
      expect(rounds.slice(1).map((round) => round.queues.get(a)?.head.length)).toEqual([9, 8]);
      expect(rounds.slice(1).map((round) => round.queues.get(a)?.complete)).toEqual([true, true]);
      expect(rounds.map((round) => round.queues.get(a)?.head[0]?.ticketNumber)).toEqual([1n, 2n, 3n]);
      expect((await store.queue(a)).places.length).toBe(7);
      expect((await store.view("a", 0))?.lock.waiting).toBe(7);
    });

    test("leaves nothing behind if a later round fails", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const before = await changeLock(store, id, () => {});
      const bug = new Error("a bug in the second round");
      let round = 0;
      const transaction = store.transact(planFor(id), (loaded) => {
        round += 1;
        if (round === 2) throw bug;
        return { ...NO_CHANGES, locks: raised(loaded), again: [id] };
      });
      await expect(transaction).rejects.toBe(bug);
      expect((await store.view("a", 0))?.lock).toEqual(before);
    });
  });

  describe("all or nothing", () => {
    test("an error in decide is thrown on, and nothing is written", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const [claim] = (await addClaims(store, id, {})) as [Claim];
      const bug = new Error("a bug");
      const transaction = store.transact(planFor(id), () => {
        throw bug;
      });
      await expect(transaction).rejects.toBe(bug);
      expect(await readClaim(store, claim)).toEqual(claim);
      // The store still works, on whichever connection the failed transaction used.
      await Promise.all(Array.from({ length: 8 }, () => load(store, { locks: planned(id) })));
    });

    test("a request id belongs to one claim of any lock: a second use fails and is retryable", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      await addClaims(store, a, { requestId: "mine" });
      const before = (await store.view("b", 0))?.lock;
      await expect(addClaims(store, b, {}, { requestId: "mine" })).rejects.toMatchObject({
        name: "StoreError",
        kind: "transient",
        reason: "duplicate_request",
      });
      expect((await store.queue(b)).places).toEqual([]);
      expect((await store.view("b", 0))?.lock).toEqual(before);
      await addClaims(store, b, { requestId: "Mine" }, { requestId: "mine " });
    });

    test("a ticket number that is issued twice is refused, and changes nothing", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, id, { ticketNumber: 1n });
      const second = store.transact(
        { ...planFor(id), claims: [{ lockId: id, ticketNumber: 1n }] },
        (loaded) => ({
          ...NO_CHANGES,
          locks: raised(loaded),
          added: loaded.claims.map((claim) => ({ ...claim, requestId: "another" })),
        }),
      );
      // This is a bug, not a transient failure that would be retried.
      await expect(second).rejects.not.toBeInstanceOf(StoreError);
      expect((await store.queue(id)).places.length).toBe(1);
    });

    test("a claim is written only if its secret is still there, and all others with it or none", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      const [first] = (await addClaims(store, a, {})) as [Claim];
      const [second, third] = (await addClaims(store, b, { state: "held" }, {})) as [Claim, Claim];
      const before = (await store.view("b", 0))?.lock;
      const later = [first, second, third].map((claim) => ({
        ...claim,
        deadlineUs: Number(claim.deadlineUs) + 1,
      }));
      // The second one is in its guard row, which the transaction has read and locked.
      for (const strange of [later[0], later[2]]) {
        const written = later.map((claim) =>
          claim === strange ? { ...claim, secret: "s".repeat(22) } : claim,
        );
        const ids = a < b ? [a, b] : [b, a];
        const transaction = store.transact({ ...planFor(a), locks: planned(...ids) }, (loaded) => ({
          ...NO_CHANGES,
          locks: raised(loaded),
          changed: written,
        }));
        await expect(transaction).rejects.toThrow();
      }
      expect((await store.claims([first, second, third])).claims).toEqual([first, second, third]);
      expect((await store.view("b", 0))?.lock).toEqual(before);
      // Writes some of them unchanged and one changed.
      await changeClaims(store, first, { ...second, deadlineUs: 7 }, third);
      expect((await readClaim(store, second)).deadlineUs).toBe(7);
    });

    test("more claims of more locks than one statement takes are written and read at once", async () => {
      const { store } = fresh();
      const names = Array.from({ length: UPDATE_ROWS_MAX + 1 }, (_, i) => `lock ${i}`);
      const ids = [...(await store.resolve(names)).values()].sort((x, y) => (x < y ? -1 : 1));
      const added = await addClaimsTo(store, ids, { state: "held" }, {}, {}, { state: "ended" });
      expect(added.length).toBe(4 * names.length);
      const { claims } = await store.claims(added);
      expect(sorted(claims)).toEqual(sorted(added));
      const views = await store.views(ids, 5);
      expect(views.map(({ lock }) => lock.id)).toEqual(ids);
      for (const { holders, waiters } of views) expect([holders.length, waiters.length]).toEqual([1, 2]);
      const { queues } = await load(store, { locks: ids.map((id) => ({ id, heads: 1, likelyQueue: true })) });
      expect(ids.map((id) => queues.get(id)?.head[0]?.ticketNumber)).toEqual(ids.map(() => 2n));
    });
  });

  describe("two transactions on one lock", () => {
    test("come one after the other: no ticket is issued twice", async () => {
      const { store, other } = fresh();
      const id = await lockId(store, "a");
      const given: bigint[] = [];
      const take = (from: typeof store) => {
        let mine = 0n;
        return transact(from, { locks: planned(id) }, (loaded) => {
          const [lock] = raised(loaded);
          if (!lock) throw new Error("The lock was not read.");
          mine = lock.nextTicket;
          lock.nextTicket += 1n;
          return { ...NO_CHANGES, locks: [lock] };
        }).then(() => given.push(mine));
      };
      await Promise.all(Array.from({ length: 60 }, (_, i) => take(other && i % 2 ? other : store)));
      expect(new Set(given).size).toBe(60);
      expect((await store.view("a", 0))?.lock).toMatchObject({ nextTicket: 61n, revision: 60n });
    });

    test("that share some of their locks all succeed", async () => {
      const { store, other } = fresh();
      const ids = [...(await store.resolve(["a", "b", "c", "d"])).values()].sort((x, y) => (x < y ? -1 : 1));
      const pairs = ids.flatMap((x, i) => ids.slice(i + 1).map((y) => [x, y] as const));
      const rounds = Array.from({ length: 6 }, () => pairs).flat();
      await Promise.all(
        rounds.map(([x, y], i) => addClaimsTo(other && i % 2 ? other : store, [x, y], { state: "held" }, {})),
      );
      for (const name of ["a", "b", "c", "d"]) {
        expect((await store.view(name, 0))?.lock).toMatchObject({
          revision: 18n,
          nextTicket: 37n,
          holders: 18,
        });
      }
    });
  });
}

function planFor(id: bigint) {
  return { locks: planned(id), claims: [], requestIds: [], holdersOf: [] };
}
