// Reads that complete an answer: first holders, places, limits. They share the readers of the store with the reads of
// feeds and searches, and all of them take turns, so that the database stays free for decisions.

import { SHOWN_BY_REFUSAL_MAX } from "../../core/bounds.ts";
import type { Claim } from "../../core/claim.ts";
import type { Caller } from "../../core/command.ts";
import { type EffectiveLimit, effectiveLimit } from "../../core/limit.ts";
import type { LockView, Store } from "../../storage/store.ts";
import { ANSWERS_QUEUED_MAX, LISTINGS_AT_ONCE_MAX } from "../engine-bounds.ts";
import { FairGate } from "../fair-gate.ts";
import { inOwnTick, viewOrUnused } from "./views.ts";

/** What feeds and searches read. */
type InTurn = Pick<Store, "decidedSince" | "poll" | "limitRules" | "freeLocks" | "claimsByRequest">;

export class Reads {
  readonly #store: Omit<Store, "transact" | "failOver">;
  readonly #gate: FairGate;
  readonly #holders: SharedRead<bigint, { nowUs: number; claims: Claim[] }>;
  readonly #names: SharedRead<bigint, LockView[]>;
  /** The same reads as of the store. Each waits for its turn, and then has its own tick of the event loop. */
  readonly inTurn: InTurn;

  constructor(store: Omit<Store, "transact" | "failOver">) {
    this.#store = store;
    const atOnce = Math.max(1, store.readers - LISTINGS_AT_ONCE_MAX);
    const gate = new FairGate({ atOnce, queuedMax: ANSWERS_QUEUED_MAX, bound: "answers_queued" });
    this.#gate = gate;
    this.#holders = new SharedRead((lockId, caller) =>
      gate.run(() => store.holders(lockId, SHOWN_BY_REFUSAL_MAX), caller),
    );
    this.#names = new SharedRead((lockId, caller) => gate.run(() => store.views([lockId], 0), caller));
    const inTurn = <Read>(read: () => Promise<Read>) => gate.run(() => inOwnTick(read));
    this.inTurn = {
      decidedSince: (...asked) => inTurn(() => store.decidedSince(...asked)),
      poll: (...asked) => inTurn(() => store.poll(...asked)),
      limitRules: () => inTurn(() => store.limitRules()),
      freeLocks: (...asked) => inTurn(() => store.freeLocks(...asked)),
      claimsByRequest: (ids) => inTurn(() => store.claimsByRequest(ids)),
    };
  }

  get bounds(): FairGate["bounds"] {
    return this.#gate.bounds;
  }

  /** First holders of a lock. Many calls for one lock share one read. */
  holders(lockId: bigint, caller?: Caller): Promise<{ nowUs: number; claims: readonly Claim[] }> {
    return this.#holders.get(lockId, caller);
  }

  /** The name of the lock with this id; null: there is none. */
  async lockName(lockId: bigint, caller?: Caller): Promise<string | null> {
    const [view] = await this.#names.get(lockId, caller);
    return view?.lock.name ?? null;
  }

  queue(lockId: bigint, caller?: Caller): ReturnType<Store["queue"]> {
    return this.#gate.run(() => this.#store.queue(lockId), caller);
  }

  poolQueue(poolId: bigint, caller?: Caller): ReturnType<Store["poolQueue"]> {
    return this.#gate.run(() => this.#store.poolQueue(poolId), caller);
  }

  /** The limit in force for a name. */
  limit(name: string, caller?: Caller): Promise<EffectiveLimit> {
    return this.#gate.run(async () => {
      const rules = await this.#store.limitRules();
      return effectiveLimit((await viewOrUnused(this.#store, name, 0)).lock, rules);
    }, caller);
  }
}

/**
 * One read for many callers. While a read of a key runs, everyone who asks for that key shares the next one. So each
 * caller sees a state no older than its question, and a hot key costs at most two reads at a time.
 */
export class SharedRead<Key, Value> {
  readonly #read: (key: Key, caller: Caller | undefined) => Promise<Value>;
  readonly #running = new Map<Key, { current: Promise<Value>; next: Promise<Value> | undefined }>();

  constructor(read: (key: Key, caller: Caller | undefined) => Promise<Value>) {
    this.#read = read;
  }

  /** A shared read counts as that of the first `caller` who asked for it. */
  get(key: Key, caller?: Caller): Promise<Value> {
    const start = () => this.#start(key, caller);
    const running = this.#running.get(key);
    if (!running) return start();
    running.next ??= running.current.then(start, start);
    return running.next;
  }

  #start(key: Key, caller: Caller | undefined): Promise<Value> {
    const current = this.#read(key, caller);
    const entry = { current, next: undefined as Promise<Value> | undefined };
    this.#running.set(key, entry);
    const done = () => {
      // If a next read was asked for, it replaces the entry.
      if (this.#running.get(key) === entry && !entry.next) this.#running.delete(key);
    };
    current.then(done, done);
    return current;
  }
}
