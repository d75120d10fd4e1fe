// A few transactions beside the lanes that wait for row locks: they run the commands whose locks other transactions
// hold. Locks that are held only briefly wait together, because two replicas may write them alternately for a long
// time. After a wait has failed, the lock is stuck: it waits alone, and stuck locks never take all slots.

import { ROLLED_BACK } from "../../storage/retry.ts";
import { isRowLocked } from "../../storage/store.ts";
import { Fault } from "../faults.ts";
import { unavailable } from "./attempts.ts";
import type { Batch } from "./batch.ts";
import { parts, type Work } from "./deciding.ts";

export interface PatientSlotsOptions {
  readonly slots: number;
  /** Decides, waiting for row locks. */
  readonly decide: (work: Work) => Promise<Batch>;
  /** Called after a wait for the lock has failed. */
  readonly onStuck: (lockId: bigint) => void;
  readonly onDone: (work: Work, batch: Batch) => void;
  readonly onFailure: (work: Work, error: unknown) => void;
}

interface Waiting {
  readonly work: Work;
  readonly sinceMs: number;
  readonly isStuck: boolean;
}

export class PatientSlots {
  readonly #options: PatientSlotsOptions;
  readonly #passing: Waiting[] = [];
  readonly #stuck: Waiting[] = [];
  #busy = 0;
  #busyWithStuck = 0;

  constructor(options: PatientSlotsOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#busy + this.#passing.length + this.#stuck.length === 0;
  }

  /** Whether the slots would begin work on briefly held locks at once. */
  get hasRoom(): boolean {
    return this.#busy < this.#options.slots && this.#passing.length === 0;
  }

  /** `isStuck`: the work concerns one lock, for which a wait has failed before. */
  add(work: Work, isStuck: boolean): void {
    this.#queue({ work, sinceMs: performance.now(), isStuck });
    this.#fill();
  }

  #queue(waiting: Waiting): void {
    (waiting.isStuck ? this.#stuck : this.#passing).push(waiting);
  }

  #fill(): void {
    const { slots } = this.#options;
    while (this.#busy < slots) {
      const mayStick = this.#busyWithStuck < Math.max(1, slots - 1);
      const next = this.#passing.shift() ?? (mayStick ? this.#stuck.shift() : undefined);
      if (!next) return;
      void this.#turn(next);
    }
  }

  async #turn(waiting: Waiting): Promise<void> {
    const { decide, onDone, onFailure } = this.#options;
    const { work, isStuck } = waiting;
    this.#busy += 1;
    if (isStuck) this.#busyWithStuck += 1;
    let batch: Batch | undefined;
    let failure: unknown;
    try {
      batch = await decide(work);
    } catch (error) {
      failure = error;
    }
    this.#busy -= 1;
    if (isStuck) this.#busyWithStuck -= 1;
    if (batch) onDone(work, batch);
    else if (work.jobs.size > 1 && !(failure instanceof Fault)) this.#divide(waiting);
    else if (isRowLocked(failure)) this.#waitedInVain(waiting, unavailable(failure));
    else onFailure(work, failure);
    this.#fill();
  }

  /** Divides the work, so that one lock does not spoil it for the others. */
  #divide({ work, sinceMs, isStuck }: Waiting): void {
    for (const part of parts(work, work.jobs.size)) this.#queue({ work: part, sinceMs, isStuck });
  }

  #waitedInVain({ work, sinceMs }: Waiting, fault: Fault): void {
    const { onStuck, onFailure } = this.#options;
    for (const lockId of work.jobs.keys()) onStuck(lockId);
    if (performance.now() - sinceMs > ROLLED_BACK.longestMs) onFailure(work, fault);
    else this.#queue({ work, sinceMs, isStuck: true });
  }
}
