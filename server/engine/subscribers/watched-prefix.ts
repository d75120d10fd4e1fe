// What watches know. One watch: what it still has to report about the locks under its prefix. First comes a snapshot, page by
// page as its client takes them; then the latest state of each changed lock. It collects what is not taken, up to a bound;
// beyond that, it begins anew. All watches of this replica: the locks that they have reported or are about to report, which
// of their states are news, and which are gone. Reads nothing itself.

import type { Caller } from "../../core/command.ts";
import type { DecidedLock } from "../../storage/store.ts";
import type { LockWatch, WatchEvent, WatchUpdate } from "../answers.ts";
import { WATCH_PENDING_MAX } from "../engine-bounds.ts";
import { sourceOf } from "../fair-gate.ts";

/** What the owner of the watches reads and does for one watch. */
export interface WatchSource {
  /** The next page of a snapshot. */
  page(watch: WatchedPrefix, afterName: string | null): Promise<SnapshotPage>;
  /** The watch waits for changes. */
  sendSoon(): void;
  /** Resolves when the failed read is worth another try; otherwise rejects with the error. */
  again(error: unknown): Promise<void>;
  report(event: WatchEvent): void;
  closed(watch: WatchedPrefix): void;
}

export interface SnapshotPage {
  readonly locks: WatchUpdate["locks"];
  /** The name after which the following page begins; null: this is the last one. */
  readonly next: string | null;
}

export class WatchedPrefix implements LockWatch {
  readonly prefix: string;
  readonly caller: Caller | undefined;
  known = 0;
  readonly #source: WatchSource;
  /** Position in the snapshot; null: the snapshot is complete. */
  #snapshot: { readonly afterName: string | null } | null = { afterName: null };
  #hasSent = false;
  #beginsAnew = false;
  /** Changed locks by name. */
  readonly #pending = new Map<string, DecidedLock>();
  readonly #gone = new Set<string>();
  #closed: Error | undefined;
  /** Set while the watch waits for a change. */
  #wake: ((update: WatchUpdate | null) => void) | undefined;
  readonly #onClosed = Promise.withResolvers<null>();

  constructor(prefix: string, source: WatchSource, caller?: Caller) {
    this.prefix = prefix;
    this.caller = caller;
    this.#source = source;
  }

  /** The same for all watches of one client. */
  get owner(): unknown {
    return sourceOf(this.caller);
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  get isHungry(): boolean {
    return this.#wake !== undefined;
  }

  /** Locks to read and report. */
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
      this.#hasSent = true;
      const { locks, deleted } = update;
      this.#source.report({ kind: "watch_sent", locks: locks.length, deleted: deleted.length });
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

  /** Drops everything: what was reported is no longer valid. */
  beginAnew(): void {
    this.#snapshot = { afterName: null };
    this.#pending.clear();
    this.#gone.clear();
    this.#beginsAnew = this.#hasSent;
    this.#wakeUp(null);
  }

  changed(lock: DecidedLock): void {
    this.#gone.delete(lock.name);
    this.#pending.set(lock.name, lock);
    this.#keepBound(this.#pending.size);
  }

  /** The row is gone: drops the pending change, unless the name now belongs to another row. */
  forget({ id, name }: DecidedLock): void {
    if (this.#pending.get(name)?.id === id) this.#pending.delete(name);
  }

  gone(name: string): void {
    this.#pending.delete(name);
    this.#gone.add(name);
    this.#keepBound(this.#gone.size);
  }

  #keepBound(unread: number): void {
    // During the snapshot, all changes are kept and reported after it, however many they are.
    if (this.#snapshot || unread <= WATCH_PENDING_MAX) return;
    this.#source.report({ kind: "watch_began_anew", cause: "slow_reader" });
    this.beginAnew();
  }

  /** Sends those of its pending locks that were read, and up to `goneMax` names of locks that are gone. */
  send(locks: WatchUpdate["locks"], goneMax: number): void {
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
      // A watch that has reported nothing yet can still fail with the error.
      if (!this.#hasSent) throw error;
      await Promise.race([this.#source.again(error), this.#onClosed.promise]);
      return null;
    }
    // The watch was closed or began anew while the page was read.
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
      this.#source.sendSoon();
    });
  }

  /** Whether the lock is pending and has not changed since it was read. Removes it from the pending ones. */
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

/** By name. */
export class ReportedLocks extends Map<string, DecidedLock> {
  /** The rest of the present round over all locks. `take` leaves it open, as a Map's iterator cannot be closed. */
  #rest: IteratorObject<DecidedLock> | undefined;

  countUnder(prefix: string): number {
    return this.keys().reduce((count, name) => count + Number(name.startsWith(prefix)), 0);
  }

  /** Records the lock. Returns whether that is news. */
  see(lock: DecidedLock): boolean {
    const before = this.get(lock.name);
    if (before && before.id === lock.id && before.revision === lock.revision) return false;
    this.set(lock.name, lock);
    return true;
  }

  /** Forgets the name if it belonged to this guard row; returns whether it did. A lock that came back has another id. */
  gone({ id, name }: Pick<DecidedLock, "id" | "name">): boolean {
    return this.get(name)?.id === id && this.delete(name);
  }

  /** The next locks of a round over all of them. */
  nextOf(max: number): DecidedLock[] {
    this.#rest ??= this.values();
    const part = [...this.#rest.take(max)];
    if (part.length < max) this.#rest = undefined;
    return part;
  }

  keepOnly(isKept: (name: string) => boolean): void {
    for (const name of this.keys()) if (!isKept(name)) this.delete(name);
  }

  override clear(): void {
    super.clear();
    this.#rest = undefined;
  }
}
