// When a line of waiting captures looks again, by a clock of the test.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Waiting, WaitingLine } from "../../../server/engine/capturing/waiting-line.ts";
import { CAPTURE_REST_MS_MAX } from "../../../server/engine/engine-bounds.ts";

const POLL_MS = 1_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

test("after a database that stalled for long, a line looks again within its bound", async () => {
  const line = new WaitingLine(
    { kind: "prefix", prefix: "" },
    () => POLL_MS,
    () => {},
  );
  let attempts = 0;
  const waiting: Waiting = {
    attempt: async () => {
      attempts += 1;
      vi.advanceTimersByTime(6_000);
      return { leases: [], retryAfterUs: null };
    },
    canAskAgain: false,
    resolve: () => {},
    reject: () => {},
    over: null,
    inDoubt: null,
  };
  line.add(waiting, 0);
  await vi.advanceTimersByTimeAsync(POLL_MS);
  expect(attempts).toBe(1);
  await vi.advanceTimersByTimeAsync(CAPTURE_REST_MS_MAX);
  expect(attempts).toBe(2);
  line.stop(new Error("over"));
});
