// The leases of a session by themselves: which are confirmed, which are reported as lost, and which are remembered.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import { type Claim, formatClaimId } from "../../../server/core/claim.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { HeldLeases } from "../../../server/engine/subscribers/followers.ts";
import { LEASE_FORGOTTEN_AFTER_MS } from "../../../server/grpc/grpc-bounds.ts";
import { tooMuchUnderWay } from "../../../server/grpc/messages/call-error.ts";
import { durationMessage, leaseMessage, timestampMessage } from "../../../server/grpc/messages/messages.ts";
import { SessionCall } from "../../../server/grpc/session/session-call.ts";
import { type SessionLease, SessionLeases, shorten } from "../../../server/grpc/session/session-leases.ts";
import { ROWS } from "../../../server/grpc/verbs.ts";
import { CLAIM } from "../../support/claims.ts";
import { fakeCall, fakeFrame, NO_PARENT } from "../../support/fake-call.ts";

const NOW_US = 1_800_000_000_000_000;
const TTL_US = 600_000_000;
const FORGOTTEN_US = LEASE_FORGOTTEN_AFTER_MS * 1_000;
const CONFIRM_MS = 1_000;
const TIMES = {
  ...{ requestedAtUs: NOW_US, grantedAtUs: NOW_US, endedAtUs: null, endReason: null },
  ...{ ttlUs: TTL_US, deadlineUs: NOW_US + TTL_US },
};
const ENDLESS = { ttlUs: null, deadlineUs: null };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

function claimOf(ticket: number, change: Partial<Claim> = {}): Claim {
  const own = { ticketNumber: BigInt(ticket), secret: `secret-${ticket}`.padEnd(22, "_") };
  return { ...CLAIM, ...TIMES, ...own, ...change };
}
const provisional = (ticket: number, change: Partial<Claim> = {}) =>
  claimOf(ticket, { provisional: true, ...change });

type Outcome = { kind: "held" | "ended"; claim: Claim } | { kind: "unknown_claim" };
const held = (claim: Claim): Outcome => ({ kind: "held", claim: { ...claim, provisional: false } });
const ended = (claim: Claim, endReason: Claim["endReason"]): Claim => ({
  ...claim,
  state: "ended",
  endReason,
});

