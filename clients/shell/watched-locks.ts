// The state of watched locks, as servers send it: kept from one connection to the next, to find out what has changed.

import type { LockView, RowlockClient } from "../typescript/src/index.ts";

/** One lock, or all whose names begin with a prefix. */
export type Watched = { readonly name: string } | { readonly prefix: string };

/** Parses the argument: a prefix ends in a slash or a star, or is empty. The star is not part of the prefix. */
export function watchedOf(text: string): Watched {
  if (text === "" || text.endsWith("/")) return { prefix: text };
  return text.endsWith("*") ? { prefix: text.slice(0, -1) } : { name: text };
}

export interface Changes {
  /** Some earlier changes may not have been reported. */
  readonly beganAnew: boolean;
  /** Locks in their new state. The renewal of a lease is no change. */
  readonly changed: readonly LockView[];
  /** Names of locks that no longer exist. */
  readonly gone: readonly string[];
}

export class WatchedLocks {
  readonly #watched: Watched;
  readonly #locks = new Map<string, LockView>();
  #wasSeen = false;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Whether the locks were ever seen. */
  get wasSeen(): boolean {
    return this.#wasSeen;
  }

  /** The locks in their latest state, sorted by name. */
  get locks(): readonly LockView[] {
    return [...this.#locks.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Yields whenever a server has sent something. Throws a RowlockError, or the reason of `ended`. */
  changes(rowlock: RowlockClient, ended: AbortSignal): AsyncGenerator<Changes, void, undefined> {
    const watched = this.#watched;
    return "name" in watched
      ? this.#ofName(watched.name, rowlock, ended)
      : this.#ofPrefix(watched.prefix, rowlock, ended);
  }

  async *#ofPrefix(prefix: string, rowlock: RowlockClient, signal: AbortSignal): AsyncGenerator<Changes> {
    let snapshot: Map<string, LockView> | null = new Map();
    for await (const update of rowlock.watchLocks({ prefix, signal })) {
      if (update.beganAnew) snapshot = new Map();
      if (!snapshot) {
        yield this.#take(update.locks, update.deleted, false);
        continue;
      }
      for (const lock of update.locks) snapshot.set(lock.name, lock);
      for (const name of update.deleted) snapshot.delete(name);
      if (!update.complete) continue;
      const there: ReadonlyMap<string, LockView> = snapshot;
      snapshot = null;
      const gone = [...this.#locks.keys()].filter((name) => !there.has(name));
      yield this.#take([...there.values()], gone, this.#wasSeen);
    }
  }

  /**
   * A watch does not show all holders of a lock, nor a lock that nobody has used, so it only shows when to read the
   * lock.
   */
  async *#ofName(name: string, rowlock: RowlockClient, signal: AbortSignal): AsyncGenerator<Changes> {
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => {});
    const end = () => ended.reject(signal.reason);
    signal.addEventListener("abort", end);
    let isComplete = false;
    try {
      for await (const update of rowlock.watchLocks({ prefix: name, signal })) {
        if (update.beganAnew) isComplete = false;
        const isFirst = !isComplete && update.complete;
        isComplete ||= update.complete;
        const isNamed = update.deleted.includes(name) || update.locks.some((lock) => lock.name === name);
        if (!isFirst && !(isComplete && isNamed)) continue;
        const lock = await Promise.race([rowlock.getLock(name), ended.promise]);
        yield this.#take([lock], [], isFirst && this.#wasSeen);
      }
    } finally {
      signal.removeEventListener("abort", end);
    }
  }

  #take(locks: readonly LockView[], deleted: readonly string[], beganAnew: boolean): Changes {
    this.#wasSeen = true;
    const changed = locks.filter((lock) => {
      const before = this.#locks.get(lock.name);
      return !before || stateOf(before) !== stateOf(lock);
    });
    for (const lock of locks) this.#locks.set(lock.name, lock);
    return { beganAnew, changed, gone: deleted.filter((name) => this.#locks.delete(name)) };
  }
}

function stateOf(lock: LockView): string {
  return JSON.stringify(lock, (key, value) =>
    key === "expiresAt" ? undefined : typeof value === "bigint" ? String(value) : value,
  );
}
