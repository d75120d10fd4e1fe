// The pace of positions: the server sends changes, not too often, and one at a time.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PLACES_AT_ONCE, PLACES_PAUSE_MS } from "../../../server/grpc/grpc-bounds.ts";
import { PlaceTurns, PlaceUpdates } from "../../../server/grpc/methods/wait-in-queue.ts";

const NOW_US = 5_000_000;
const at = (ahead: number, queueLength = 9) => ({ ahead, permitsAhead: ahead, queueLength });

/** Updates whose writes complete at once, or (`slow`) when the test calls `take`. */
function recorded(intervalMs: number, slow = false) {
  const sent: { ahead: number; nowUs: number }[] = [];
  const writes: (() => void)[] = [];
  const updates = new PlaceUpdates({
    intervalMs,
    turn: (go) => go(),
    send({ ahead }, nowUs, written) {
      sent.push({ ahead, nowUs });
      if (slow) writes.push(written);
      else written();
    },
  });
  return { updates, sent, aheads: () => sent.map(({ ahead }) => ahead), take: () => writes.shift()?.() };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first place is sent at once, and the next one when the interval has passed", () => {
  const { updates, aheads } = recorded(1_000);
  updates.offer(at(9), NOW_US);
  updates.offer(at(8), NOW_US);
  updates.offer(at(7), NOW_US);
  expect(aheads()).toEqual([9]);
  vi.advanceTimersByTime(999);
  updates.offer(at(6), NOW_US);
  expect(aheads()).toEqual([9]);
  vi.advanceTimersByTime(1);
  expect(aheads()).toEqual([9, 6]);
  vi.advanceTimersByTime(5_000);
  expect(aheads()).toEqual([9, 6]);
  updates.offer(at(5), NOW_US);
  expect(aheads()).toEqual([9, 6, 5]);
});

test("a worse place that was read earlier and comes later is not sent; one that was read later is", () => {
  const { updates, aheads } = recorded(100);
  updates.offer(at(4), NOW_US);
  updates.offer(at(8), NOW_US);
  vi.advanceTimersByTime(1_000);
  expect(aheads()).toEqual([4]);
  // An older place does not replace one that is held back either.
  updates.offer(at(3), NOW_US);
  updates.offer(at(2), NOW_US);
  updates.offer(at(3), NOW_US);
  vi.advanceTimersByTime(1_000);
  expect(aheads()).toEqual([4, 3, 2]);
  // Somebody with a head start came, or a group that holds less.
  updates.offer(at(3), NOW_US + 1);
  vi.advanceTimersByTime(1_000);
  expect(aheads()).toEqual([4, 3, 2, 3]);
});

test("a place at another pool is news, also if as many or more are before it", () => {
  const { updates, aheads } = recorded(100);
  const places = [at(0), { ...at(0), pool: "etl/*" }, { ...at(3), pool: "*" }];
  for (const place of places) {
    updates.offer(place, NOW_US);
    vi.advanceTimersByTime(1_000);
  }
  expect(aheads()).toEqual([0, 0, 3]);
});

test("a place at another lock of several is news with as many before it, and with more it was read earlier", () => {
  const { updates, aheads } = recorded(100);
  const places = [
    { ...at(3), waitsFor: "b" },
    { ...at(3), waitsFor: "a" },
    { ...at(4), waitsFor: "b" },
  ];
  for (const place of places) {
    updates.offer(place, NOW_US);
    vi.advanceTimersByTime(1_000);
  }
  expect(aheads()).toEqual([3, 3]);
});

test("a crowd that moves up is notified in turn, a few at once, each with its latest place", () => {
  const turns = new PlaceTurns();
  const told = new Map<number, number>();
  const crowd = Array.from({ length: 1_000 }, (_, index) => {
    const send = ({ ahead }: { ahead: number }, _nowUs: number, written: () => void) => {
      told.set(index, ahead);
      written();
    };
    return new PlaceUpdates({ intervalMs: 0, turn: (go) => turns.take(go), send });
  });
  // The first update is the ticket, which does not wait for a turn.
  for (const [index, updates] of crowd.entries()) updates.offer(at(index + 2), NOW_US);
  expect(told.size).toBe(crowd.length);
  for (const up of [1, 0]) {
    told.clear();
    for (const [index, updates] of crowd.entries()) updates.offer(at(index + up), NOW_US);
    expect([...told.keys()]).toEqual(
      up === 1 ? Array.from({ length: PLACES_AT_ONCE }, (_, index) => index) : [],
    );
  }
  crowd[500]?.stop();
  for (let tolds = 0; vi.getTimerCount() > 0; tolds = told.size) {
    vi.advanceTimersByTime(PLACES_PAUSE_MS);
    expect(told.size - tolds).toBeLessThanOrEqual(PLACES_AT_ONCE);
  }
  expect(told.size).toBe(crowd.length - 1);
  for (const [index, ahead] of told) expect(ahead).toBe(index);
});
