// Which waiting captures are one line, and when a line looks again, on a fake clock.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Captured, CaptureTarget } from "../../../server/engine/answers.ts";
import {
  CAPTURE_REST_MS_MAX,
  CAPTURE_REST_SHARE,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { DueTimers } from "../../../server/engine/subscribers/decision-feed.ts";
import {
  CaptureLine,
  lineOf,
  type WaitingCapture,
} from "../../../server/engine/subscribers/waiting-captures.ts";
import { TERMS } from "../../support/claims.ts";

const POLL_MS = 1_000;

const under = (prefix: string): CaptureTarget => ({ kind: "prefix", prefix });
const named = (...names: string[]): CaptureTarget => ({ kind: "names", names });
const many = (suffix: string) =>
  named(...Array.from({ length: 1_000 }, (_, index) => `job ${index}${suffix}`));

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A line with timers of its own. */
function lineWith({ target = under(""), pollMs = POLL_MS, onEmpty = () => {} }) {
  return new CaptureLine(target, new DueTimers<CaptureLine>((line) => line.serve()), () => pollMs, onEmpty);
}

/**
 * A line with one capture, whose attempts take `takesMs` and end as `attempt` says. Records when each attempt began.
 */
function attempting(pollMs: number, attempt: () => Captured, takesMs = 0) {
  const line = lineWith({ pollMs });
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

const nameOf = (target: CaptureTarget, ...ifStatus: string[]) =>
  lineOf({ target, terms: ifStatus.length === 0 ? null : { ...TERMS, ifStatus } });

test("captures that differ in their target or their statuses are in different lines", () => {
  const lines = [
    nameOf(under("a")),
    nameOf(under("b")),
    nameOf(under("")),
    nameOf(named("a")),
    nameOf(named("a", "b")),
    nameOf(named("a,b")),
    nameOf(under("a"), "b"),
    nameOf(under("a"), "b", "c"),
    nameOf(under("a"), "b,c"),
    nameOf(many("")),
    nameOf(many("!")),
    nameOf(many(""), "b"),
  ];
  expect(new Set(lines).size).toBe(lines.length);
});

test("captures of the same locks are in one line, and a long list of names does not make its name long", () => {
  expect(nameOf(under("a"), "b")).toBe(nameOf(under("a"), "b"));
  expect(nameOf(many(""))).toBe(nameOf(many("")));
  expect(nameOf(many("")).length).toBeLessThanOrEqual(512);
});

test("while the database is away, a line looks again as soon as a client would, however seldom it looks by itself", async () => {
  const { line, beganMs } = attempting(600_000, () => {
    throw new Fault("unavailable", "connection_lost", "away", { retryAfterMs: 1 });
  });
  await vi.advanceTimersByTimeAsync(3 * UNAVAILABLE_RETRY_AFTER_MS);
  const [first = 0, second = 0] = beganMs;
  expect(second - first).toBe(UNAVAILABLE_RETRY_AFTER_MS);
  line.stop(new Error("over"));
});

test("a line that has not seen everything goes on after a rest, which grows with the work", async () => {
  const { line, beganMs } = attempting(
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

test("after a database that stalled for long, a line looks again within its bound", async () => {
  const line = lineWith({});
  let attempts = 0;
  const waiting: WaitingCapture = {
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
