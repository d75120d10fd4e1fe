// A waiter that comes back to a place whose lock is held up keeps the place until a transaction can decide; a waiter
// that comes too late does not.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Claim, type ClaimKey, type ClaimRef, SERVER_MADE_PREFIX } from "../../../server/core/claim.ts";
import type { Command } from "../../../server/core/command.ts";
import { ReturnedWaiters } from "../../../server/engine/background/returned-waiters.ts";
import { RETURNED_READ_MAX } from "../../../server/engine/engine-bounds.ts";
import { Ask } from "../../../server/engine/transaction/transaction.ts";
import { ACQUIRE, CLAIM } from "../../support/claims.ts";

const NOW_US = 1_000_000_000;
const ARRIVED_MS = 5_000;
let nowMs: number;
beforeEach(() => {
  nowMs = ARRIVED_MS;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

const turn = () => new Promise(setImmediate);
const waiting = (ticketNumber: bigint, overrides: Partial<Claim> = {}): Claim => ({
  ...CLAIM,
  ticketNumber,
  requestId: `request ${ticketNumber}`,
  state: "waiting",
  deadlineUs: NOW_US + 1,
  ...overrides,
});

function scene(...claims: Claim[]) {
  const heartbeats: ClaimRef[][] = [];
  const reads: number[] = [];
  const read = async (count: number, found: Claim[]) => {
    reads.push(count);
    return { nowUs: NOW_US, claims: found };
  };
  const returned = new ReturnedWaiters({
    store: {
      claims: (keys) =>
        read(
          keys.length,
          claims.filter(({ ticketNumber }) => keys.some((key) => key.ticketNumber === ticketNumber)),
        ),
      claimsByRequest: (ids) =>
        read(
          ids.length,
          claims.filter(({ requestId }) => ids.includes(requestId)),
        ),
      async heartbeat(_replica, kept) {
        heartbeats.push([...kept]);
        return [];
      },
    },
    policy: { graceUs: 1, attachedForUs: 1, keptForUs: () => 1, queueMax: 1 },
    replica: 1n,
    onFailure: (_loop, error) => expect.unreachable(String(error)),
  });
  const comesBack = (command: Command, lockId = CLAIM.lockId, made?: readonly ClaimKey[]) => {
    const ask = new Ask(command, null, { settle() {}, fail() {} });
    returned.heldUp(Object.assign(ask, { lockId, submittedMs: ARRIVED_MS }), made);
    return ask;
  };
  const byTicket = (ref: ClaimRef) => comesBack({ verb: "attach", ref, replica: null });
  const byRequest = (requestId: string) => comesBack({ ...ACQUIRE, requestId });
  const kept = () => [...returned.claims()].map(({ ticketNumber }) => ticketNumber);
  return { comesBack, byTicket, byRequest, heartbeats, reads, kept };
}

test("a place is kept for an Acquire whose request id the server made, if an earlier attempt made that place", async () => {
  const own = waiting(1n, { requestId: `${SERVER_MADE_PREFIX}own` });
  const another = waiting(2n, { requestId: `${SERVER_MADE_PREFIX}another` });
  const { comesBack, byRequest, reads, kept } = scene(own, another);
  const ask = byRequest(own.requestId);
  await turn();
  // Only clients' request ids are looked up.
  expect(reads).toEqual([0, 0]);
  expect(kept()).toEqual([]);
  ask.isOver = true;
  comesBack(ask.command, ask.lockId, [own, another]);
  await turn();
  expect(kept()).toEqual([1n]);
});

test("a place that ran out before the command arrived is not revived, and one that ran out since is kept", async () => {
  // The transaction reads the rows 3 s after the commands have arrived.
  const late = waiting(1n, { deadlineUs: NOW_US - 3_000_000 });
  const inTime = waiting(2n, { deadlineUs: NOW_US - 3_000_000 + 1 });
  const { byTicket, heartbeats, kept } = scene(late, inTime);
  for (const claim of [late, inTime]) byTicket(claim);
  nowMs += 3_000;
  await turn();
  expect(kept()).toEqual([2n]);
  expect(heartbeats.map((claims) => claims.map(({ ticketNumber }) => ticketNumber))).toEqual([[2n]]);
});

test("no place is kept for an ended or held claim, a wrong secret, or another lock", async () => {
  const ended = waiting(1n, { state: "ended" });
  const held = waiting(2n, { state: "held" });
  const wrong = waiting(3n);
  const { comesBack, byTicket, byRequest, heartbeats, kept } = scene(ended, held, wrong, waiting(4n));
  byTicket(ended);
  byTicket(held);
  byTicket({ ...wrong, secret: "another-secret-than-it" });
  byRequest("a request of nobody");
  comesBack({ ...ACQUIRE, requestId: "request 4" }, 99n);
  await turn();
  expect(kept()).toEqual([]);
  expect(heartbeats).toEqual([]);
});

test("those that come during a read are read together after it, in parts", async () => {
  const all = Array.from({ length: RETURNED_READ_MAX + 2 }, (_, index) => waiting(BigInt(index + 1)));
  const { byTicket, reads, kept } = scene(...all);
  for (const claim of all) byTicket(claim);
  await turn();
  expect(reads.filter((count) => count > 0)).toEqual([1, RETURNED_READ_MAX, 1]);
  expect(kept()).toEqual(all.map(({ ticketNumber }) => ticketNumber));
});
