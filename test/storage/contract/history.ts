// Ended claims: reads of one lock and of all, in pages that neither lose nor repeat a claim, and cleaning by the time for
// which each claim is kept.

import { describe, expect, test } from "vitest";
import { type Claim, inOrder, keyText } from "../../../server/core/claim.ts";
import type { EndedClaim, EndedPosition, Store } from "../../../server/storage/store.ts";
import {
  addClaims,
  addClaimsTo,
  changeClaims,
  type FreshStore,
  load,
  lockId,
  SECOND_US,
  type Wanted,
} from "../../support/store-fixture.ts";

const HOUR_US = 3_600 * SECOND_US;
/** The times for which claims are kept. */
const CLASSES_US = [HOUR_US, 30 * SECOND_US, 24 * HOUR_US];

/** A claim that ended at this time, and is kept for this long. */
function ended(endedAtUs: number, keptForUs: number): Wanted {
  return { state: "ended", endedAtUs, deadlineUs: endedAtUs + keptForUs };
}

/** Adds claims of two locks that ended one after the other, some of them at one instant, in all classes. */
async function addMany(store: Store, count: number, firstUs?: number): Promise<EndedClaim[]> {
  const fromUs = firstUs ?? (await load(store, {})).nowUs - HOUR_US;
  const ids = [await lockId(store, "a"), await lockId(store, "b")];
  const wanted = Array.from({ length: count }, (_, index) =>
    // Three in a row end at one instant.
    ended(fromUs + Math.floor(index / 3) * 1_000, 2 * HOUR_US + (CLASSES_US[index % 3] as number)),
  );
  const claims = await addClaimsTo(store, ids, ...wanted);
  return claims.map((claim) => ({ claim, lockName: claim.lockId === ids[0] ? "a" : "b" })).sort(newestFirst);
}

function newestFirst({ claim: a }: EndedClaim, { claim: b }: EndedClaim): number {
  const [atA, atB] = [a.endedAtUs as number, b.endedAtUs as number];
  if (atA !== atB) return atB - atA;
  if (a.lockId !== b.lockId) return a.lockId < b.lockId ? 1 : -1;
  return a.ticketNumber < b.ticketNumber ? 1 : -1;
}

const positionOf = ({ claim }: EndedClaim): EndedPosition => ({
  endedAtUs: claim.endedAtUs as number,
  lockId: claim.lockId,
  ticketNumber: claim.ticketNumber,
});

const numbersOf = (claims: readonly Claim[]) => claims.map(({ ticketNumber }) => Number(ticketNumber));

