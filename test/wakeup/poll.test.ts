// The poll continues through an outage, and works again soon after it.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pollWakeup } from "../../server/wakeup/poll.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the poll rests a little longer while the database is away, and not for long after it is back", async () => {
  const failures: unknown[] = [];
  let looks = 0;
  let isAway = true;
  const poll = pollWakeup(100, (_loop, error) => void failures.push(error));
  poll.start(async () => {
    looks += 1;
    if (isAway) throw new Error("A fault made by a test.");
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(failures.length).toBeGreaterThan(30);
  expect(failures.length).toBeLessThan(50);
  isAway = false;
  const before = looks;
  await vi.advanceTimersByTimeAsync(250);
  const after = looks;
  expect(after).toBeGreaterThan(before);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(looks).toBe(after + 10);
  await poll.stop();
});

test("the poll ends with its stop, also where it was never started", async () => {
  let looks = 0;
  const poll = pollWakeup(100, () => {});
  await poll.stop();
  poll.start(async () => {
    looks += 1;
  });
  await vi.advanceTimersByTimeAsync(250);
  expect(looks).toBe(2);
  await poll.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(looks).toBe(2);
});
