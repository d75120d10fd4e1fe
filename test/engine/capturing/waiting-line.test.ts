// When a line of waiting captures looks again, on a fake clock.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Waiting, WaitingLine } from "../../../server/engine/capturing/waiting-line.ts";
import {
  CAPTURE_REST_MS_MAX,
  CAPTURE_REST_SHARE,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import type { Captured } from "../../../server/engine/lock-engine.ts";

const POLL_MS = 1_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/**
 * A line with one capture, whose attempts take `takesMs` and end as `attempt` says. Records when each attempt began.
 */
function lineOf(pollMs: number, attempt: () => Captured, takesMs = 0) {
  const line = new WaitingLine(
    { kind: "prefix", prefix: "" },
    () => pollMs,
    () => {},
  );
  const beganMs: number[] = [];
  line.add(
    {
      attempt: async () => {
        beganMs.push(performance.now());
        vi.advanceTimersByTime(takesMs);
        return attempt();
      },
      canAskAgain: false,
      resolve: () => {},
      reject: () => {},
      over: null,
      inDoubt: null,
    },
    0,
  );
  return { line, beganMs };
}

test("while the database is away, a line looks again as soon as a client would, however seldom it looks by itself", async () => {
  const { line, beganMs } = lineOf(600_000, () => {
    throw new Fault("unavailable", "connection_lost", "away", { retryAfterMs: 1 });
  });
  await vi.advanceTimersByTimeAsync(3 * UNAVAILABLE_RETRY_AFTER_MS);
  const [first = 0, second = 0] = beganMs;
  expect(second - first).toBe(UNAVAILABLE_RETRY_AFTER_MS);
  line.stop(new Error("over"));
});

test("a line of which nobody has seen all that there is goes on after a rest, which grows with the work", async () => {
  const { line, beganMs } = lineOf(
    600_000,
    () => ({ leases: [], retryAfterUs: null, isCutShort: true }),
    100,
  );
  await vi.advanceTimersByTimeAsync(10_000);
  const [first = 0, second = 0, third = 0] = beganMs;
  const restMs = Math.min(100 * CAPTURE_REST_SHARE, CAPTURE_REST_MS_MAX);
  expect([second - first, third - second]).toEqual([100 + restMs, 100 + restMs]);
  line.stop(new Error("over"));
});

test("a line that has become empty looks for nobody", async () => {
  let isEmpty = 0;
  const line = new WaitingLine(
    { kind: "names", names: ["a"] },
    () => POLL_MS,
    () => {
      isEmpty += 1;
    },
  );
  const attempt = vi.fn(async (): Promise<Captured> => ({ leases: [], retryAfterUs: null }));
  const rejected: unknown[] = [];
  const waiting: Waiting = {
    ...{ attempt, canAskAgain: false, resolve: () => {}, over: null, inDoubt: null },
    reject: (why) => void rejected.push(why),
  };
  line.add(waiting, null);
  const why = new Error("given up");
  line.end(waiting, why);
  line.end(waiting, new Error("given up again"));
  await vi.advanceTimersByTimeAsync(10 * POLL_MS);
  line.serve();
  await vi.advanceTimersByTimeAsync(10 * POLL_MS);
  expect(attempt).not.toHaveBeenCalled();
  expect(rejected).toEqual([why]);
  expect([isEmpty, line.length]).toEqual([1, 0]);
  expect([line.wants("a"), line.wants("ab")]).toEqual([true, false]);
});

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
