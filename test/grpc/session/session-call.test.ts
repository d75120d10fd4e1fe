// One call of a session, by itself: how it ends, and what it reports about its leases.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Claim, ClaimRef } from "../../../server/core/claim.ts";
import { ClientGone, isGivenUp } from "../../../server/engine/faults.ts";
import { SessionCall } from "../../../server/grpc/session/session-call.ts";
import type { SessionLease } from "../../../server/grpc/session/session-leases.ts";
import { ROWS } from "../../../server/grpc/verbs.ts";
import { fakeCall } from "../../support/fake-call.ts";

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
  const call = new SessionCall(1n, ROWS.acquire, false, own);
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

test("ends are requested from and reported to the session", () => {
  const { call, said } = scene();
  expect(call.getPeer()).toBe("one:1");
  expect(call.endOf(claim(2))?.ticketNumber).toBe(20n);
  call.reportsEnd(claim(3), claim(4));
  call.reportsEnd(claim(5));
  expect(said).toEqual(["ended 3 as 4", "ended 5 as undefined"]);
});

test("a cancelled call notifies its listeners, and its timeout does not come", () => {
  const { call } = scene();
  const told: string[] = [];
  call.signal.addEventListener("abort", () => told.push(`cancelled: ${call.signal.aborted}`));
  call.limitTo(1_000, () => told.push("timeout"));
  call.close();
  expect(told).toEqual(["cancelled: true"]);
  vi.advanceTimersByTime(2_000);
  expect(told).toHaveLength(1);
});

test("the signal says whether the client has cancelled the call itself", () => {
  const [open, gone, givenUp] = [scene().call, scene().call, scene().call];
  gone.close();
  givenUp.close(true);
  const calls = [open, gone, givenUp];
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, true, true]);
  expect(calls.map(({ signal }) => isGivenUp(signal))).toEqual([false, false, true]);
  expect(gone.signal.reason).toBeInstanceOf(ClientGone);
});

test("a call whose work is over is not cancelled any more", () => {
  const { call } = scene();
  call.signal.addEventListener("abort", () => expect.unreachable());
  call.workIsOver();
  call.close();
  expect(call.signal.aborted).toBe(false);
});

test("a timeout comes when its time has passed, unless the call has finished by then", () => {
  const [late, done] = [scene().call, scene().call];
  const told: string[] = [];
  late.limitTo(1_000, () => told.push("late"));
  done.limitTo(1_000, () => told.push("done"));
  vi.advanceTimersByTime(999);
  expect(told).toEqual([]);
  done.workIsOver();
  done.close();
  vi.advanceTimersByTime(1);
  expect(told).toEqual(["late"]);
  expect(done.signal.aborted).toBe(false);
});
