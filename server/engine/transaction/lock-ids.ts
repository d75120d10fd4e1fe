// Resolves a lock's name to the id of its guard row. Remembers ids, because they rarely change. A user of an id checks
// the name under the guard row's lock; if the id was stale, it calls `forget` and asks again.

import type { RoomForNames } from "../../storage/store.ts";
import {
  LOCK_IDS_MAX,
  NEW_NAMES_RETRY_AFTER_MS,
  OVERLOADED_RETRY_AFTER_MS,
  RESOLVE_NAMES_MAX,
  RESOLVE_QUEUED_MAX,
} from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import { RecentMap } from "../recent-map.ts";
import { NewNames } from "./new-names.ts";

export interface LockIdsOptions {
  /** Store.resolve, with retries. Leaves out new names for which there is no room. */
  readonly resolve: (names: readonly string[], roomFor: RoomForNames) => Promise<ReadonlyMap<string, bigint>>;
  /** Unset: any number may be created. */
  readonly newNames?: NewNames;
}

interface Asked {
  readonly promise: Promise<bigint>;
  readonly resolve: (id: bigint) => void;
  readonly reject: (error: unknown) => void;
}

export class LockIds {
  readonly #options: LockIdsOptions;
  /** Each use sets the entry again, so that the last used entries are kept. */
  readonly #known = new RecentMap<string, bigint>(LOCK_IDS_MAX);
  readonly #asked = new Map<string, Asked>();
  readonly #newNames: NewNames;
  #busy = false;

  constructor(options: LockIdsOptions) {
    this.#options = options;
    this.#newNames = options.newNames ?? new NewNames(Number.POSITIVE_INFINITY);
  }

  /**
   * The id, at once if it is known; otherwise looked up together with other names that are asked for meanwhile. Throws
   * a Fault if too many names wait; rejects with a Fault if the name is new and too many were created lately.
   */
  get(name: string): bigint | Promise<bigint> {
    const known = this.#known.get(name);
    if (known !== undefined) {
      this.#known.set(name, known);
      return known;
    }
    const asked = this.#asked.get(name) ?? this.#ask(name);
    return asked.promise;
  }

  /** The id, if it is known. */
  known(name: string): bigint | undefined {
    return this.#known.get(name);
  }

  /** Call when the guard row with this id is gone or has another name. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  #ask(name: string): Asked {
    if (this.#asked.size >= RESOLVE_QUEUED_MAX) {
      throw new Fault("overloaded", "names_queued", "Too many new names are waiting for the database.", {
        retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
      });
    }
    const asked = Promise.withResolvers<bigint>();
    this.#asked.set(name, asked);
    if (!this.#busy) {
      this.#busy = true;
      setImmediate(() => void this.#lookUp());
    }
    return asked;
  }

  async #lookUp(): Promise<void> {
    while (this.#asked.size > 0) {
      const part = [...this.#asked].slice(0, RESOLVE_NAMES_MAX);
      for (const [name] of part) this.#asked.delete(name);
      try {
        let isFull = false;
        const roomFor = (missing: number) => {
          const room = this.#newNames.take(missing);
          isFull = room < missing;
          return room;
        };
        const ids = await this.#options.resolve(
          part.map(([name]) => name),
          roomFor,
        );
        for (const [name, asked] of part) {
          const id = ids.get(name);
          if (id !== undefined) {
            this.#known.set(name, id);
            asked.resolve(id);
          } else if (isFull) asked.reject(this.#tooManyNew());
          else throw new Error("The store resolved a batch of names without one of them.");
        }
      } catch (error) {
        for (const [, asked] of part) asked.reject(error);
        // If the database is away, each further part would wait as long to find that out. So the other names are
        // refused now.
        if (error instanceof Fault) this.#refuseAll(error);
      }
    }
    this.#busy = false;
  }

  #tooManyNew(): Fault {
    return new Fault(
      "overloaded",
      "names_created",
      `This server creates at most ${this.#newNames.perSecond} new names of locks a second.`,
      { retryAfterMs: NEW_NAMES_RETRY_AFTER_MS },
    );
  }

  #refuseAll(fault: Fault): void {
    for (const asked of this.#asked.values()) asked.reject(fault);
    this.#asked.clear();
  }
}
