// Looks at claims that may go on from a pool, each with its own lock. The transaction that made room at the pool says so in the
// pool's row, where the sweep of any server finds it: a look here only makes it sooner. A lock has one look at a time.

import { type ClaimKey, keyText } from "../../core/claim.ts";
import type { Advance } from "../../core/command.ts";
import { Fault, isHeldUp } from "../faults.ts";

export interface LooksOptions {
  /** Rejects with a Fault, or throws one at once. */
  readonly submit: (lockId: bigint, command: Advance) => Promise<unknown>;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Looks {
  readonly #options: LooksOptions;
  /** By lock: the claims that the next look is for. */
  readonly #wanted = new Map<bigint, Map<string, ClaimKey>>();
  readonly #underWay = new Set<bigint>();

  constructor(options: LooksOptions) {
    this.#options = options;
  }

  /** Never fails. */
  at(keys: readonly ClaimKey[]): void {
    for (const key of keys) {
      const wanted = this.#wanted.get(key.lockId);
      if (wanted) wanted.set(keyText(key), key);
      else this.#wanted.set(key.lockId, new Map([[keyText(key), key]]));
    }
    for (const { lockId } of keys) if (!this.#underWay.has(lockId)) void this.#run(lockId);
  }

  async #run(lockId: bigint): Promise<void> {
    this.#underWay.add(lockId);
    try {
      for (let wanted = this.#take(lockId); wanted; wanted = this.#take(lockId))
        await this.#options.submit(lockId, {
          verb: "advance",
          claims: [...wanted.values()],
          waits: true,
        });
    } catch (error) {
      // The sweep finds the pool again.
      this.#wanted.delete(lockId);
      if (!isHeldUp(error) && !isStopping(error)) this.#options.onFailure("advance", error);
    }
    this.#underWay.delete(lockId);
  }

  #take(lockId: bigint): Map<string, ClaimKey> | undefined {
    const wanted = this.#wanted.get(lockId);
    this.#wanted.delete(lockId);
    return wanted;
  }
}

function isStopping(error: unknown): boolean {
  return error instanceof Fault && error.reason === "shutting_down";
}
