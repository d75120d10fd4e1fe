// What the page says before somebody changes something.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ClaimJson, LockJson } from "#proto/rowlock/v1/lock_pb.js";
import { whoNext } from "../../../clients/page/src/who-next.ts";

const NOW_MS = Date.UTC(2030, 0, 31);
const permits = (ticketNumber: string, count = 1): ClaimJson => ({
  ticketNumber,
  mode: "MODE_PERMIT",
  permits: count,
});
const reader = (ticketNumber: string): ClaimJson => ({ ticketNumber, mode: "MODE_SHARED", permits: 1 });
const writer = (ticketNumber: string): ClaimJson => ({ ticketNumber, mode: "MODE_EXCLUSIVE", permits: 1 });

function lockOf(limit: number, holders: ClaimJson[], waiters: ClaimJson[], rest: LockJson = {}): LockJson {
  const held = holders.reduce((sum, { permits: count = 0 }) => sum + count, 0);
  return {
    name: "etl/load",
    limit: { permits: limit },
    holders,
    waiters,
    heldPermits: String(held),
    holderCount: holders.length,
    waiterCount: waiters.length,
    ...rest,
  };
}

function nextOf(lock: LockJson, change: Parameters<typeof whoNext>[1]) {
  const { granted, neverFit, after, isCut } = whoNext(lock, change, NOW_MS);
  const numbers = (claims: readonly ClaimJson[]) => claims.map(({ ticketNumber }) => ticketNumber);
  return { granted: numbers(granted), neverFit: numbers(neverFit), after, isCut };
}

