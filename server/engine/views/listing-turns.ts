// The turns of listings. Only a few read at once, so that the database stays free for decisions.

import type { Caller } from "../../core/command.ts";
import { LISTINGS_AT_ONCE_MAX, LISTINGS_QUEUED_MAX } from "../engine-bounds.ts";
import { FairGate } from "../fair-gate.ts";
import { asFault } from "../faults.ts";

export class ListingTurns {
  readonly #gate: FairGate;

  /** `readers`: how many reads for display the store allows at once. */
  constructor(readers: number) {
    const atOnce = Math.min(LISTINGS_AT_ONCE_MAX, readers);
    this.#gate = new FairGate({ atOnce, queuedMax: LISTINGS_QUEUED_MAX, bound: "listings_queued" });
  }

  /**
   * Holds a turn from the first item that is taken until the caller takes no more. `isOver`: whether nobody wants any
   * item by then. Throws Faults.
   */
  async *each<Item>(
    caller: Caller | undefined,
    read: () => AsyncIterable<Item>,
    isOver?: () => boolean,
  ): AsyncGenerator<Item, void, void> {
    if (!(await this.#gate.begin(caller, isOver))) return;
    try {
      yield* read();
    } catch (error) {
      throw asFault(error);
    } finally {
      this.#gate.end();
    }
  }

  /** Reads in one turn. Throws Faults. */
  async run<Answer>(caller: Caller | undefined, read: () => Promise<Answer>): Promise<Answer> {
    return await this.#gate.run(async () => {
      try {
        return await read();
      } catch (error) {
        throw asFault(error);
      }
    }, caller);
  }
}
