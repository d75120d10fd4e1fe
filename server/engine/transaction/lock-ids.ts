// Resolves a lock's name to the id of its guard row. The table of locks remembers ids, because they rarely change. A user
// of an id checks the name under the guard row's lock; if the id was stale, it calls `forgetName` and asks again.

import { Allowance } from "../../core/allowance.ts";
import type { BoundUse } from "../../core/bound-use.ts";
import type { Caller } from "../../core/command.ts";
import type { Store } from "../../storage/store.ts";
import type { EngineObserver } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { Fault, overloaded } from "../faults.ts";
import type { Locks } from "./locks.ts";
import { withAttempts } from "./transaction.ts";

export interface LockIdsOptions {
  readonly locks: Locks;
  readonly store: Pick<Store, "resolve">;
  readonly observer: EngineObserver;
  readonly health: { failed(error: unknown): void };
  /** New names of locks that this server may create per second; unset: any number. */
  readonly namesPerSecond?: number | undefined;
}

/** A name that is looked up for all who asked for it meanwhile. */
interface AskedName extends PromiseWithResolvers<bigint> {
  readonly callers: (Caller | undefined)[];
}

export class LockIds {
  readonly #options: LockIdsOptions;
  readonly #asked = new Map<string, AskedName>();
  /** Each new name leaves a row in the database for days, and an entry in this server's caches. */
  readonly #newNames = new Allowance();
  readonly #namesPerSecond: number;
  #busy = false;

  constructor(options: LockIdsOptions) {
    this.#options = options;
    this.#namesPerSecond = options.namesPerSecond ?? Number.POSITIVE_INFINITY;
  }

  get bounds(): readonly BoundUse[] {
    const created = this.#newNames.taken(performance.now());
    return [
      { bound: "names_queued", kind: "room", used: this.#asked.size, max: bounds.RESOLVE_QUEUED_MAX },
      { bound: "names_created", kind: "room", used: created, max: this.#namesAtOnce },
    ];
  }

  /**
   * Looks the id up, together with other names that are asked for meanwhile. For names that are not known. Throws a Fault
   * if too many names wait; rejects with a Fault if the name is new and too many were created lately.
   */
  lookUp(name: string, caller?: Caller): Promise<bigint> {
    const asked = this.#asked.get(name) ?? this.#ask(name);
    asked.callers.push(caller);
    return asked.promise;
  }

  #ask(name: string): AskedName {
    if (this.#asked.size >= bounds.RESOLVE_QUEUED_MAX)
      throw overloaded("names_queued", "Too many new names are waiting for the database.");
    const asked = { ...Promise.withResolvers<bigint>(), callers: [] };
    this.#asked.set(name, asked);
    if (!this.#busy) {
      this.#busy = true;
      setImmediate(() => void this.#lookUp());
    }
    return asked;
  }

  async #lookUp(): Promise<void> {
    const { locks, store, observer, health } = this.#options;
    while (this.#asked.size > 0) {
      const part = [...this.#asked].slice(0, bounds.RESOLVE_NAMES_MAX);
      for (const [name] of part) this.#asked.delete(name);
      try {
        const asked = new Map(part);
        const refused = new Map<string, Fault>();
        const mayMake = (missing: readonly string[]) =>
          missing.filter((name) => {
            const why = this.#refusal(asked.get(name)?.callers ?? []);
            if (why) refused.set(name, why);
            return !why;
          });
        const names = part.map(([name]) => name);
        const ids = await withAttempts(() => store.resolve(names, mayMake), observer);
        for (const [name, asked] of part) {
          const id = ids.get(name);
          const why = refused.get(name);
          if (id !== undefined) {
            locks.learn(id, name);
            asked.resolve(id);
          } else if (why) asked.reject(why);
          else throw new Error("The store resolved a batch of names without one of them.");
        }
      } catch (error) {
        health.failed(error);
        for (const [, asked] of part) asked.reject(error);
        // If the database is away, each further part would wait as long to find that out. So the other names are
        // refused now.
        if (error instanceof Fault) this.#refuseAll(error);
      }
    }
    this.#busy = false;
  }

  /** How many new names may be created at once after a while without any. */
  get #namesAtOnce(): number {
    return this.#namesPerSecond * bounds.NEW_NAMES_BURST_S;
  }

  /** Why a new name is not made; undefined: it is, for the first of these callers that may make one. */
  #refusal(callers: readonly (Caller | undefined)[]): Fault | undefined {
    if (callers.every((caller) => caller?.mayMakeName?.() === false)) {
      const message =
        "The policy of this server gives this caller no more new names of locks in this minute.";
      return overloaded("quota_names", message, bounds.NEW_NAMES_RETRY_AFTER_MS);
    }
    const perSecond = this.#namesPerSecond;
    const allowed = { most: this.#namesAtOnce, spanMs: bounds.NEW_NAMES_BURST_S * 1_000 };
    if (perSecond === Number.POSITIVE_INFINITY) return undefined;
    if (this.#newNames.take(1, allowed, performance.now()) === 1) return undefined;
    const message = `This server creates at most ${perSecond} new names of locks a second.`;
    return overloaded("names_created", message, bounds.NEW_NAMES_RETRY_AFTER_MS);
  }

  #refuseAll(fault: Fault): void {
    for (const asked of this.#asked.values()) asked.reject(fault);
    this.#asked.clear();
  }
}
