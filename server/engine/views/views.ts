// Locks and limits as people and tools see them; nothing here decides anything. Bounds how many views are read at once,
// so that the database stays free for decisions. Reads no more than is taken: when the caller stops, the reading stops.
// Throws Faults.

import { SHOWN_BY_GET_MAX } from "../../core/bounds.ts";
import type { Caller } from "../../core/command.ts";
import type { EffectiveLimit, LimitRule } from "../../core/limit.ts";
import { effectiveLimit } from "../../core/limit.ts";
import type { Lock } from "../../core/lock.ts";
import type { LockView, Store, WaitedLock } from "../../storage/store.ts";
import { LISTINGS_AT_ONCE_MAX, LISTINGS_QUEUED_MAX } from "../engine-bounds.ts";
import { FairGate } from "../fair-gate.ts";
import type { LimitSetting, LimitsQuery, LocksQuery, ViewedLock } from "../lock-engine.ts";
import { asFault } from "../transaction/attempts.ts";
import { limitSettings } from "./limit-settings.ts";
import { inOwnTurn, lockSteps, viewSteps } from "./lock-steps.ts";

type Source = Pick<Store, "view" | "list" | "views" | "waitedLocks" | "limitRules">;

export class Views {
  readonly #store: Source;
  readonly #turns: FairGate;

  constructor(store: Source, readers: number) {
    this.#store = store;
    const atOnce = Math.min(LISTINGS_AT_ONCE_MAX, readers);
    this.#turns = new FairGate({ atOnce, queuedMax: LISTINGS_QUEUED_MAX, bound: "listings_queued" });
  }

  /** Shows an unused name as it would be, without making a row. */
  async view(name: string, caller?: Caller): Promise<ViewedLock> {
    const shown = this.#inTurn(caller, async function* (store, rules) {
      const view = await inOwnTurn(() => store.view(name, SHOWN_BY_GET_MAX));
      yield described(view ?? { lock: unused(name), holders: [], waiters: [] }, rules);
    });
    for await (const lock of shown) return lock;
    throw new Error(`Nothing was read of the lock ${name}.`);
  }

  /** `isOver`: whether nobody wants more; the reading then stops. */
  views(query: LocksQuery, caller?: Caller, isOver = () => false): AsyncIterable<ViewedLock> {
    const read = async function* (store: Source, rules: readonly LimitRule[]) {
      for await (const locks of listed(store, query)) {
        if (isOver()) return;
        for await (const view of viewSteps(store, locks)) yield described(view, rules);
      }
    };
    return this.#inTurn(caller, read, isOver);
  }

  /** Those of the given locks that exist. */
  viewsOf(locks: readonly WaitedLock[]): AsyncIterable<ViewedLock> {
    return this.#inTurn(undefined, async function* (store, rules) {
      for await (const view of viewSteps(store, locks)) yield described(view, rules);
    });
  }

  limits(query: LimitsQuery, caller?: Caller): AsyncIterable<LimitSetting> {
    return this.#inTurn(caller, (store, rules) => limitSettings(store, rules, query));
  }

  /** Holds a turn from the first item that is taken until the caller takes no more. */
  async *#inTurn<Item>(
    caller: Caller | undefined,
    read: (store: Source, rules: readonly LimitRule[]) => AsyncIterable<Item>,
    isOver = () => false,
  ): AsyncGenerator<Item, void, void> {
    if (!(await this.#turns.begin(caller, isOver))) return;
    try {
      const rules = await inOwnTurn(async () => (isOver() ? null : await this.#store.limitRules()));
      if (rules && !isOver()) yield* read(this.#store, rules);
    } catch (error) {
      throw asFault(error);
    } finally {
      this.#turns.end();
    }
  }
}

/** The limit in force for a name. Throws StoreErrors. */
export async function limitFor(
  store: Pick<Store, "view" | "limitRules">,
  name: string,
): Promise<EffectiveLimit> {
  const rules = await store.limitRules();
  const view = await store.view(name, 0);
  return effectiveLimit(view?.lock ?? unused(name), rules);
}

async function* listed(store: Source, { prefix, afterName, max, busyOnly, order }: LocksQuery) {
  if (order === "name") yield* lockSteps(store, { prefix, afterName, max, which: busyOnly ? "busy" : "all" });
  else yield await inOwnTurn(() => store.waitedLocks(prefix, order, max));
}

function described(view: LockView, rules: readonly LimitRule[]): ViewedLock {
  return { ...view, limit: effectiveLimit(view.lock, rules) };
}

/** The guard row that the first user of the name would find. */
function unused(name: string): Lock {
  return {
    id: 0n,
    name,
    limit: null,
    limitVersion: 0n,
    limitReason: "",
    nextTicket: 1n,
    lastToken: 0n,
    heldPermits: 0,
    sharedHolders: 0,
    exclusiveHolders: 0,
    holders: 0,
    waiting: 0,
    waitingPermits: 0,
    changeMark: 0n,
    recordFloor: 0n,
    record: null,
    revision: 0n,
  };
}
