// The leases of a session by themselves: which are confirmed, which are reported as lost, and which are remembered.

import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, test } from "vitest";
import { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import type { Claim } from "../../../server/core/claim.ts";
import { formatClaimId } from "../../../server/core/claim.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { HeldLeases } from "../../../server/engine/subscribers/followers.ts";
import { LEASE_FORGOTTEN_AFTER_MS } from "../../../server/grpc/grpc-bounds.ts";
import { tooMuchUnderWay } from "../../../server/grpc/messages/call-error.ts";
import { leaseMessage } from "../../../server/grpc/messages/messages.ts";
import { durationMessage, timestampMessage } from "../../../server/grpc/messages/times.ts";
import { SessionCall } from "../../../server/grpc/session/session-call.ts";
import { SessionLeases, shorten } from "../../../server/grpc/session/session-leases.ts";
import { ROWS } from "../../../server/grpc/verbs.ts";
import { CLAIM } from "../../support/claims.ts";
import { fakeCall, fakeFrame, NO_PARENT } from "../../support/fake-call.ts";
import { until } from "../../support/harness.ts";

const NOW_US = 1_800_000_000_000_000;
const TTL_US = 600_000_000;
const TIMES = {
  ...{ requestedAtUs: NOW_US, grantedAtUs: NOW_US, endedAtUs: null, endReason: null },
  ...{ ttlUs: TTL_US, deadlineUs: NOW_US + TTL_US },
};

let nowUs: number;
/** By how much the database's clock was set ahead. */
let aheadUs = 0;
let heldHere: HeldLeases;
let confirmed: string[];
let refusals: number;
let said: { confirmed: string[]; lost: string[] };
let leases: SessionLeases;

beforeEach(() => {
  nowUs = NOW_US;
  aheadUs = 0;
  heldHere = new HeldLeases();
  confirmed = [];
  refusals = 0;
  said = { confirmed: [], lost: [] };
  leases = new SessionLeases({
    engine: {
      nowUs: () => nowUs,
      onLost: (lease, listener) => heldHere.add(lease, listener),
    },
    shown: (ended) => ended,
    confirm: async (ref) => {
      if (refusals-- > 0) throw new Fault("unavailable", "timeout", "Away.", { retryAfterMs: 1 });
      confirmed.push(formatClaimId(ref));
      const claim = { ...claimOf(Number(ref.ticketNumber)), provisional: false };
      return { outcome: { kind: "held", claim }, nowUs, lockId: ref.lockId, lockName: "lock" };
    },
    confirmAfterMs: 1,
    say: (part) => {
      for (const { leaseId } of part.confirmed ?? []) said.confirmed.push(leaseId);
      for (const { leaseId, lockName } of part.lost ?? []) said.lost.push(`${leaseId} of ${lockName}`);
    },
    onBug: (error) => expect.unreachable(String(error)),
    nowMs: () => (nowUs - aheadUs) / 1_000,
  });
});

function claimOf(ticket: number, change: Partial<Claim> = {}): Claim {
  const own = { ticketNumber: BigInt(ticket), secret: `secret-${ticket}`.padEnd(22, "_") };
  return { ...CLAIM, ...TIMES, ...own, ...change };
}

const idOf = (claim: Claim) => formatClaimId(claim);
const lostOf = (claim: Claim) => `${idOf(claim)} of lock`;
const { client } = fakeCall();
const newCall = () => {
  const own = { ...client, peer: "peer", leases, answered() {}, failed() {}, send() {}, denied() {} };
  return new SessionCall(1n, ROWS.acquire, false, { ...own, frame: fakeFrame() }, NO_PARENT);
};

/** An answer of the lease's call reports it in this response. */
function tell(claim: Claim, response = 1) {
  const message = leaseMessage(claim, "lock", NOW_US);
  leases.reported(message, response);
  return message;
}

/** Gives the lease to a call, which has reported it. */
function give(claim: Claim, response = 1): void {
  const call = newCall();
  call.holds(claim);
  tell(claim, response);
  call.workIsOver();
}

const end = (claim: Claim, endReason: Claim["endReason"]) =>
  heldHere.ended({ ...claim, state: "ended", endReason });

describe("a provisional lease", () => {
  test("is confirmed later if the database could not do it", async () => {
    refusals = 2;
    const claim = claimOf(1, { provisional: true });
    give(claim);
    leases.acknowledged(1n);
    await until(() => said.confirmed.length > 0);
    expect(confirmed).toEqual([idOf(claim)]);
  });

  test("is confirmed when the response that brought it is acknowledged, and no other is", async () => {
    const [first, second] = [claimOf(1, { provisional: true }), claimOf(2, { provisional: true })];
    give(first, 3);
    give(second, 4);
    leases.acknowledged(2n);
    leases.acknowledged(3n);
    await until(() => said.confirmed.length > 0);
    // Confirmations go out together after 1 ms; 5 ms are enough for another one to show.
    await sleep(5);
    expect(confirmed).toEqual([idOf(first)]);
    leases.acknowledged(4n);
    await until(() => said.confirmed.length > 1);
    expect(said.confirmed).toEqual([idOf(first), idOf(second)]);
  });
});

describe("the end of a lease", () => {
  test("during its renewal is reported once, and not undone by the answer", () => {
    const claim = claimOf(1);
    give(claim);
    const call = newCall();
    call.holds(claim);
    end(claim, "force_released");
    expect(said.lost).toEqual([lostOf(claim)]);
    expect(tell(claim, 2).ttl).toMatchObject({ seconds: 0n, nanos: 0 });
    call.workIsOver();
    expect(said.lost).toHaveLength(1);
    expect(leases.count).toBe(0);
  });

  test("by the session's own release is no loss, even if that was answered before a renewal", () => {
    const claim = claimOf(1);
    give(claim);
    const renewal = newCall();
    renewal.holds(claim);
    leases.givesBack(idOf(claim));
    end(claim, "released");
    leases.gaveBack(idOf(claim), true);
    tell(claim, 2);
    renewal.workIsOver();
    expect(said.lost).toEqual([]);
    expect(leases.count).toBe(0);
    expect(heldHere.count).toBe(0);
  });

  test("by another client's release is a loss if the session's own was refused", () => {
    const claim = claimOf(1);
    give(claim);
    leases.givesBack(idOf(claim));
    end(claim, "released");
    expect(said.lost).toEqual([]);
    leases.gaveBack(idOf(claim), false);
    expect(said.lost).toEqual([lostOf(claim)]);
  });
});

describe("the session forgets a lease", () => {
  test.each<[string, (claim: Claim) => void]>([
    ["that was lost", (claim) => end(claim, "expired")],
    [
      "that another server has ended, as a renewal was answered",
      (claim) => leases.reportedEnded(claim, undefined),
    ],
    [
      "that was given back",
      (claim) => {
        leases.givesBack(idOf(claim));
        leases.gaveBack(idOf(claim), true);
      },
    ],
    [
      "of which the time was over long ago",
      () => {
        nowUs = NOW_US + TTL_US + LEASE_FORGOTTEN_AFTER_MS * 1_000 + 1;
        leases.forgetEnded();
      },
    ],
    ["when the session is over", () => leases.close()],
  ])("%s", (_how, forget) => {
    const claim = claimOf(1);
    give(claim);
    leases.forgetEnded();
    expect([leases.count, heldHere.count]).toEqual([1, 1]);
    forget(claim);
    expect([leases.count, heldHere.count]).toEqual([0, 0]);
  });

  test("that its call got after its work was over", () => {
    const call = newCall();
    call.holds(claimOf(1));
    call.workIsOver();
    call.holds(claimOf(2));
    leases.close();
    const late = newCall();
    late.holds(claimOf(3));
    expect([leases.count, heldHere.count]).toEqual([0, 0]);
  });

  test("only after its time: one that was renewed after its call was over is kept", () => {
    const claim = claimOf(1);
    give(claim);
    const call = newCall();
    call.workIsOver();
    call.holds({ ...claim, deadlineUs: NOW_US + 10 * TTL_US });
    nowUs = NOW_US + 5 * TTL_US;
    leases.forgetEnded();
    expect(leases.count).toBe(1);
  });
});

describe("the report of a lease to the client", () => {
  test("makes the session forget a lease without a pending answer after its end, and never one without end", () => {
    const [ending, endless] = [
      claimOf(1, { deadlineUs: NOW_US + 1_000 }),
      claimOf(2, { deadlineUs: null, ttlUs: null }),
    ];
    for (const claim of [ending, endless]) tell(claim);
    nowUs = NOW_US + LEASE_FORGOTTEN_AFTER_MS * 1_000;
    leases.forgetEnded();
    expect(leases.count).toBe(2);
    nowUs += 1_001;
    leases.forgetEnded();
    expect(leases.count).toBe(1);
  });

  test("leaves a lease with a pending answer to the decision", () => {
    const decided = leases.decided(claimOf(1, { deadlineUs: NOW_US + 500_000_000 }));
    tell(claimOf(1, { deadlineUs: NOW_US + 1_000 }));
    if (decided) leases.answered([decided]);
    nowUs = NOW_US + LEASE_FORGOTTEN_AFTER_MS * 1_000 + 1_001;
    leases.forgetEnded();
    expect(leases.count).toBe(1);
  });
});

describe("a lease of another session", () => {
  test("can be given back, and its end can be reported: nothing is kept by that", () => {
    const id = idOf(claimOf(9));
    leases.givesBack(id);
    leases.gaveBack(id, true);
    leases.reportedEnded(claimOf(9), undefined);
    leases.keptUnheard(claimOf(9));
    expect(leases.endOf(claimOf(9))).toBeUndefined();
    expect([leases.count, said.lost]).toEqual([0, []]);
  });

  test("is not confirmed, though it was reported and acknowledged before it was given back", async () => {
    const claim = claimOf(1, { provisional: true });
    give(claim, 1);
    leases.acknowledged(1n);
    leases.givesBack(idOf(claim));
    leases.gaveBack(idOf(claim), true);
    await sleep(5);
    expect(confirmed).toEqual([]);
  });
});

test("a lease with one of two answers pending is kept, though the other has reported its end", () => {
  const claim = claimOf(1);
  const open = [leases.decided(claim), leases.decided(claim)];
  leases.reportedEnded(claim, { ...claim, state: "ended", endReason: "expired" });
  leases.answered(open.slice(0, 1) as never);
  expect(leases.endOf(claim)).toMatchObject({ endReason: "expired" });
  leases.answered(open.slice(1) as never);
  expect(leases.endOf(claim)).toBeUndefined();
});

describe("the remaining time of a lease", () => {
  const leftOf = (ttlUs: number, endsInUs: number) => {
    const message = create(LeaseSchema, {
      ttl: durationMessage(ttlUs),
      expiresAt: timestampMessage(NOW_US + endsInUs),
    });
    shorten(message, NOW_US);
    return message.ttl;
  };

  test("is shortened to the rest when the answer is sent", () => {
    expect(leftOf(10_000_000, 4_000_000)).toMatchObject({ seconds: 4n, nanos: 0 });
    expect(leftOf(10_000_000, -1)).toMatchObject({ seconds: 0n, nanos: 0 });
  });

  test("is never lengthened, for example by a clock that was set back", () => {
    expect(leftOf(10_000_000, 10_000_000)).toMatchObject({ seconds: 10n, nanos: 0 });
    expect(leftOf(10_000_000, 3_600_000_000)).toMatchObject({ seconds: 10n, nanos: 0 });
  });
});

function setAhead(us: number): void {
  nowUs += us;
  aheadUs += us;
}

describe("the database's clock is set ahead by an hour", () => {
  test("before a provisional lease is acknowledged: it is confirmed all the same", async () => {
    const claim = claimOf(1, { provisional: true, deadlineUs: NOW_US + 10_000_000 });
    give(claim, 1);
    setAhead(3_600_000_000);
    leases.forgetEnded();
    leases.acknowledged(1n);
    await until(() => confirmed.length > 0);
    expect(confirmed).toEqual([idOf(claim)]);
  });

  test("while a lease is held: its end is reported all the same", () => {
    const claim = claimOf(1);
    give(claim, 1);
    setAhead(3_600_000_000);
    leases.forgetEnded();
    end(claim, "force_released");
    expect(said.lost).toEqual([lostOf(claim)]);
  });
});

test("a provisional lease is confirmed later if its client has too much under way", async () => {
  const bugs: unknown[] = [];
  let tries = 0;
  const own = new SessionLeases({
    engine: { nowUs: () => nowUs, onLost: (lease, listener) => heldHere.add(lease, listener) },
    shown: (ended) => ended,
    confirm: async (ref) => {
      if (tries++ === 0) throw tooMuchUnderWay("principal_commands");
      const claim = { ...claimOf(Number(ref.ticketNumber)), provisional: false };
      return { outcome: { kind: "held", claim }, nowUs, lockId: ref.lockId, lockName: "lock" };
    },
    confirmAfterMs: 1,
    say: () => {},
    onBug: (error) => void bugs.push(error),
  });
  const claim = claimOf(1, { provisional: true });
  own.decided(claim);
  own.reported(leaseMessage(claim, "lock", NOW_US), 1);
  own.acknowledged(1n);
  await until(() => tries === 2);
  expect(bugs).toEqual([]);
});