export function contractOfHistory(fresh: () => FreshStore): void {
  describe("ended claims", () => {
    test("of one lock are read newest first, from any of them on, with every field", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await addClaims(store, await lockId(store, "another"), { state: "ended" }, { state: "ended" });
      const all = await addClaims(
        store,
        id,
        ...Array.from(
          { length: 5 },
          (_, index): Wanted => ({
            ...{ state: index === 2 ? "held" : "ended", dueInUs: (index + 1) * HOUR_US },
            ...{ owner: `owner ${index}`, endNote: "why", endedBy: "who", replica: 7n },
          }),
        ),
      );
      const past = all.filter(({ state }) => state === "ended").reverse();
      expect(await store.endedClaimsOf(id, null, 10)).toEqual(past);
      expect(numbersOf(await store.endedClaimsOf(id, null, 2))).toEqual([5, 4]);
      expect(numbersOf(await store.endedClaimsOf(id, 4n, 10))).toEqual([2, 1]);
      expect(await store.endedClaimsOf(id, 1n, 10)).toEqual([]);
      expect(await store.endedClaimsOf(id + 1000n, null, 10)).toEqual([]);
    });

    test("of all locks are read newest first, however long each is kept, and no page loses or repeats one", async () => {
      const { store } = fresh();
      expect(await store.endedClaims(null, 10)).toEqual([]);
      const all = await addMany(store, 20);
      expect(await store.endedClaims(null, 100)).toEqual(all);
      for (const size of [1, 2, 3, 7]) {
        const read: EndedClaim[] = [];
        for (let from: EndedPosition | null = null; ; ) {
          const page: EndedClaim[] = await store.endedClaims(from, size);
          read.push(...page);
          const last = page.at(-1);
          if (!last || page.length < size) break;
          from = positionOf(last);
        }
        expect(read.map(({ claim }) => keyText(claim))).toEqual(all.map(({ claim }) => keyText(claim)));
      }
    });

    test("of all locks are read from a time on", async () => {
      const { store } = fresh();
      const all = await addMany(store, 12);
      const untilUs = all[9]?.claim.endedAtUs as number;
      const before = await store.endedClaims({ endedAtUs: untilUs, lockId: 0n, ticketNumber: 0n }, 100);
      expect(before).toEqual(all.filter(({ claim }) => (claim.endedAtUs as number) < untilUs));
      expect(before.length).toBeGreaterThan(0);
    });

    test("are left out where live claims are read", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const claims = await addClaims(
        store,
        id,
        ...[{ state: "ended" }, { state: "held" }, { state: "held" }, {}, {}].map(
          (wanted) => wanted as Wanted,
        ),
      );
      expect(await store.liveClaimsOf(id, 0n, 10)).toEqual(claims.slice(1));
      expect(numbersOf(await store.liveClaimsOf(id, 0n, 2))).toEqual([2, 3]);
      expect(numbersOf(await store.liveClaimsOf(id, 2n, 2))).toEqual([3, 4]);
      expect(await store.liveClaimsOf(id, 5n, 2)).toEqual([]);
      const [, first] = claims as [Claim, Claim];
      await changeClaims(store, { ...first, state: "ended", endedAtUs: 1, endReason: "released" });
      expect(numbersOf(await store.liveClaimsOf(id, 0n, 10))).toEqual([3, 4, 5]);
    });

    test("are searched by the time of their requests", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      expect(await store.ticketAfter(id, 1)).toBe(0n);
      const { nowUs } = await load(store, {});
      // A request each ten seconds; those of every third still wait.
      await addClaims(
        store,
        id,
        ...Array.from(
          { length: 50 },
          (_, index): Wanted => ({
            state: index % 3 === 2 ? "waiting" : "ended",
            requestedAtUs: nowUs + index * 10 * SECOND_US,
          }),
        ),
      );
      const past = inOrder(await store.endedClaimsOf(id, null, 100));
      for (const atUs of [
        nowUs - HOUR_US,
        nowUs - 2 * SECOND_US,
        nowUs,
        nowUs + 123 * SECOND_US,
        nowUs + HOUR_US,
      ]) {
        const ticket = await store.ticketAfter(id, atUs);
        const isIn = ({ requestedAtUs }: Claim) => requestedAtUs <= atUs;
        expect(past.filter(({ ticketNumber }) => ticketNumber < ticket)).toEqual(past.filter(isIn));
      }
    });

    test("are counted, about, and the one that is kept too long is noticed", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      expect((await store.historyStats()).overdueUs).toBe(0);
      await addClaims(
        store,
        id,
        ...Array.from({ length: 30 }, (): Wanted => ({ state: "ended", dueInUs: HOUR_US })),
      );
      const { rows, overdueUs } = await store.historyStats();
      expect(rows).toBeGreaterThan(20);
      expect(rows).toBeLessThan(100);
      expect(overdueUs).toBe(0);
      await tamper("UPDATE rowlock_history SET ended_at = ended_at - ? WHERE ticket_number = 7", 3 * HOUR_US);
      const late = (await store.historyStats()).overdueUs;
      expect(late).toBeGreaterThanOrEqual(2 * HOUR_US);
      expect(late).toBeLessThan(3 * HOUR_US);
    });
  });

  describe("cleaning the history", () => {
    test("deletes of each class what has been kept long enough, with its request ids, and no more at once", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      const wanted = CLASSES_US.flatMap((keptForUs) =>
        Array.from({ length: 4 }, (): Wanted => ({ state: "ended", dueInUs: keptForUs })),
      );
      const claims = await addClaims(store, id, ...wanted);
      const { nowUs } = await load(store, {});
      expect(await store.purgeClaims(nowUs, 100)).toBe(0);
      // For half of each class, its whole time passes.
      for (const keptForUs of CLASSES_US) {
        const seconds = keptForUs / SECOND_US;
        await tamper(
          "UPDATE rowlock_history SET ended_at = ended_at - ? WHERE kept_for = ? AND ticket_number % 2 = 0",
          ...[keptForUs, seconds],
        );
      }
      const now = (await load(store, {})).nowUs;
      expect(await store.purgeClaims(now, 4)).toBe(4);
      expect(await store.purgeClaims(now, 4)).toBe(2);
      expect(await store.purgeClaims(now, 4)).toBe(0);
      // The caller may not know yet that the clock was set back.
      expect(await store.purgeClaims(now + 25 * HOUR_US, 4)).toBe(0);
      const left = claims.filter(({ ticketNumber }) => ticketNumber % 2n === 1n);
      expect(numbersOf(inOrder(await store.endedClaimsOf(id, null, 100)))).toEqual(numbersOf(left));
      const { claims: found } = await store.claimsByRequest(claims.map(({ requestId }) => requestId));
      expect(found).toEqual(left);
      expect(await store.checkInvariants(10)).toEqual([]);
      // A forgotten request id may be used again.
      await addClaims(store, id, { requestId: claims[1]?.requestId ?? "" });
    });

    test("forgets request ids before their claims, in steps, and never that of a later claim", async () => {
      const { store } = fresh();
      const all = (await addMany(store, 12)).reverse().map(({ claim }) => claim);
      const ids = all.map(({ requestId }) => requestId);
      const known = async () => (await store.claimsByRequest(ids)).claims.length;
      const [firstUs, untilUs] = [all[0]?.endedAtUs, all[17]?.endedAtUs] as [number, number];
      expect(await known()).toBe(24);
      expect(await store.forgetRequests(0, firstUs - 1, 100)).toBeNull();
      expect(await known()).toBe(24);
      let steps = 0;
      for (let fromUs: number | null = 0; fromUs !== null; steps++)
        fromUs = await store.forgetRequests(fromUs, untilUs, 4);
      expect(steps).toBeGreaterThan(2);
      const younger = all.filter(({ endedAtUs }) => (endedAtUs as number) > untilUs);
      expect(await known()).toBe(younger.length);
      expect(younger.length).toBeGreaterThan(0);
      // The claims stay, and a later claim may have the id, also when the earlier one is forgotten in its turn.
      expect(await store.endedClaims(null, 100)).toHaveLength(24);
      const [first] = all as [Claim];
      const [later] = await addClaims(store, await lockId(store, "later"), { requestId: first.requestId });
      expect(await store.checkInvariants(10)).toMatchObject([{ check: "not_granted" }]);
      await store.forgetRequests(0, untilUs, 100);
      expect(await store.trimHistory(untilUs, 100)).toBeGreaterThan(0);
      expect((await store.claimsByRequest([first.requestId])).claims).toEqual([later]);
    });

    test("tells from when on it is complete: since the settings were others, and after what was deleted early", async () => {
      const { store } = fresh();
      const { nowUs } = await load(store, {});
      await store.noteKeptBy("a week");
      const first = await store.historyFrom();
      expect(first.claimsUs).toBeGreaterThanOrEqual(nowUs - SECOND_US);
      expect(first.changesUs).toBe(first.claimsUs);
      await store.noteKeptBy("a week");
      expect(await store.historyFrom()).toEqual(first);

      const all = (await addMany(store, 3, first.claimsUs)).reverse();
      const ends = all.map(({ claim }) => claim.endedAtUs as number);
      expect(await store.trimHistory((ends[3] as number) + 1, 2)).toBe(2);
      expect(await store.historyFrom()).toEqual({ ...first, claimsUs: (ends[1] as number) + 1 });

      await store.noteKeptBy("a month");
      const last = await store.historyFrom();
      expect(last.claimsUs).toBeGreaterThan(first.claimsUs);
      expect(last.changesUs).toBeGreaterThan(first.changesUs);
    });

    test("deletes the oldest before their time if there are too many, but none from after a time", async () => {
      const { store } = fresh();
      const all = (await addMany(store, 12)).reverse();
      const untilUs = all[18]?.claim.endedAtUs as number;
      const younger = all.filter(({ claim }) => (claim.endedAtUs as number) >= untilUs);
      expect(await store.trimHistory(untilUs, 5)).toBe(5);
      expect(await store.endedClaims(null, 100)).toEqual(all.slice(5).reverse());
      expect(await store.trimHistory(untilUs, 100)).toBe(all.length - 5 - younger.length);
      expect(await store.endedClaims(null, 100)).toEqual(younger.reverse());
      expect(younger.length).toBeGreaterThan(0);
      expect(await store.trimHistory(untilUs, 100)).toBe(0);
      expect(await store.checkInvariants(10)).toEqual([]);
    });
  });
}
