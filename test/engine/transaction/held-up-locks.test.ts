// How long a lock is kept out of the lanes after another transaction was found holding it.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HELD_UP_MS, HELD_UP_MS_MAX, STUCK_MS } from "../../../server/engine/engine-bounds.ts";
import { HeldUpLocks } from "../../../server/engine/transaction/held-up-locks.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Expects the lock to be kept out for exactly `forMs` from now on. */
function isKeptOut(locks: HeldUpLocks, lockId: bigint, forMs: number): void {
  vi.advanceTimersByTime(forMs - 1);
  expect(locks.state(lockId)).not.toBe("free");
  vi.advanceTimersByTime(1);
  expect(locks.state(lockId)).toBe("free");
}

describe("a lock", () => {
  test("that nobody was found to hold is free", () => {
    const locks = new HeldUpLocks();
    locks.met(2n);
    expect(locks.state(1n)).toBe("free");
    expect(locks.state(2n)).toBe("passing");
  });

  test("is kept out for longer each time it is found held again, up to a bound", () => {
    const locks = new HeldUpLocks();
    for (const forMs of [50, 200, 800, 3_200, HELD_UP_MS_MAX, HELD_UP_MS_MAX]) {
      locks.met(1n);
      isKeptOut(locks, 1n, forMs);
    }
  });

  test("is kept out for the first, short time where it was free for long", () => {
    const locks = new HeldUpLocks();
    locks.met(1n);
    isKeptOut(locks, 1n, HELD_UP_MS);
    vi.advanceTimersByTime(HELD_UP_MS_MAX - 1);
    locks.met(1n);
    isKeptOut(locks, 1n, 4 * HELD_UP_MS);
    vi.advanceTimersByTime(HELD_UP_MS_MAX);
    locks.met(1n);
    isKeptOut(locks, 1n, HELD_UP_MS);
  });

  test("that was waited for in vain is stuck for a while, until it is found held in passing", () => {
    const locks = new HeldUpLocks();
    locks.stuck(1n);
    expect(locks.state(1n)).toBe("stuck");
    isKeptOut(locks, 1n, STUCK_MS);
    locks.stuck(1n);
    locks.met(1n);
    expect(locks.state(1n)).toBe("passing");
    isKeptOut(locks, 1n, 4 * STUCK_MS);
  });
});
