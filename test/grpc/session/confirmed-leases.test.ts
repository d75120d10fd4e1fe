// Which leases of a session are confirmed, and how long the session remembers each.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { formatClaimId } from "../../../server/core/claim.ts";
import { HeldLeases } from "../../../server/engine/subscribers/followers.ts";
import { LEASE_FORGOTTEN_AFTER_MS } from "../../../server/grpc/grpc-bounds.ts";
import { leaseMessage } from "../../../server/grpc/messages/messages.ts";
import { SessionLeases } from "../../../server/grpc/session/session-leases.ts";
import { CLAIM } from "../../support/claims.ts";

const NOW_US = 1_800_000_000_000_000;
const TTL_US = 600_000_000;
const TIMES = {
  ...{ requestedAtUs: NOW_US, grantedAtUs: NOW_US, endedAtUs: null, endReason: null },
  ...{ ttlUs: TTL_US, deadlineUs: NOW_US + TTL_US },
};
const CONFIRM_MS = 1_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

function claimOf(ticket: number, change: Partial<Claim> = {}): Claim {
  const own = { ticketNumber: BigInt(ticket), secret: `secret-${ticket}`.padEnd(22, "_") };
  return { ...CLAIM, ...TIMES, ...own, provisional: true, ...change };
}

type Confirmed =
  | { readonly kind: "held" | "ended"; readonly claim: Claim }
  | { readonly kind: "unknown_claim" };

