// The few slots for transactions that wait for rows which other transactions hold.

import type { BoundUse } from "../../core/bound-use.ts";
import type { Hold } from "./locks.ts";
import type { TransactionAsks } from "./transaction.ts";

export interface HeldUpAsks {
  readonly asks: TransactionAsks;
  readonly hold: Hold;
  readonly sinceMs: number;
}

/**
 * Chooses what the patient slots run. Locks that are held in passing wait together, because two replicas may write them
 * alternately for a long time. A stuck lock waits alone, and stuck locks never take all slots.
 */
export class PatientSlots {
  readonly #slots: number;
  readonly #queued: Readonly<Record<Hold, HeldUpAsks[]>> = { passing: [], stuck: [] };
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

  add(waiting: HeldUpAsks): void {
    this.#queued[waiting.hold].push(waiting);
  }

  /** Gives a slot to the next work, if there is one for it. Call `end` when that work is over. */
  begin(): HeldUpAsks | undefined {
    if (this.#busy >= this.#slots) return undefined;
    const mayStick = this.#running.stuck < Math.max(1, this.#slots - 1);
    const next = this.#queued.passing.shift() ?? (mayStick ? this.#queued.stuck.shift() : undefined);
    if (next) this.#running[next.hold] += 1;
    return next;
  }

  end({ hold }: HeldUpAsks): void {
    this.#running[hold] -= 1;
  }

  get #busy(): number {
    return this.#running.passing + this.#running.stuck;
  }
}
