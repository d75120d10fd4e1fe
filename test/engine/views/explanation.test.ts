// Why a claim waits: which causes are found in rows, in which order, and when there is an estimate.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { EffectiveLimit, EffectiveRate } from "../../../server/core/limit.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { type Basis, explain } from "../../../server/engine/views/wait-causes.ts";
import { summaryOf } from "../../../server/grpc/messages/explanation.ts";
import { CLAIM, FREE_LOCK, RECORD, TERMS } from "../../support/claims.ts";

const NOW_US = 1_000_000_000;
const LATER_US = NOW_US + 60_000_000;

const limited = (limit: number): EffectiveLimit => {
  return { limit, source: "name", pattern: "", version: 1n, reason: "" };
};
const ONE = limited(1);
const SLOW: EffectiveRate = {
  ...{ permits: 1, perUs: 60_000_000, burst: 1 },
  ...{ source: "name", pattern: "", version: 1n, reason: "" },
};

const held = (ticket: number, overrides: Partial<Claim> = {}): Claim => ({
  ...CLAIM,
  ticketNumber: BigInt(ticket),
  state: "held",
  deadlineUs: LATER_US,
  grantedAtUs: NOW_US - 1_000_000,
  endedAtUs: null,
  endReason: null,
  ...overrides,
});
const waiting = (ticket: number, overrides: Partial<Claim> = {}): Claim =>
  held(ticket, { state: "waiting", grantedAtUs: null, fencingToken: 0n, ...overrides });
/** Released after 10 s. */
const released = (ticket: number): Claim =>
  held(ticket, { state: "ended", grantedAtUs: 0, endedAtUs: 10_000_000, endReason: "released" });
const RECENT = [9, 8, 7, 6, 5].map(released);

const HELD: Partial<Lock> = { heldPermits: 1, holders: 1 };

function known({ lock, ...overrides }: Partial<Omit<Basis, "lock">> & { lock?: Partial<Lock> } = {}): Basis {
  return {
    nowUs: NOW_US,
    lock: { ...FREE_LOCK, ...lock },
    limit: ONE,
    limitSet: null,
    rate: null,
    holders: [],
    waiters: [],
    claim: null,
    place: { ahead: 0, permitsAhead: 0 },
    grantsFromUs: 0,
    rowsHeld: null,
    pools: [],
    recent: [],
    each: null,
    isOwn: false,
    ...overrides,
  };
}

const causesOf = (...asked: Parameters<typeof known>) => explain(known(...asked)).causes;

