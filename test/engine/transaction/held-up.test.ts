// How long a lock is kept out of the lanes after another transaction was found holding it, and which of the transactions
// that wait for row locks run: stuck locks never take all patient slots, and briefly contended locks come first.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HELD_UP_MS, HELD_UP_MS_MAX, STUCK_MS } from "../../../server/engine/engine-bounds.ts";
import { type HeldUpAsks, PatientSlots } from "../../../server/engine/transaction/held-up.ts";
import { LockEntry } from "../../../server/engine/transaction/locks.ts";
import type { AsksByLock } from "../../../server/engine/transaction/transaction.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Expects the lock to be kept out for exactly `forMs` from now on. */
function isKeptOut(lock: LockEntry, forMs: number): void {
  vi.advanceTimersByTime(forMs - 1);
  expect(lock.hold).not.toBe("free");
  vi.advanceTimersByTime(1);
  expect(lock.hold).toBe("free");
}

describe("a lock", () => {
  test("is excluded for longer each time it is found held again, up to a bound", () => {
    const lock = new LockEntry(1n);
    for (const forMs of [50, 200, 800, 3_200, HELD_UP_MS_MAX, HELD_UP_MS_MAX]) {
      lock.met();
      isKeptOut(lock, forMs);
    }
  });

  test("is excluded for the first, short time if it was free for long", () => {
    const lock = new LockEntry(1n);
    lock.met();
    isKeptOut(lock, HELD_UP_MS);
    vi.advanceTimersByTime(HELD_UP_MS_MAX - 1);
    lock.met();
    isKeptOut(lock, 4 * HELD_UP_MS);
    vi.advanceTimersByTime(HELD_UP_MS_MAX);
    lock.met();
    isKeptOut(lock, HELD_UP_MS);
  });

  test("whose wait failed is stuck for a while, until it is found held briefly", () => {
    const lock = new LockEntry(1n);
    lock.stuck();
    expect(lock.hold).toBe("stuck");
    isKeptOut(lock, STUCK_MS);
    lock.stuck();
    lock.met();
    expect(lock.hold).toBe("passing");
    isKeptOut(lock, 4 * STUCK_MS);
  });
});

describe("the patient slots", () => {
  /** Work on these locks, in the order in which it was added. */
  function scene(slots: number) {
    const patient = new PatientSlots(slots);
    const running: HeldUpAsks[] = [];
    const run = () => {
      for (let next = patient.begin(); next; next = patient.begin()) running.push(next);
      return running.map(({ asks }) => [...asks.byLock.keys()]);
    };
    return {
      patient,
      run,
      add(hold: HeldUpAsks["hold"], ...lockIds: bigint[]) {
        const byLock: AsksByLock = new Map(lockIds.map((id) => [id, []]));
        patient.add({ asks: { byLock, earlier: [] }, hold, sinceMs: 0 });
        return run();
      },
      end(index: number) {
        patient.end(running[index] as HeldUpAsks);
        return run();
      },
    };
  }

  test("keep a slot from stuck locks for those that are held briefly", () => {
    const { patient, add, end } = scene(3);
    for (const lockId of [1n, 2n, 3n, 4n]) add("stuck", lockId);
    expect(patient.hasRoom).toBe(true);
    expect(add("passing", 7n, 8n)).toEqual([[1n], [2n], [7n, 8n]]);
    expect(patient.hasRoom).toBe(false);
    expect(end(2)).toHaveLength(3);
    expect(end(0).slice(3)).toEqual([[3n]]);
  });

  test("serve stuck locks as well if there is only one slot, after those that are held briefly", () => {
    const { patient, add, end } = scene(1);
    add("stuck", 1n);
    add("stuck", 2n);
    expect(add("passing", 3n)).toEqual([[1n]]);
    expect(patient.hasRoom).toBe(false);
    end(0);
    expect(end(1)).toEqual([[1n], [3n], [2n]]);
    expect(patient.isIdle).toBe(false);
    end(2);
    expect(patient.isIdle).toBe(true);
  });
});