function scene() {
  const heldHere = new HeldLeases();
  const state = { nowUs: NOW_US };
  const asked: { readonly ticket: number; readonly answer: (outcome: Confirmed | Error) => void }[] = [];
  const said: string[] = [];
  const bugs: unknown[] = [];
  const leases = new SessionLeases({
    engine: {
      nowUs: () => state.nowUs,
      onLost: (lease, listener) => heldHere.add(lease, listener),
    },
    shown: (ended) => ended,
    confirm: (ref) =>
      new Promise((resolve, reject) => {
        asked.push({
          ticket: Number(ref.ticketNumber),
          answer: (outcome) =>
            outcome instanceof Error
              ? reject(outcome)
              : resolve({ outcome, nowUs: state.nowUs, lockId: ref.lockId, lockName: "lock" } as never),
        });
      }),
    confirmAfterMs: CONFIRM_MS,
    say: (part) => {
      for (const { ttl } of part.confirmed ?? []) said.push(`confirmed for ${ttl?.seconds} s`);
      for (const { lockName } of part.lost ?? []) said.push(`lost ${lockName}`);
    },
    onBug: (error) => bugs.push(error),
    nowMs: () => state.nowUs / 1_000,
  });
  /** Gives the lease to a call, which reports it in this response. */
  const give = (claim: Claim, response = 1) => {
    const lease = leases.decided(claim);
    const message = leaseMessage(claim, "lock", NOW_US);
    leases.reported(message, response);
    if (lease) leases.answered([lease]);
    return message;
  };
  const acknowledge = (received = 1n) => {
    leases.acknowledged(received);
    vi.advanceTimersByTime(CONFIRM_MS);
  };
  const end = (claim: Claim, endReason: Claim["endReason"]) =>
    heldHere.ended({ ...claim, state: "ended", endReason });
  return { leases, heldHere, state, asked, said, bugs, give, acknowledge, end };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const held = (claim: Claim): Confirmed => ({ kind: "held", claim: { ...claim, provisional: false } });

test("nothing is confirmed before its time, and then all acknowledged leases are", () => {
  const { leases, give, asked } = scene();
  give(claimOf(1), 1);
  give(claimOf(2), 2);
  leases.acknowledged(1n);
  vi.advanceTimersByTime(CONFIRM_MS - 1);
  leases.acknowledged(2n);
  expect(asked).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(asked.map(({ ticket }) => ticket)).toEqual([1, 2]);
  vi.advanceTimersByTime(10 * CONFIRM_MS);
  expect(asked).toHaveLength(2);
});

test("a lease without end is confirmed, and its client hears nothing of that", async () => {
  const { give, acknowledge, asked, said } = scene();
  const endless = claimOf(1, { provisional: false, ttlUs: null, deadlineUs: null });
  give(endless);
  acknowledge();
  expect(asked).toHaveLength(1);
  asked[0]?.answer(held(endless));
  await turn();
  expect(said).toEqual([]);
  // One confirmation is enough.
  give(endless, 2);
  acknowledge(2n);
  expect(asked).toHaveLength(1);
});

test("a lease with an end that is not provisional is not confirmed", () => {
  const { give, acknowledge, asked } = scene();
  give(claimOf(1, { provisional: false }));
  acknowledge();
  expect(asked).toEqual([]);
});

test("a confirmation has the remaining time, and the lease is kept in mind for longer", async () => {
  const { leases, give, acknowledge, asked, said, state } = scene();
  const claim = claimOf(1, { deadlineUs: NOW_US + 10_000_000 });
  give(claim);
  acknowledge();
  asked[0]?.answer(held({ ...claim, deadlineUs: NOW_US + TTL_US }));
  await turn();
  expect(said).toEqual([`confirmed for ${TTL_US / 1e6} s`]);
  state.nowUs = NOW_US + 10_000_000 + LEASE_FORGOTTEN_AFTER_MS * 1_000 + 1;
  leases.forgetEnded();
  expect(leases.count).toBe(1);
  state.nowUs = NOW_US + TTL_US + LEASE_FORGOTTEN_AFTER_MS * 1_000;
  leases.forgetEnded();
  expect(leases.count).toBe(1);
  state.nowUs += 1;
  leases.forgetEnded();
  expect(leases.count).toBe(0);
});

test.each<[string, (all: ReturnType<typeof scene>, claim: Claim) => void]>([
  ["that no server knows any more", ({ asked }) => asked[0]?.answer({ kind: "unknown_claim" })],
  [
    "that ended while it was confirmed",
    ({ asked, end }, claim) => {
      end(claim, "released");
      asked[0]?.answer(held(claim));
    },
  ],
  [
    "whose session is over",
    ({ asked, leases }, claim) => {
      leases.close();
      asked[0]?.answer(held(claim));
    },
  ],
])("of a lease %s no confirmation is told", async (_, play) => {
  const all = scene();
  const claim = claimOf(1);
  all.give(claim);
  all.acknowledge();
  play(all, claim);
  await turn();
  expect(all.said.filter((text) => text.startsWith("confirmed"))).toEqual([]);
  expect(all.bugs).toEqual([]);
});

test("a session that is over confirms nothing more, and leaves no timer", () => {
  const { leases, give } = scene();
  give(claimOf(1));
  leases.acknowledged(1n);
  expect(vi.getTimerCount()).toBe(1);
  leases.close();
  expect(vi.getTimerCount()).toBe(0);
});

test("a bug in a confirmation is reported as one, and not repeated", async () => {
  const { give, acknowledge, asked, bugs } = scene();
  give(claimOf(1));
  acknowledge();
  asked[0]?.answer(new TypeError("a bug"));
  await turn();
  expect(bugs).toMatchObject([{ message: "a bug" }]);
  vi.advanceTimersByTime(10 * CONFIRM_MS);
  expect(asked).toHaveLength(1);
});

test("no lease is forgotten during its answer or release, nor one without end", () => {
  const { leases, give, state } = scene();
  const [asked, released, endless] = [
    claimOf(1),
    claimOf(2, { provisional: false }),
    claimOf(3, { deadlineUs: null, ttlUs: null }),
  ];
  leases.decided(asked);
  give(released);
  leases.givesBack(formatClaimId(released));
  give(endless);
  state.nowUs = NOW_US + 100 * TTL_US;
  leases.forgetEnded();
  expect(leases.count).toBe(3);
  leases.gaveBack(formatClaimId(released), false);
  leases.forgetEnded();
  expect(leases.count).toBe(2);
});

test("an end in one answer leaves the lease no time in another one", () => {
  const { leases } = scene();
  const claim = claimOf(1);
  const lease = leases.decided(claim);
  leases.reportedEnded(claim, { ...claim, state: "ended", endReason: "expired" });
  expect(leases.count).toBe(1);
  const message = leaseMessage(claim, "lock", NOW_US);
  leases.reported(message, 1);
  expect(message.ttl).toMatchObject({ seconds: 0n, nanos: 0 });
  leases.answered(lease ? [lease] : []);
  expect(leases.count).toBe(0);
});

test("if either of two pending releases succeeds, the end is not a loss, in any order of the answers", () => {
  for (const first of [true, false]) {
    const { leases, give, end, said } = scene();
    const claim = claimOf(1);
    const id = formatClaimId(claim);
    give(claim);
    leases.givesBack(id);
    leases.givesBack(id);
    end(claim, "released");
    leases.gaveBack(id, first);
    leases.gaveBack(id, !first);
    expect(said).toEqual([]);
    expect(leases.count).toBe(0);
  }
});

test("the end of a release that was never begun changes nothing", () => {
  const { leases, give, end, said } = scene();
  const claim = claimOf(1);
  give(claim);
  leases.gaveBack(formatClaimId(claim), true);
  expect(leases.count).toBe(1);
  end(claim, "released");
  expect(said).toEqual(["lost lock"]);
});

test("an operator that ends a lease during its release makes it a loss", () => {
  const { leases, give, end, said } = scene();
  const claim = claimOf(1);
  give(claim);
  leases.givesBack(formatClaimId(claim));
  end(claim, "force_released");
  expect(said).toEqual(["lost lock"]);
});

test("a lease that proves to have ended when it is to be confirmed is reported as lost", async () => {
  const { give, acknowledge, asked, said } = scene();
  const claim = claimOf(1);
  give(claim);
  acknowledge();
  asked[0]?.answer({
    kind: "ended",
    claim: { ...claim, state: "ended", endReason: "force_released" },
  } as never);
  await turn();
  expect(said).toEqual(["lost lock"]);
});

test("nothing is kept of provisional leases that have ended, if their client acknowledges nothing", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const { leases, give, end, state } = scene();
  const used = () => {
    gc();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const some = (from: number, count: number) => {
    for (let ticket = from; ticket < from + count; ticket++) {
      const claim = claimOf(ticket, { deadlineUs: NOW_US + 10_000_000 });
      give(claim, ticket);
      end(claim, "lapsed");
    }
    state.nowUs += 3_600_000_000;
    leases.forgetEnded();
  };
  some(1, 1_000);
  const before = used();
  some(1_001, 200_000);
  expect(leases.count).toBe(0);
  // 28 MB if they were kept.
  expect(used() - before).toBeLessThan(18);
  leases.close();
});