describe("the causes", () => {
  test.each<[string, Parameters<typeof known>[0], object]>([
    ["a fail-over", { grantsFromUs: LATER_US }, { kind: "failed_over", untilUs: LATER_US }],
    [
      "a limit below the permits asked for",
      { limit: limited(2), claim: waiting(1, { permits: 3 }) },
      { kind: "limit", limit: limited(2), set: null },
    ],
    [
      "a status that is not wanted",
      {
        lock: { record: { ...RECORD, status: "done" } },
        claim: waiting(1, { terms: { ...TERMS, ifStatus: ["new"] } }),
      },
      { kind: "status", status: "done" },
    ],
    [
      "a rate that allows the grant later",
      { rate: SLOW, lock: { rateUntilUs: LATER_US } },
      { kind: "rate", rate: SLOW, untilUs: LATER_US },
    ],
    [
      "a rate whose burst is too small",
      { rate: SLOW, limit: limited(2), claim: waiting(1, { permits: 2 }) },
      { kind: "rate", rate: SLOW, untilUs: null },
    ],
  ])("have %s", (_, rows, cause) => {
    expect(causesOf(rows)).toEqual([cause]);
  });

  const over = { ...RECORD, notBeforeUs: NOW_US, attemptsLeft: 1, status: "done" };
  const readers = { lock: { sharedHolders: 1, holders: 1 }, holders: [held(1, { mode: "shared" })] };
  const wants = (...ifStatus: string[]) => ({ terms: { ...TERMS, ifStatus } });
  test.each<[string, Parameters<typeof known>[0], string[]]>([
    ["what is over", { grantsFromUs: NOW_US, lock: { record: over } }, []],
    ["a status that it wants", { claim: waiting(1, wants("done")), lock: { record: over } }, []],
    ["a rate that allows the grant now", { rate: SLOW, lock: { rateUntilUs: NOW_US } }, []],
    ["holders beside whom it fits", { limit: limited(2), lock: HELD, holders: [held(1)] }, []],
    ["readers beside whom it fits", { ...readers, claim: waiting(2, { mode: "shared" }) }, []],
    ["readers before a writer", { ...readers, claim: waiting(2, { mode: "exclusive" }) }, ["held"]],
    [
      "more holders than the limit",
      { lock: { heldPermits: 3, holders: 3 }, holders: [held(1)] },
      ["limit", "held"],
    ],
    ["holders at a limit of 0", { limit: limited(0), lock: HELD, holders: [held(1)] }, ["limit", "held"]],
    [
      "all causes, in the order of their importance",
      {
        grantsFromUs: LATER_US,
        rowsHeld: { kind: "rows_held", holder: null, forUs: 1 },
        limit: limited(0),
        lock: { ...HELD, record: { ...RECORD, notBeforeUs: LATER_US, attemptsLeft: 0, status: "done" } },
        holders: [held(1)],
        waiters: [waiting(2)],
        rate: SLOW,
        claim: waiting(3, wants("new")),
        place: { ahead: 1, permitsAhead: 1 },
      },
      ["failed_over", "rows_held", "limit", "not_before", "exhausted", "status", "held", "rate", "queued"],
    ],
  ])("with %s", (_, rows, kinds) => {
    expect(causesOf(rows).map(({ kind }) => kind)).toEqual(kinds);
  });

  test("name those before it that have the lock and wait at a pool, unless it fits beside them", () => {
    const entering = waiting(1, { levels: [{ poolId: 9n, rank: 1n, state: "waits" }] });
    const rows = {
      lock: { heldPermits: 1, holders: 1, entering: 1, enteringPermits: 1, waiting: 1, waitingPermits: 1 },
      ...{ waiters: [entering, waiting(2), waiting(3)], claim: waiting(3) },
      place: { ahead: 1, permitsAhead: 1 },
    };
    const queued = (ahead: number, ...first: Claim[]) => [
      { kind: "queued", ahead, permitsAhead: ahead, first },
    ];
    expect(causesOf(rows)).toEqual(queued(2, entering, waiting(2)));
    expect(causesOf({ ...rows, limit: limited(3) })).toEqual(queued(1, waiting(2)));
    expect(summaryOf(explain(known(rows)))).toBe("2nd in the queue; 1 before it waits at a pool");
  });

  test("name ten holders and ten waiters at most", () => {
    const many = Array.from({ length: 20 }, (_, index) => index + 1);
    const causes = causesOf({
      lock: { heldPermits: 20, holders: 20 },
      limit: limited(20),
      holders: many.map((ticket) => held(ticket)),
      waiters: many.map((ticket) => waiting(100 + ticket)),
      place: { ahead: 20, permitsAhead: 20 },
    });
    expect(
      causes.map((cause) => ("holders" in cause ? cause.holders : "first" in cause ? cause.first : [])),
    ).toMatchObject([{ length: 10 }, { length: 10 }]);
  });

  test("know no end if no lease has one, and otherwise the first", () => {
    const lock = { heldPermits: 2, holders: 2 };
    const endOf = (...ends: (number | null)[]) =>
      causesOf({
        lock,
        limit: limited(2),
        holders: ends.map((deadlineUs, at) => held(at, { deadlineUs })),
      })[0];
    expect(endOf(null, null)).toMatchObject({ firstEndsAtUs: null });
    expect(endOf(LATER_US, null, LATER_US - 1)).toMatchObject({ firstEndsAtUs: LATER_US - 1 });
  });
});

describe("an estimate", () => {
  const busy = { lock: HELD, holders: [held(1)], recent: RECENT };

  test("is made of others that hold the lock or wait for it", () => {
    // Held for 1 s of 10 s.
    expect(explain(known(busy)).estimate).toEqual({
      ...{ lowUs: 9_000_000, medianUs: 9_000_000, highUs: 9_000_000 },
      leases: 5,
    });
    const draining = { ...busy, lock: { heldPermits: 2, holders: 2 }, holders: [held(1), held(2)] };
    expect(explain(known(draining)).estimate).not.toBeNull();
  });

  test.each<[string, Parameters<typeof known>[0]]>([
    ["a fail-over", { grantsFromUs: LATER_US }],
    ["held rows", { rowsHeld: { kind: "rows_held", holder: null, forUs: null } }],
    ["a limit of 0", { limit: limited(0) }],
    ["permits that never fit", { claim: waiting(3, { permits: 2 }) }],
    ["a lock that is not due", { lock: { ...HELD, record: { ...RECORD, notBeforeUs: LATER_US } } }],
    ["no attempts", { lock: { ...HELD, record: { ...RECORD, attemptsLeft: 0 } } }],
    ["a status", { claim: waiting(3, { terms: { ...TERMS, ifStatus: ["new"] } }) }],
    ["too few recent leases", { recent: RECENT.slice(1) }],
  ])("is not made with %s", (_, rows) => {
    expect(explain(known({ ...busy, ...rows })).estimate).toBeNull();
  });
});