function scene() {
  const heldHere = new HeldLeases();
  /** `aheadUs`: by how much the database's clock was set ahead. */
  const state = { nowUs: NOW_US, aheadUs: 0 };
  const asked: { readonly ticket: number; readonly answer: (outcome: Outcome | Error) => void }[] = [];
  const said: string[] = [];
  const bugs: unknown[] = [];
  const leases = new SessionLeases({
    engine: { nowUs: () => state.nowUs, onLost: (lease, listener) => heldHere.add(lease, listener) },
    shown: (lost) => lost,
    confirm: (ref) =>
      new Promise((resolve, reject) => {
        const answer = (outcome: Outcome | Error) =>
          outcome instanceof Error
            ? reject(outcome)
            : resolve({ outcome, nowUs: state.nowUs, lockId: ref.lockId, lockName: "lock" } as never);
        asked.push({ ticket: Number(ref.ticketNumber), answer });
      }),
    confirmAfterMs: CONFIRM_MS,
    say: (part) => {
      for (const { ttl } of part.confirmed ?? []) said.push(`confirmed for ${ttl?.seconds} s`);
      for (const { leaseId } of part.lost ?? []) said.push(`lost ${leaseId.split(".")[1]}`);
    },
    onBug: (error) => bugs.push(error),
    nowMs: () => (state.nowUs - state.aheadUs) / 1_000,
  });
  const own = {
    ...fakeCall().client,
    frame: fakeFrame(),
    peer: "peer",
    leases,
    answered() {},
    failed() {},
    send() {},
    denied() {},
  };
  const newCall = () => new SessionCall(1n, ROWS.acquire, false, own, NO_PARENT);
  /** An answer of the lease's call reports it in this response. */
  const tell = (claim: Claim, response = 1) => {
    const message = leaseMessage(claim, "lock", NOW_US);
    leases.reported(message, response);
    return message;
  };
  /** Gives the lease to a call, which has reported it. */
  const give = (claim: Claim, response = 1) => {
    const call = newCall();
    call.holds(claim);
    tell(claim, response);
    call.workIsOver();
  };
  const acknowledge = (received = 1n) => {
    leases.acknowledged(received);
    vi.advanceTimersByTime(CONFIRM_MS);
  };
  const release = (claim: Claim, isDone: boolean) => {
    const givenBack = leases.givesBack(formatClaimId(claim));
    if (givenBack) leases.gaveBack(givenBack, isDone);
  };
  const end = (claim: Claim, reason: Claim["endReason"]) => heldHere.ended(ended(claim, reason));
  const counts = () => [leases.count, heldHere.count];
  return { leases, state, asked, said, bugs, newCall, tell, give, acknowledge, release, end, counts };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a confirmation", () => {
  test("comes after a while, for all leases whose responses are acknowledged, and once", () => {
    const { leases, give, asked, counts } = scene();
    for (const ticket of [1, 2, 3]) give(provisional(ticket), ticket);
    give(claimOf(4), 1);
    leases.acknowledged(1n);
    vi.advanceTimersByTime(CONFIRM_MS - 1);
    leases.acknowledged(2n);
    expect(asked).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(asked.map(({ ticket }) => ticket)).toEqual([1, 2]);
    vi.advanceTimersByTime(10 * CONFIRM_MS);
    expect(asked).toHaveLength(2);
    leases.acknowledged(3n);
    leases.close();
    expect([vi.getTimerCount(), ...counts()]).toEqual([0, 0, 0]);
  });

  test("has the remaining time, and the lease is kept in mind for longer", async () => {
    const { leases, give, acknowledge, asked, said, state } = scene();
    const claim = provisional(1, { deadlineUs: NOW_US + 10_000_000 });
    give(claim);
    acknowledge();
    asked[0]?.answer(held({ ...claim, deadlineUs: NOW_US + TTL_US }));
    await turn();
    expect(said).toEqual([`confirmed for ${TTL_US / 1e6} s`]);
    for (const [nowUs, count] of [
      [10_000_000 + FORGOTTEN_US + 1, 1],
      [TTL_US + FORGOTTEN_US, 1],
      [TTL_US + FORGOTTEN_US + 1, 0],
    ] as const) {
      state.nowUs = NOW_US + nowUs;
      leases.forgetEnded();
      expect(leases.count).toBe(count);
    }
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
  ])("of a lease %s is not told", async (_, play) => {
    const all = scene();
    all.give(provisional(1));
    all.acknowledge();
    play(all, provisional(1));
    await turn();
    expect(all.said.filter((text) => text.startsWith("confirmed"))).toEqual([]);
    expect(all.bugs).toEqual([]);
  });

  test.each([
    ["the database is away", new Fault("unavailable", "timeout", "Away.", { retryAfterMs: 1 })],
    ["the client has too much under way", tooMuchUnderWay("principal_commands")],
  ])("is made later if %s", async (_, refusal) => {
    const { give, acknowledge, asked, said, bugs } = scene();
    give(provisional(1));
    acknowledge();
    for (let tries = 0; tries < 2; tries++) {
      asked[tries]?.answer(refusal);
      await turn();
      vi.runOnlyPendingTimers();
    }
    asked[2]?.answer(held(provisional(1)));
    await turn();
    expect([said, bugs]).toEqual([[`confirmed for ${TTL_US / 1e6} s`], []]);
  });

  test("that fails by a bug is reported, and not repeated", async () => {
    const { give, acknowledge, asked, bugs } = scene();
    give(provisional(1));
    acknowledge();
    asked[0]?.answer(new TypeError("a bug"));
    await turn();
    expect(bugs).toMatchObject([{ message: "a bug" }]);
    vi.advanceTimersByTime(10 * CONFIRM_MS);
    expect(asked).toHaveLength(1);
  });

  test("of a lease that proves to have ended reports it as lost", async () => {
    const { give, acknowledge, asked, said } = scene();
    give(provisional(1));
    acknowledge();
    asked[0]?.answer({ kind: "ended", claim: ended(provisional(1), "force_released") });
    await turn();
    expect(said).toEqual(["lost 1"]);
  });
});

describe("the end of a lease", () => {
  const claim = claimOf(1);

  test("by the session's own release is no loss, even if that was answered before a renewal", () => {
    const { leases, give, newCall, end, tell, said, counts } = scene();
    give(claim);
    const renewal = newCall();
    renewal.holds(claim);
    const givenBack = leases.givesBack(formatClaimId(claim)) as SessionLease;
    end(claim, "released");
    leases.gaveBack(givenBack, true);
    tell(claim, 2);
    renewal.workIsOver();
    expect([said, counts()]).toEqual([[], [0, 0]]);
  });

  test.each<[string, Claim["endReason"], boolean[], boolean]>([
    ["by another client's release is a loss if the session's own was refused", "released", [false], true],
    ["is no loss if the first of two pending releases succeeds", "released", [true, false], false],
    ["is no loss if the second of them does", "released", [false, true], false],
    ["by an operator during its release is a loss", "force_released", [false], true],
  ])("%s", (_, reason, releases, isLoss) => {
    const { leases, give, end, said, counts } = scene();
    give(claim);
    const begun = releases.map(() => leases.givesBack(formatClaimId(claim)) as SessionLease);
    end(claim, reason);
    for (const [at, givenBack] of begun.entries()) leases.gaveBack(givenBack, releases[at] === true);
    expect([said, counts()]).toEqual([isLoss ? ["lost 1"] : [], [0, 0]]);
  });

  test("in one of two answers leaves it no time in the other, and is known until both are sent", () => {
    const { leases, tell } = scene();
    const open = [leases.decided(claim), leases.decided(claim)];
    leases.reportedEnded(claim, ended(claim, "expired"));
    leases.answered(open.slice(0, 1) as never);
    expect(leases.endOf(claim)).toMatchObject({ endReason: "expired" });
    expect(tell(claim).ttl).toMatchObject({ seconds: 0n, nanos: 0 });
    leases.answered(open.slice(1) as never);
    expect(leases.endOf(claim)).toBeUndefined();
  });
});

