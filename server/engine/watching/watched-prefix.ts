// One watch: what it has still to tell of the locks under its prefix. First a snapshot, page by page as they are taken; from
// then on the latest state of each lock that has changed. Reads nothing itself; what is not taken is gathered, up to a
// bound, and beyond it the watch begins anew.

import type { Caller } from "../../core/command.ts";
import type { DecidedLock } from "../../storage/store.ts";
import { WATCH_PENDING_MAX } from "../engine-bounds.ts";
import type { LockWatch, WatchUpdate } from "../lock-engine.ts";
import { sourceOf } from "../source-of.ts";

/** What is read for a watch, by those who own it. */
export interface WatchSource {
  /** The next page of a snapshot; `next`: after which name the one after it begins, null: this is the last one. */
  page(watch: WatchedPrefix, afterName: string | null): Promise<SnapshotPage>;
  /** The watch waits for what it has to tell of changes. */
  hungry(): void;
  /** What has failed is worth another try: resolves when. Rejects with the error otherwise. */
  again(error: unknown): Promise<void>;
  fellBehind(): void;
  told(update: WatchUpdate): void;
  closed(watch: WatchedPrefix): void;
}

export interface SnapshotPage {
  readonly locks: WatchUpdate["locks"];
  readonly next: string | null;
}

export class WatchedPrefix implements LockWatch {
  readonly prefix: string;
  /** Whose it is. */
  readonly caller: Caller | undefined;
  /** How many of the locks that are known are under its prefix. */
  known = 0;
  readonly #source: WatchSource;
  /** Of the snapshot that is being told; null: it is complete. */
  #snapshot: { readonly afterName: string | null } | null = { afterName: null };
  #hasTold = false;
  #beginsAnew = false;
  /** Locks that have changed, by name. */
  readonly #pending = new Map<string, DecidedLock>();
  readonly #gone = new Set<string>();
  #closed: Error | undefined;
  /** Set while it waits for a change. */
  #wake: ((update: WatchUpdate | null) => void) | undefined;
  readonly #onClosed = Promise.withResolvers<null>();

  constructor(prefix: string, source: WatchSource, caller?: Caller) {
    this.prefix = prefix;
    this.caller = caller;
    this.#source = source;
  }

  /** What it has in common with other watches of the same client. */
  get owner(): unknown {
    return sourceOf(this.caller);
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  get isHungry(): boolean {
    return this.#wake !== undefined;
  }

  /** Locks to be read and told. */
  get pending(): ReadonlyMap<string, DecidedLock> {
    return this.#pending;
  }

  get hasNews(): boolean {
    return this.#pending.size + this.#gone.size > 0;
  }

  async next(): Promise<WatchUpdate> {
    for (;;) {
      if (this.#closed) throw this.#closed;
      const update = this.#snapshot ? await this.#page(this.#snapshot) : await this.#changes();
      if (!update) continue;
      this.#hasTold = true;
      this.#source.told(update);
      return update;
    }
  }

  close(why: Error): void {
    if (this.#closed) return;
    this.#closed = why;
    this.#wakeUp(null);
    this.#onClosed.resolve(null);
    this.#source.closed(this);
  }

  /** What was told does not count any more. */
  beginAnew(): void {
    this.#snapshot = { afterName: null };
    this.#pending.clear();
    this.#gone.clear();
    this.#beginsAnew = this.#hasTold;
    this.#wakeUp(null);
  }

  changed(lock: DecidedLock): void {
    this.#gone.delete(lock.name);
    this.#pending.set(lock.name, lock);
    // While the snapshot is read, what changes is told after it, however much it is.
    if (this.#snapshot || this.#pending.size <= WATCH_PENDING_MAX) return;
    this.#source.fellBehind();
    this.beginAnew();
  }

  /** The row is gone: nothing is to be told of it, unless the name has come to another one. */
  forget({ id, name }: DecidedLock): void {
    if (this.#pending.get(name)?.id === id) this.#pending.delete(name);
  }

  gone(name: string): void {
    this.#pending.delete(name);
    this.#gone.add(name);
    if (this.#snapshot || this.#gone.size <= WATCH_PENDING_MAX) return;
    this.#source.fellBehind();
    this.beginAnew();
  }

  /** Takes what was read of its pending locks, and names of those that are gone, up to `goneMax`. */
  tell(locks: WatchUpdate["locks"], goneMax: number): void {
    const own = locks.filter(({ lock }) => this.#takePending(lock));
    const deleted = [...this.#gone].slice(0, goneMax);
    for (const name of deleted) this.#gone.delete(name);
    if (own.length + deleted.length === 0) return;
    this.#wakeUp({ beganAnew: false, locks: own, deleted, complete: false });
  }

  async #page(snapshot: { readonly afterName: string | null }): Promise<WatchUpdate | null> {
    let page: SnapshotPage | null;
    try {
      page = await Promise.race([this.#source.page(this, snapshot.afterName), this.#onClosed.promise]);
    } catch (error) {
      // Who has told nothing yet can be told what is wrong.
      if (!this.#hasTold) throw error;
      await Promise.race([this.#source.again(error), this.#onClosed.promise]);
      return null;
    }
    // It was closed, or began anew, while the page was read.
    if (!page || this.#snapshot !== snapshot) return null;
    for (const { lock } of page.locks) this.#takePending(lock);
    const beganAnew = this.#beginsAnew;
    this.#beginsAnew = false;
    this.#snapshot = page.next === null ? null : { afterName: page.next };
    return { beganAnew, locks: page.locks, deleted: [], complete: page.next === null };
  }

  #changes(): Promise<WatchUpdate | null> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#source.hungry();
    });
  }

  /** Whether it is to be told, and has not changed since it was read. */
  #takePending({ id, name, revision }: DecidedLock): boolean {
    const pending = this.#pending.get(name);
    return pending?.id === id && pending.revision <= revision && this.#pending.delete(name);
  }

  #wakeUp(update: WatchUpdate | null): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.(update);
  }
}
