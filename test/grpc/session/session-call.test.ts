// One call of a session, by itself: how it ends, and what it reports about its leases.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Claim, ClaimRef } from "../../../server/core/claim.ts";
import { SessionCall } from "../../../server/grpc/session/session-call.ts";
import type { SessionLease } from "../../../server/grpc/session/session-leases.ts";
import { ROWS } from "../../../server/grpc/verbs.ts";
import { fakeCall, fakeFrame, NO_PARENT } from "../../support/fake-call.ts";

const claim = (ticket: number) => ({ ticketNumber: BigInt(ticket) }) as Claim;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** `knows`: whether the session remembers the leases; a closed session does not. */
function scene(knows = true) {
  const said: string[] = [];
  const leases = {
    decided: ({ ticketNumber }: Claim) => {
      said.push(`decided ${ticketNumber}`);
      return knows ? ({ ref: { ticketNumber } } as SessionLease) : undefined;
    },
    keptUnheard: ({ ticketNumber }: Claim) => void said.push(`kept unheard ${ticketNumber}`),
    answered: (told: readonly SessionLease[]) =>
      void said.push(`answered ${told.map(({ ref }) => ref.ticketNumber)}`),
    endOf: ({ ticketNumber }: ClaimRef) => claim(10 * Number(ticketNumber)),
    reportedEnded: ({ ticketNumber }: ClaimRef, how?: Claim) =>
      void said.push(`ended ${ticketNumber} as ${how?.ticketNumber}`),
  };
  const { client } = fakeCall();
  const own = { ...client, peer: "one:1", leases, answered() {}, failed() {}, send() {}, denied() {} };
  const call = new SessionCall(1n, ROWS.acquire, false, { ...own, frame: fakeFrame() }, NO_PARENT);
  return { call, said };
}

test("leases are answered together when the work of their call is over, and only once", () => {
  const { call, said } = scene();
  for (const ticket of [1, 2, 3]) call.holds(claim(ticket));
  expect(said).toEqual(["decided 1", "decided 2", "decided 3"]);
  call.workIsOver();
  call.workIsOver();
  expect(said.slice(3)).toEqual(["answered 1,2,3"]);
});

test("a lease that is decided when the work is over is kept unheard, and never answered", () => {
  const { call, said } = scene();
  call.workIsOver();
  call.holds(claim(1));
  call.workIsOver();
  expect(said).toEqual(["kept unheard 1"]);
});

test("a closed session gets no answer", () => {
  const { call, said } = scene(false);
  call.holds(claim(1));
  call.workIsOver();
  expect(said).toEqual(["decided 1"]);
});

test("a call whose work is over is not cancelled any more", () => {
  const { call } = scene();
  call.signal.addEventListener("abort", () => expect.unreachable());
  call.workIsOver();
  call.close();
  expect(call.signal.aborted).toBe(false);
});
