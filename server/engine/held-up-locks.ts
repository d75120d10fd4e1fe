// Which locks have lately been found held by transactions that are not this replica's own. For a moment they are kept out
// of the lanes; the moment grows as long as they are found so again, and is short for those that were met in passing.

import { HELD_UP_LOCKS_MAX, HELD_UP_MS, HELD_UP_MS_MAX } from "./engine-bounds.ts";
import { RecentMap } from "./recent-map.ts";

export class HeldUpLocks {
  readonly #found = new RecentMap<bigint, { readonly forMs: number; readonly untilMs: number }>(
    HELD_UP_LOCKS_MAX,
  );

  /** `atLeastMs`: how long it was waited for, if it was. */
  add(lockId: bigint, atLeastMs: number = HELD_UP_MS): void {
    const nowMs = performance.now();
    const before = this.#found.get(lockId);
    const isAgain = before !== undefined && nowMs < before.untilMs + HELD_UP_MS_MAX;
    const forMs = Math.min(Math.max(atLeastMs, isAgain ? 2 * before.forMs : 0), HELD_UP_MS_MAX);
    this.#found.set(lockId, { forMs, untilMs: nowMs + forMs });
  }

  has(lockId: bigint): boolean {
    const found = this.#found.get(lockId);
    return found !== undefined && performance.now() < found.untilMs;
  }
}