describe("the session forgets a lease", () => {
  test.each<[string, (all: ReturnType<typeof scene>, claim: Claim) => void]>([
    ["that was lost", ({ end }, claim) => end(claim, "expired")],
    ["that another server has ended", ({ leases }, claim) => leases.reportedEnded(claim, undefined)],
    ["that was given back", ({ release }, claim) => release(claim, true)],
    [
      "of which the time was over long ago",
      ({ state, leases }) => {
        state.nowUs = NOW_US + TTL_US + FORGOTTEN_US + 1;
        leases.forgetEnded();
      },
    ],
    ["when the session is over", ({ leases }) => leases.close()],
  ])("%s", (_how, forget) => {
    const all = scene();
    all.give(claimOf(1));
    all.leases.forgetEnded();
    expect(all.counts()).toEqual([1, 1]);
    forget(all, claimOf(1));
    expect(all.counts()).toEqual([0, 0]);
  });

  test("that its call got after its work or the session was over; such a call is not cancelled any more", () => {
    const { leases, newCall, counts } = scene();
    const call = newCall();
    call.workIsOver();
    call.holds(claimOf(2));
    call.close();
    expect(call.signal.aborted).toBe(false);
    leases.close();
    newCall().holds(claimOf(3));
    expect(counts()).toEqual([0, 0]);
  });

  test("only after its time: one that was renewed after its call was over is kept", () => {
    const { leases, give, newCall, state } = scene();
    give(claimOf(1));
    const call = newCall();
    call.workIsOver();
    call.holds(claimOf(1, { deadlineUs: NOW_US + 10 * TTL_US }));
    state.nowUs = NOW_US + 5 * TTL_US;
    leases.forgetEnded();
    expect(leases.count).toBe(1);
  });

  test("not during its answer or release, nor if it has no end", () => {
    const { leases, give, state } = scene();
    leases.decided(provisional(1));
    give(claimOf(2));
    const givenBack = leases.givesBack(formatClaimId(claimOf(2))) as SessionLease;
    give(claimOf(3, ENDLESS));
    state.nowUs = NOW_US + 100 * TTL_US;
    leases.forgetEnded();
    expect(leases.count).toBe(3);
    leases.gaveBack(givenBack, false);
    leases.forgetEnded();
    expect(leases.count).toBe(2);
  });

  test("by the end that it was told, unless an answer is pending, which decides", () => {
    const { leases, tell, state } = scene();
    const decided = leases.decided(claimOf(1, { deadlineUs: NOW_US + 500_000_000 }));
    for (const ticket of [1, 2]) tell(claimOf(ticket, { deadlineUs: NOW_US + 1_000 }));
    if (decided) leases.answered([decided]);
    state.nowUs = NOW_US + FORGOTTEN_US + 1_001;
    leases.forgetEnded();
    expect(leases.count).toBe(1);
  });
});

test("a lease of another session can be given back, and its end can be reported: nothing is kept by that", () => {
  const { leases, release, said } = scene();
  release(claimOf(9), true);
  leases.reportedEnded(claimOf(9), undefined);
  leases.keptUnheard(claimOf(9));
  expect(leases.endOf(claimOf(9))).toBeUndefined();
  expect([leases.count, said]).toEqual([0, []]);
});

test.each([
  ["is shortened to the rest when the answer is sent", 4_000_000, 4n],
  ["is nothing after its end", -1, 0n],
  ["is the whole time at first", 10_000_000, 10n],
  ["is never lengthened, for example by a clock that was set back", 3_600_000_000, 10n],
])("the remaining time of a lease %s", (_, endsInUs, seconds) => {
  const message = create(LeaseSchema, {
    ttl: durationMessage(10_000_000),
    expiresAt: timestampMessage(NOW_US + endsInUs),
  });
  shorten(message, NOW_US);
  expect(message.ttl).toMatchObject({ seconds, nanos: 0 });
});

test("the database's clock is set ahead by an hour before a provisional lease is acknowledged, and while a lease is held: neither is forgotten", () => {
  const { leases, give, acknowledge, asked, end, said, state } = scene();
  give(provisional(1, { deadlineUs: NOW_US + 10_000_000 }));
  give(claimOf(2));
  state.nowUs += 3_600_000_000;
  state.aheadUs += 3_600_000_000;
  leases.forgetEnded();
  acknowledge();
  expect(asked.map(({ ticket }) => ticket)).toEqual([1]);
  end(claimOf(2), "force_released");
  expect(said).toEqual(["lost 2"]);
});

test("nothing is kept of provisional leases that have ended, if their client acknowledges nothing", () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const { leases, give, end, state } = scene();
  const used = () => {
    gc();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const some = (from: number, count: number) => {
    for (let ticket = from; ticket < from + count; ticket++) {
      const claim = provisional(ticket, { deadlineUs: NOW_US + 10_000_000 });
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
