// Remembers which locks other transactions held lately: "passing" if briefly, for example by another replica's
// transaction, "stuck" after a failed wait. Such locks stay out of the lanes for a time, which grows each time they
// are found held again.

import { HELD_UP_GROWTH, HELD_UP_LOCKS_MAX, HELD_UP_MS, HELD_UP_MS_MAX, STUCK_MS } from "../engine-bounds.ts";
import { RecentMap } from "../recent-map.ts";

interface Found {
  readonly forMs: number;
  readonly untilMs: number;
  readonly isStuck: boolean;
}

export class HeldUpLocks {
  readonly #found = new RecentMap<bigint, Found>(HELD_UP_LOCKS_MAX);

  /** Another transaction held the lock just now. */
  met(lockId: bigint): void {
    const nowMs = performance.now();
    const before = this.#found.get(lockId);
    const isAgain = before !== undefined && nowMs < before.untilMs + HELD_UP_MS_MAX;
    const forMs = isAgain ? Math.min(HELD_UP_GROWTH * before.forMs, HELD_UP_MS_MAX) : HELD_UP_MS;
    this.#found.set(lockId, { forMs, untilMs: nowMs + forMs, isStuck: false });
  }

  /** A wait for the lock has failed. */
  stuck(lockId: bigint): void {
    this.#found.set(lockId, { forMs: STUCK_MS, untilMs: performance.now() + STUCK_MS, isStuck: true });
  }

  state(lockId: bigint): "free" | "passing" | "stuck" {
    const found = this.#found.get(lockId);
    if (!found || performance.now() >= found.untilMs) return "free";
    return found.isStuck ? "stuck" : "passing";
  }
}
