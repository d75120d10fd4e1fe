// Locks whose rows other transactions hold, and the few slots for transactions that wait for such rows. A lock is held
// up "in passing" if it is held briefly, for example by another replica's transaction, and "stuck" after a failed wait.

import type { BoundUse } from "../../core/bound-use.ts";
import { RecentMap } from "../../core/recent-map.ts";
import { HELD_UP_GROWTH, HELD_UP_LOCKS_MAX, HELD_UP_MS, HELD_UP_MS_MAX, STUCK_MS } from "../engine-bounds.ts";
import type { TransactionJobs } from "./attempts.ts";

/** How other transactions hold a lock. */
export type Hold = "passing" | "stuck";

interface Found {
  readonly forMs: number;
  readonly untilMs: number;
  readonly hold: Hold;
}

/**
 * Remembers which locks were found held lately. Such locks stay out of the lanes for a time, which grows each time they
 * are found held again.
 */
export class HeldUpLocks {
  readonly #found = new RecentMap<bigint, Found>(HELD_UP_LOCKS_MAX);

  /** Another transaction held the lock just now. */
  met(lockId: bigint): void {
    const nowMs = performance.now();
    const before = this.#found.get(lockId);
    const isAgain = before !== undefined && nowMs < before.untilMs + HELD_UP_MS_MAX;
    const forMs = isAgain ? Math.min(HELD_UP_GROWTH * before.forMs, HELD_UP_MS_MAX) : HELD_UP_MS;
    this.#found.set(lockId, { forMs, untilMs: nowMs + forMs, hold: "passing" });
  }

  /** A wait for the lock has failed. */
  stuck(lockId: bigint): void {
    this.#found.set(lockId, { forMs: STUCK_MS, untilMs: performance.now() + STUCK_MS, hold: "stuck" });
  }

  state(lockId: bigint): "free" | Hold {
    const found = this.#found.get(lockId);
    return found && performance.now() < found.untilMs ? found.hold : "free";
  }
}

/** Work that waits for row locks. */
export interface HeldUpJobs {
  readonly jobs: TransactionJobs;
  readonly hold: Hold;
  readonly sinceMs: number;
}

/**
 * Chooses what the patient slots run. Locks that are held in passing wait together, because two replicas may write them
 * alternately for a long time. A stuck lock waits alone, and stuck locks never take all slots.
 */
export class PatientSlots {
  readonly #slots: number;
  readonly #queued: Readonly<Record<Hold, HeldUpJobs[]>> = { passing: [], stuck: [] };
  readonly #running: Record<Hold, number> = { passing: 0, stuck: 0 };

  constructor(slots: number) {
    this.#slots = slots;
  }

  get bound(): BoundUse {
    return { bound: "patient_slots", kind: "turns", used: this.#busy, max: this.#slots };
  }

  get isIdle(): boolean {
    return this.#busy + this.#queued.passing.length + this.#queued.stuck.length === 0;
  }

  /** Whether the slots would begin work on briefly held locks at once. */
  get hasRoom(): boolean {
    return this.#busy < this.#slots && this.#queued.passing.length === 0;
  }

  add(waiting: HeldUpJobs): void {
    this.#queued[waiting.hold].push(waiting);
  }

  /** Gives a slot to the next work, if there is one for it. Call `end` when that work is over. */
  begin(): HeldUpJobs | undefined {
    if (this.#busy >= this.#slots) return undefined;
    const mayStick = this.#running.stuck < Math.max(1, this.#slots - 1);
    const next = this.#queued.passing.shift() ?? (mayStick ? this.#queued.stuck.shift() : undefined);
    if (next) this.#running[next.hold] += 1;
    return next;
  }

  end({ hold }: HeldUpJobs): void {
    this.#running[hold] -= 1;
  }

  get #busy(): number {
    return this.#running.passing + this.#running.stuck;
  }
}
