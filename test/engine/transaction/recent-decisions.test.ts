// What the latest decisions say about the database: no more than they can know, and only for as long as it holds.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RECENT_DECISIONS_MS } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { RecentDecisions } from "../../../server/engine/transaction/recent-decisions.ts";
import { ROW_LOCKED } from "../../../server/storage/store.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const NOTHING = {
  committed: false,
  committedMs: Number.NEGATIVE_INFINITY,
  failure: null,
  isSuspect: false,
};
const fault = (kind: Fault["kind"], reason: string) =>
  new Fault(kind, reason, "A test's.", { retryAfterMs: 1 });

function scene() {
  const onTrouble = vi.fn();
  return { decisions: new RecentDecisions(onTrouble), onTrouble };
}

describe("the last decisions", () => {
  test("say nothing before there are any", () => {
    expect(scene().decisions.recent).toEqual(NOTHING);
  });

  test("say for a while that a transaction was committed", () => {
    const { decisions, onTrouble } = scene();
    const committedMs = performance.now();
    decisions.committed();
    vi.advanceTimersByTime(RECENT_DECISIONS_MS);
    expect(decisions.recent).toEqual({ ...NOTHING, committed: true, committedMs });
    vi.advanceTimersByTime(1);
    expect(decisions.recent).toEqual({ ...NOTHING, committedMs });
    expect(onTrouble).not.toHaveBeenCalled();
  });

  test("say for a while why the last one failed, and at once that there is trouble", () => {
    const { decisions, onTrouble } = scene();
    const last = fault("unavailable", "read_only");
    decisions.failed(fault("unavailable", "connection_lost"));
    decisions.failed(last);
    expect(onTrouble).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(RECENT_DECISIONS_MS);
    expect(decisions.recent).toEqual({ ...NOTHING, failure: last, isSuspect: true });
    vi.advanceTimersByTime(1);
    expect(decisions.recent).toEqual(NOTHING);
  });

  test("of a lock that somebody else holds leave the database usable, and worth a look", () => {
    const { decisions, onTrouble } = scene();
    decisions.failed(fault("unavailable", ROW_LOCKED));
    expect(decisions.recent).toEqual({ ...NOTHING, isSuspect: true });
    expect(onTrouble).toHaveBeenCalledTimes(1);
  });

  test("that failed for a bug, or for a bound of this server, say nothing of the database", () => {
    const { decisions, onTrouble } = scene();
    for (const error of [new Error("A bug, made by a test."), fault("overloaded", "commands_queued")])
      decisions.failed(error);
    expect(decisions.recent).toEqual(NOTHING);
    expect(onTrouble).not.toHaveBeenCalled();
  });

  test("are doubted for a while where something else failed that needs the database", () => {
    const { decisions, onTrouble } = scene();
    decisions.suspected();
    expect(onTrouble).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(RECENT_DECISIONS_MS);
    expect(decisions.recent).toEqual({ ...NOTHING, isSuspect: true });
    vi.advanceTimersByTime(1);
    expect(decisions.recent).toEqual(NOTHING);
  });
});
