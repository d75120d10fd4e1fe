// The pace of positions: when they change, not too often, and one at a time.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PlaceUpdates } from "../../server/grpc/place-updates.ts";

const NOW_US = 5_000_000;
const at = (ahead: number, queueLength = 9) => ({ ahead, permitsAhead: ahead, queueLength });

/** Updates whose writes are taken at once, or (`slow`) when `take` is called. */
function recorded(intervalMs: number, slow = false) {
  const sent: { ahead: number; nowUs: number }[] = [];
  const writes: (() => void)[] = [];
  const updates = new PlaceUpdates({
    intervalMs,
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

test("a place that has not changed is not sent again, whoever comes after it", () => {
  const { updates, aheads } = recorded(0);
  updates.offer(at(3, 4), NOW_US);
  updates.offer(at(3, 40), NOW_US);
  updates.offer({ ...at(3, 40), permitsAhead: 7 }, NOW_US);
  expect(aheads()).toEqual([3, 3]);
});

test("a place that changes back while it is held back is not sent", () => {
  const { updates, aheads } = recorded(100);
  updates.offer(at(3), NOW_US);
  updates.offer(at(2), NOW_US);
  updates.offer(at(3), NOW_US);
  vi.advanceTimersByTime(1_000);
  expect(aheads()).toEqual([3]);
});

test("with an interval of 0 every place is sent as it comes", () => {
  const { updates, aheads } = recorded(0);
  for (const ahead of [3, 2, 1, 0]) updates.offer(at(ahead), NOW_US);
  expect(aheads()).toEqual([3, 2, 1, 0]);
});

test("while a write is under way only the latest place is kept", () => {
  const { updates, aheads, take } = recorded(0, true);
  for (let ahead = 1_000; ahead > 0; ahead--) updates.offer(at(ahead), NOW_US);
  expect(aheads()).toEqual([1_000]);
  take();
  expect(aheads()).toEqual([1_000, 1]);
  take();
  expect(aheads()).toEqual([1_000, 1]);
});

test("a place that was held back is told with the time at which it is sent", () => {
  const { updates, sent } = recorded(1_000);
  updates.offer(at(2), NOW_US);
  vi.advanceTimersByTime(400);
  updates.offer(at(1), NOW_US + 400_000);
  vi.advanceTimersByTime(600);
  expect(sent.map(({ nowUs }) => nowUs)).toEqual([NOW_US, NOW_US + 1_000_000]);
});

test("nothing is sent after the end, and no timer is left", () => {
  const { updates, aheads } = recorded(1_000);
  updates.offer(at(2), NOW_US);
  updates.offer(at(1), NOW_US);
  updates.stop();
  updates.stop();
  expect(vi.getTimerCount()).toBe(0);
  updates.offer(at(0), NOW_US);
  vi.advanceTimersByTime(10_000);
  expect(aheads()).toEqual([2]);
});