describe("who would be granted", () => {
  test("where shares are fair: of the group that holds least, and else of the one that has waited longest", () => {
    const of = (principal: string, ticketNumber: string) => ({ ...permits(ticketNumber), principal });
    const queueRules = { rules: { shareBy: "principal" } };
    const waiters = [of("ann", "4"), of("bob", "6"), of("cid", "7"), of("ann", "5"), of("bob", "8")];
    const holders = [of("ann", "1"), of("ann", "2"), of("bob", "3")];
    const lock = lockOf(3, holders, waiters, { queueRules });
    expect(nextOf(lock, { limit: 8 }).granted).toEqual(["7", "6", "4", "8", "5"]);
    expect(nextOf(lock, { ended: new Set(["1", "2"]) }).granted).toEqual(["4", "7"]);
  });

  test("if a lease ended: the first that fit, and nobody past one that does not", () => {
    const lock = lockOf(3, [permits("1", 2), permits("2")], [permits("3"), permits("4", 2), permits("5")]);
    expect(nextOf(lock, { ended: new Set(["1"]) })).toEqual({
      granted: ["3"],
      neverFit: [],
      after: "full",
      isCut: false,
    });
    expect(nextOf(lock, { ended: new Set(["1", "2"]) }).granted).toEqual(["3", "4"]);
  });

  test("if a waiter at the head were removed: those behind it", () => {
    const lock = lockOf(1, [reader("1")], [writer("2"), reader("3"), reader("4")]);
    expect(nextOf(lock, { ended: new Set(["2"]) })).toMatchObject({
      granted: ["3", "4"],
      after: "nobody waits",
    });
    expect(nextOf(lock, { ended: new Set(["1"]) })).toMatchObject({ granted: ["2"], after: "full" });
  });

  test("of several locks: none, as the page does not see the others, and nobody passes it", () => {
    const set = { ...permits("2"), also: [{ lockName: "etl/other", permits: 1 }] };
    const lock = lockOf(2, [permits("1", 2)], [permits("3"), set, permits("4")]);
    expect(nextOf(lock, { ended: new Set(["1"]) })).toMatchObject({ granted: ["3"], after: "other locks" });
    expect(nextOf(lock, {})).toMatchObject({ granted: [], after: "full" });
  });

  test("under pools: those that wait at one have the lock, and keep it from the others", () => {
    const entering = { ...permits("2"), pool: "etl/*" };
    const lock = lockOf(2, [permits("1")], [entering, permits("3")], { pools: [{ pattern: "etl/*" }] });
    expect(nextOf(lock, { limit: 2 })).toMatchObject({ granted: [], after: "full" });
    expect(nextOf(lock, { limit: 3 })).toMatchObject({ granted: ["3"], after: "nobody waits" });
    expect(nextOf(lock, { ended: new Set(["2"]) })).toMatchObject({ granted: ["3"] });
    expect(whoNext(lock, {}, NOW_MS).hasPools).toBe(true);
    expect(whoNext(lockOf(2, [], []), {}, NOW_MS).hasPools).toBe(false);
  });

  test("if the limit changed: more, nobody, or those turned away that can never fit", () => {
    const lock = lockOf(1, [permits("1")], [permits("2", 2), permits("3")]);
    expect(nextOf(lock, { limit: 4 })).toMatchObject({ granted: ["2", "3"], after: "nobody waits" });
    expect(nextOf(lock, { limit: 0 })).toMatchObject({ granted: [], neverFit: [], after: "paused" });
    expect(nextOf(lock, { limit: 1, ended: new Set(["1"]) })).toMatchObject({
      granted: ["3"],
      neverFit: ["2"],
    });
  });

  test("by the record: nobody before the lock is due, and no more than there are attempts", () => {
    const soon = new Date(NOW_MS + 60_000).toISOString();
    const record = { notBefore: soon, attemptsLeft: 1 };
    const lock = lockOf(5, [], [permits("1"), permits("2")], { record });
    expect(nextOf(lock, {})).toMatchObject({ granted: [], after: "not before" });
    expect(nextOf(lock, { notBeforeMs: null })).toMatchObject({ granted: ["1"], after: "no attempts" });
    expect(nextOf(lock, { notBeforeMs: NOW_MS - 1, attemptsLeft: null }).granted).toEqual(["1", "2"]);
  });

  test("by the rate: as many as it allows now, and those turned away that ask for more than its burst", () => {
    const waiters = [permits("1", 2), permits("2", 9), permits("3", 1), permits("4", 1)];
    const rate = { rate: { permits: 60, per: "60s", burst: 5 }, available: 3 };
    const lock = lockOf(100, [], waiters, { rate });
    expect(nextOf(lock, {})).toMatchObject({ granted: ["1", "3"], neverFit: ["2"], after: "rate" });
    // Two of the burst are taken already.
    const twice = { permits: 60, per: "60s", burst: 4 };
    expect(nextOf(lock, { rate: twice })).toMatchObject({ granted: ["1"], after: "rate" });
    // What was taken comes back in the same time.
    const fast = { permits: 600, per: "60s", burst: 40 };
    expect(nextOf(lock, { rate: fast })).toMatchObject({ granted: ["1", "2", "3", "4"], neverFit: [] });
    expect(nextOf(lockOf(100, [], waiters), { rate: twice }).granted).toEqual(["1", "3", "4"]);
  });

  test("by the limit: a spend needs no room, and holds nothing", () => {
    const spend = (ticketNumber: string, count: number) => ({
      ...permits(ticketNumber, count),
      spendOnly: true,
    });
    const lock = lockOf(1, [permits("1")], [spend("2", 7), permits("3"), spend("4", 1)]);
    expect(nextOf(lock, {})).toMatchObject({ granted: ["2"], neverFit: [], after: "full" });
    expect(nextOf(lock, { ended: new Set(["1"]) }).granted).toEqual(["2", "3", "4"]);
    expect(nextOf(lock, { limit: 0 })).toMatchObject({ granted: [], after: "paused" });
  });

  test("says when the server has not listed all holders or waiters", () => {
    const lock = lockOf(300, [permits("1")], [permits("2")], { holderCount: 300, heldPermits: "300" });
    expect(nextOf(lock, {})).toMatchObject({ granted: [], isCut: true });
    expect(nextOf(lock, { ended: new Set(["1"]) })).toMatchObject({ granted: ["2"], isCut: true });
  });

  test("never holds more than the limit, mixes modes, or passes somebody, whatever the lock", () => {
    const claim = fc.record({
      mode: fc.constantFrom(permits, reader, writer),
      count: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(fc.array(claim, { maxLength: 12 }), fc.integer({ min: 0, max: 6 }), (queue, limit) => {
        const waiters = queue.map(({ mode, count }, at) => mode(String(at + 1), count));
        const { granted, neverFit } = whoNext(lockOf(limit, [], waiters), {}, NOW_MS);
        const modes = new Set(granted.map(({ mode }) => mode));
        const sum = granted.reduce((all, { permits: count = 0 }) => all + count, 0);
        const isWriter = modes.has("MODE_EXCLUSIVE");
        expect(modes.size).toBeLessThanOrEqual(1);
        if (isWriter) expect(granted).toHaveLength(1);
        if (modes.has("MODE_PERMIT")) expect(sum).toBeLessThanOrEqual(limit);
        // In order of arrival, with nobody left out in between but those that can never fit.
        const passed = [...granted, ...neverFit].map(({ ticketNumber }) => Number(ticketNumber));
        expect(passed.sort((a, b) => a - b)).toEqual(passed.map((_, at) => at + 1));
      }),
    );
  });
});
