// Notices that the rows were set back, for example by a backup restored in place: the database then lacks the mark that
// this server wrote last. The witness remembers that mark outside the database: in memory, and in a configured file, so
// that a restarted server notices too.

import { type Store, WITNESS_KEPT_US } from "../../storage/store.ts";
import { newMark } from "../secrets.ts";
import type { CheckedStore } from "../transaction/checked-store.ts";

/** What a witness knows about the database. */
export interface Testimony {
  readonly witness: bigint;
  /** The database has one: the last mark, or one whose write has an unknown outcome. Empty: it has none yet. */
  readonly marks: readonly bigint[];
  /** The database's clock when the last mark was written. */
  readonly atUs: number;
}

/** Stores the testimony. Throws if it cannot. */
export interface WitnessMemory {
  /** null: this memory ends with the process. */
  read(): Promise<Testimony | null>;
  write(testimony: Testimony): Promise<void>;
}

export interface WitnessOptions {
  readonly store: Pick<Store, "mark">;
  readonly checked: Pick<CheckedStore, "setBack">;
  readonly memory: WitnessMemory;
  /** The witness's id if the memory ends with the process: the witness then ends with the replica. */
  readonly replica: bigint;
}

export class Witness {
  readonly #options: WitnessOptions;
  #known: Testimony | null | undefined;
  /** Stays the same until it is written. */
  #next = newMark();

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** Checks for the last mark and writes the next one. Throws StoreErrors, and what the memory throws. */
  async look(): Promise<void> {
    const { store, checked, memory, replica } = this.#options;
    this.#known ??= await memory.read();
    const witness = this.#known?.witness ?? replica;
    const known = this.#known?.marks.length ? this.#known.marks : null;
    const mark = this.#next;
    // Remembered before it is written, so that it is known whatever the outcome of the write.
    if (this.#known && !this.#known.marks.includes(mark))
      await this.#remember({ ...this.#known, marks: [...this.#known.marks, mark] });
    const written = await store.mark(witness, known, mark);
    if (!written.isDone) {
      const atUs = this.#known?.atUs ?? 0;
      // The database forgets old marks, so a missing old mark proves nothing.
      if (written.nowUs - atUs < WITNESS_KEPT_US) await checked.setBack(atUs);
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
