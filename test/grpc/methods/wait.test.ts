// One wait by itself: what ends it, which event counts when several happen, and who is notified that nobody listens
// any more.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { AnyCall } from "../../../server/grpc/handler.ts";
import { Wait } from "../../../server/grpc/methods/wait.ts";

const waiting = { state: "waiting", ticketNumber: 1n } as Claim;
const held = { ...waiting, state: "held" } as Claim;
const ended = { ...waiting, state: "ended" } as Claim;

function scene() {
  const detached: [claim: Claim, who: unknown, canReturn: boolean][] = [];
  const holds: Claim[] = [];
  let stop = (_why: Error) => {};
  let left = 0;
  const call = {
    cancelled: false,
    getPeer: () => "",
    once() {},
    off() {},
    holds: (claim: Claim) => holds.push(claim),
  };
  const wait = new Wait(
    { detach: (...args: [Claim, unknown, boolean]) => void detached.push(args) } as never,
    {
      enter: (_call: AnyCall, end: (why: Error) => void) => {
        stop = end;
        return () => void left++;
      },
    },
    call,
  );
  return { wait, detached, holds, stop: (why: string) => stop(new Error(why)), left: () => left };
}

test("a grant that comes while it waits is its end, and the engine goes on knowing of it", async () => {
  const { wait, detached, holds } = scene();
  const settled = wait.untilSettled(waiting, () => true);
  wait.told(held, 7);
  expect(await settled).toEqual({ claim: held, nowUs: 7 });
  expect(holds).toEqual([held]);
  expect(detached).toEqual([]);
});

test("what came before anybody waited for it is not missed", async () => {
  const [granted, stopped] = [scene(), scene()];
  granted.wait.told(held, 7);
  expect((await granted.wait.untilSettled(waiting, () => true)).claim).toBe(held);
  stopped.stop("gone");
  await expect(stopped.wait.untilSettled(waiting, () => true)).rejects.toThrow("gone");
});

test("the end of a claim is told like a grant, and is no lease of the session", async () => {
  const { wait, holds } = scene();
  wait.told(ended, 8);
  expect(await wait.untilSettled(waiting, () => true)).toEqual({ claim: ended, nowUs: 8 });
  expect(holds).toEqual([]);
});

test("a grant counts more than the end of the call, whichever came first", async () => {
  for (const isGrantFirst of [true, false]) {
    const { wait, stop, detached } = scene();
    const settled = wait.untilSettled(waiting, () => true);
    if (isGrantFirst) wait.told(held, 7);
    stop("gone");
    if (!isGrantFirst) wait.told(held, 7);
    expect((await settled).claim).toBe(held);
    expect(detached).toEqual([]);
  }
});

test("a call that ends early leaves, by what has ended it first, and as it can return at that time", async () => {
  const { wait, stop, detached } = scene();
  let canReturn = false;
  const settled = wait.untilSettled(waiting, () => canReturn);
  canReturn = true;
  stop("gone");
  stop("the server stops");
  await expect(settled).rejects.toThrow("gone");
  expect(detached).toEqual([[waiting, wait, true]]);
});

test("what has to be done first ends the wait where it fails, and it leaves", async () => {
  const { wait, detached } = scene();
  const begin = () => Promise.reject(new Error("no place"));
  await expect(wait.untilSettled(waiting, () => false, begin)).rejects.toThrow("no place");
  expect(detached).toEqual([[waiting, wait, false]]);
});

test("it takes its leave of the open waits when it is closed", () => {
  const { wait, left } = scene();
  expect(left()).toBe(0);
  wait.close();
  expect(left()).toBe(1);
});
