// One wait by itself: which event counts when several happen.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { Wait } from "../../../server/grpc/methods/claims.ts";
import { fakeCall } from "../../support/fake-call.ts";

const waiting = { state: "waiting", ticketNumber: 1n } as Claim;
const held = { ...waiting, state: "held" } as Claim;

function scene() {
  const detached: [claim: Claim, who: unknown, canReturn: boolean][] = [];
  let stop = (_why: Error) => {};
  const { client } = fakeCall();
  const enter = (_call: unknown, end: (why: Error) => void) => {
    stop = end;
    return () => {};
  };
  const wait = new Wait(
    { detach: (...args: [Claim, unknown, boolean]) => void detached.push(args) } as never,
    fakeCall({ client: { ...client, waits: { enter } } }),
  );
  return { wait, detached, stop: (why: string) => stop(new Error(why)) };
}

test("a grant before the wait is not missed", async () => {
  const [granted, stopped] = [scene(), scene()];
  granted.wait.settled(held, 7);
  expect((await granted.wait.untilSettled(waiting, () => true)).claim).toBe(held);
  stopped.stop("gone");
  await expect(stopped.wait.untilSettled(waiting, () => true)).rejects.toThrow("gone");
});

test("a grant outweighs the end of the call, whichever came first", async () => {
  for (const isGrantFirst of [true, false]) {
    const { wait, stop, detached } = scene();
    const settled = wait.untilSettled(waiting, () => true);
    if (isGrantFirst) wait.settled(held, 7);
    stop("gone");
    if (!isGrantFirst) wait.settled(held, 7);
    expect((await settled).claim).toBe(held);
    expect(detached).toEqual([]);
  }
});
