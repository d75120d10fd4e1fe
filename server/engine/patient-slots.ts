// Where commands wait whose lock another transaction holds: a few transactions beside the lanes, each for one lock, which
// wait for its rows. Nobody else waits with them. Turns are short, so that a lock which is free soon does not wait for long
// behind those that are not.

import { isRowLocked } from "../storage/store.ts";
import { unavailable } from "./attempts.ts";
import type { Batch } from "./batch.ts";
import type { Work } from "./deciding.ts";
import { ATTEMPTS_MS_MAX } from "./engine-bounds.ts";

export interface PatientSlotsOptions {
  readonly slots: number;
  /** Decides, waiting for row locks. */
  readonly decide: (work: Work) => Promise<Batch>;
  /** The lock was found held for as long as one turn lasts. */
  readonly onHeldUp: (work: Work) => void;
  readonly onDone: (work: Work, batch: Batch) => void;
  readonly onFailure: (work: Work, error: unknown) => void;
}

interface Waiting {
  readonly work: Work;
  readonly sinceMs: number;
}

export class PatientSlots {
  readonly #options: PatientSlotsOptions;
  readonly #queued: Waiting[] = [];
  #busy = 0;

  constructor(options: PatientSlotsOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#busy === 0 && this.#queued.length === 0;
  }

  add(work: Work): void {
    this.#queued.push({ work, sinceMs: performance.now() });
    this.#fill();
  }

  #fill(): void {
    while (this.#busy < this.#options.slots) {
      const next = this.#queued.shift();
      if (!next) return;
      this.#busy += 1;
      void this.#turn(next);
    }
  }

  async #turn(waiting: Waiting): Promise<void> {
    const { decide, onHeldUp, onDone, onFailure } = this.#options;
    const { work, sinceMs } = waiting;
    let batch: Batch | undefined;
    let failure: unknown;
    try {
      batch = await decide(work);
    } catch (error) {
      failure = error;
    }
    this.#busy -= 1;
    if (batch) onDone(work, batch);
    else if (!isRowLocked(failure)) onFailure(work, failure);
    else {
      onHeldUp(work);
      if (performance.now() - sinceMs > ATTEMPTS_MS_MAX) onFailure(work, unavailable(failure));
      else this.#queued.push(waiting);
    }
    this.#fill();
  }
}
