// What is said of a wait if no server explains it, and how often.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Acquisition } from "../../../../clients/typescript/src/acquisition.ts";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import type { WaitExplanation } from "../../../../clients/typescript/src/history.ts";
import { WaitNotices } from "../../../../clients/typescript/src/wait-notices.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const PLACE = { ticketId: "t", ahead: 3, permitsAhead: 4, queueLength: 9, waitedMs: 0 };

function stage(explain: () => Promise<WaitExplanation>) {
  const said: string[] = [];
  const onWaiting = vi.fn();
  const abandon = vi.fn();
  const notices = new WaitNotices({ place: PLACE, abandon } as unknown as Acquisition, {
    clock: new Clock(() => performance.now()),
    name: "etl",
    onWaiting,
    explainAfterMs: 10_000,
    own: () => undefined,
    explain,
    log: (message) => said.push(message),
  });
  return { notices, said, onWaiting, abandon };
}

test("without an explanation it has only the place, after 10 s and then every minute", async () => {
  const { notices, said, onWaiting } = stage(() => Promise.reject(new Error("no right")));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(said).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(said).toEqual(['Waits for the lock "etl" since 10 s: 3 before it in the queue.']);
  expect(onWaiting).toHaveBeenCalledExactlyOnceWith({
    name: "etl",
    waitedMs: 10_000,
    place: { ...PLACE, waitedMs: 10_000 },
    summary: "3 before it in the queue",
    causes: [],
    heldByYou: false,
  });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(said).toHaveLength(3);
  notices.stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(said).toHaveLength(3);
});

test("an explanation that comes after the end of the wait is not told", async () => {
  const late = Promise.withResolvers<WaitExplanation>();
  const { notices, said, onWaiting } = stage(() => late.promise);
  await vi.advanceTimersByTimeAsync(10_000);
  notices.stop();
  late.resolve({ summary: "held", causes: [] } as unknown as WaitExplanation);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([said, onWaiting.mock.calls]).toEqual([[], []]);
});
