// Notices that the rows were set back, as by a backup that was restored in place: the database then lacks the mark that this
// server wrote last. The mark is remembered outside the database: in memory, and in a file where one is configured, so that
// a server that starts notices, too.

import { randomBytes } from "node:crypto";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../core/random-numbers.ts";
import type { Store } from "../../storage/store.ts";
import { WITNESS_KEPT_US } from "../../storage/store.ts";

/** What a witness knows of the database. */
export interface Testimony {
  readonly witness: bigint;
  /** The database has one of these: the last one, or one whose writing has an unknown outcome. None: it has none yet. */
  readonly marks: readonly bigint[];
  /** The database's clock when the last mark was written. */
  readonly atUs: number;
}

/** Where a witness remembers it. Throws where it cannot. */
export interface WitnessMemory {
  /** null: this memory ends with the process. */
  read(): Promise<Testimony | null>;
  write(testimony: Testimony): Promise<void>;
}

export interface WitnessOptions {
  readonly store: Pick<Store, "mark">;
  readonly memory: WitnessMemory;
  /** Without a memory of its own a witness is the replica, and is forgotten with it. */
  readonly replica: bigint;
  /** The rows are older than what was written at this time. Rejects where that could not be noted. */
  readonly onSetBack: (writtenUs: number) => Promise<void>;
}

export class Witness {
  readonly #options: WitnessOptions;
  #known: Testimony | null | undefined;
  /** The same until it is written. */
  #next = newMark();

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** Looks for the last mark and writes the next one. Throws StoreErrors, and what the memory throws. */
  async look(): Promise<void> {
    const { store, memory, replica, onSetBack } = this.#options;
    this.#known ??= await memory.read();
    const witness = this.#known?.witness ?? replica;
    const known = this.#known?.marks.length ? this.#known.marks : null;
    const mark = this.#next;
    // First, so that it is known whatever becomes of the writing.
    if (this.#known && !this.#known.marks.includes(mark))
      await this.#remember({ ...this.#known, marks: [...this.#known.marks, mark] });
    const written = await store.mark(witness, known, mark);
    if (!written.isDone) {
      const atUs = this.#known?.atUs ?? 0;
      // The database forgets marks, too.
      if (written.nowUs - atUs < WITNESS_KEPT_US) await onSetBack(atUs);
      await store.mark(witness, null, mark);
    }
    await this.#remember({ witness, marks: [mark], atUs: written.nowUs });
    this.#next = newMark();
  }

  async #remember(testimony: Testimony): Promise<void> {
    await this.#options.memory.write(testimony);
    this.#known = testimony;
  }
}

/** Memory that ends with the process. */
export const FORGETFUL: WitnessMemory = { read: async () => null, write: async () => {} };

function newMark(): bigint {
  return randomNumberOf(randomBytes(RANDOM_NUMBER_BYTES));
}
