// Hints from other servers are processed one after the other; hints that arrive meanwhile are processed together, up
// to as many claims as one hint may name.

import { expect, test } from "vitest";
import type { ClaimKey } from "../../server/core/claim.ts";
import { Pokes } from "../../server/wakeup/pokes.ts";

/** As many as one hint names; the poll finds the others. */
const CLAIMS_MAX = 1_000;
const keys = (from: number, count: number): ClaimKey[] =>
  Array.from({ length: count }, (_, index) => ({ lockId: 1n, ticketNumber: BigInt(from + index) }));
const turn = () => new Promise(setImmediate);

function scene() {
  const hints: { claims: readonly ClaimKey[]; done: PromiseWithResolvers<void> }[] = [];
  const failures: unknown[] = [];
  const sent: unknown[] = [];
  const polled: ((claims?: readonly ClaimKey[]) => Promise<void>)[] = [];
  let pollStops = 0;
  const pokes = new Pokes({
    poll: {
      start: (onHint) => void polled.push(onHint),
      announce() {},
      async stop() {
        pollStops += 1;
      },
    },
    send: (granted) => void sent.push(granted),
    onFailure: (loop, error) => void failures.push([loop, error]),
  });
  const start = () =>
    pokes.start((claims) => {
      const done = Promise.withResolvers<void>();
      hints.push({ claims: claims ?? [], done });
      return done.promise;
    });
  return { pokes, start, hints, failures, sent, polled, pollStops: () => pollStops };
}

test("one hint is worked off at a time, and what comes meanwhile goes together", async () => {
  const { pokes, start, hints } = scene();
  start();
  pokes.poked(keys(1, 1));
  pokes.poked(keys(2, 2));
  pokes.poked(keys(4, 1));
  expect(hints.map(({ claims }) => claims)).toEqual([keys(1, 1)]);
  hints[0]?.done.resolve();
  await turn();
  expect(hints.map(({ claims }) => claims)).toEqual([keys(1, 1), keys(2, 3)]);
  hints[1]?.done.resolve();
  await turn();
  expect(hints).toHaveLength(2);
  pokes.poked(keys(5, 1));
  expect(hints).toHaveLength(3);
});

test("claims beyond what one hint names are left to the poll", async () => {
  const { pokes, start, hints } = scene();
  start();
  pokes.poked(keys(0, 1));
  pokes.poked(keys(1, CLAIMS_MAX - 1));
  pokes.poked(keys(CLAIMS_MAX, 3));
  hints[0]?.done.resolve();
  await turn();
  expect(hints[1]?.claims).toEqual(keys(1, CLAIMS_MAX));
});

test("a hint that fails is reported, and the next one is worked off", async () => {
  const { pokes, start, hints, failures } = scene();
  start();
  const fault = new Error("A fault made by a test.");
  pokes.poked(keys(1, 1));
  pokes.poked(keys(2, 1));
  hints[0]?.done.reject(fault);
  await turn();
  expect(failures).toEqual([["poke", fault]]);
  expect(hints[1]?.claims).toEqual(keys(2, 1));
});

test("nothing is worked off before the start or after the end, which waits for what is under way", async () => {
  const { pokes, start, hints, pollStops } = scene();
  pokes.poked(keys(1, 1));
  expect(hints).toHaveLength(0);
  start();
  pokes.poked(keys(2, 1));
  pokes.poked(keys(3, 1));
  let isStopped = false;
  const stopping = pokes.stop().then(() => {
    isStopped = true;
  });
  await turn();
  expect(pollStops()).toBe(1);
  expect(isStopped).toBe(false);
  hints[0]?.done.resolve();
  await stopping;
  expect(hints).toHaveLength(1);
});

test("each grant elsewhere is sent", () => {
  const { pokes, sent } = scene();
  const granted = keys(1, 2).map((key) => ({ ...key, replica: 7n }));
  pokes.announce(granted);
  expect(sent).toEqual(granted);
});

test("the poll goes on beside the pokes, and a hint of its kind names no claims", () => {
  const { start, hints, polled } = scene();
  start();
  expect(polled).toHaveLength(1);
  void polled[0]?.();
  expect(hints.map(({ claims }) => claims)).toEqual([[]]);
});
