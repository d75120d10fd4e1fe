// All watches of this replica. They learn of changes from the feed. A deleted row leaves nothing that a sweep could
// find, so the locks that watches know are checked, a part of them each second, once for all watches. The check is not
// part of the waiters' poll: it queues with the reads that complete answers, and a waiter must not wait for those.
// Changes are sent in rounds: a round reads the changed locks once for all watches that wait for them, a bounded number
// at a time. While a client reads slowly, its watch takes no part in rounds, and so costs nothing.

import { setTimeout as sleep } from "node:timers/promises";
import type { BoundUse } from "../../core/bound-use.ts";
import type { Caller } from "../../core/command.ts";
import { isOwnName } from "../../core/lock.ts";
import type { DecidedLock, Store } from "../../storage/store.ts";
import type { LockWatch, ViewedLock, WatchEvent } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { sourceOf } from "../fair-gate.ts";
import { Fault, overloaded, withoutRepeating } from "../faults.ts";
import { Loop } from "../loop.ts";
import type { Views } from "../views/views.ts";
import type { DecisionFeed, DecisionListener, Gap } from "./decision-feed.ts";
import { ReportedLocks, type SnapshotPage, WatchedPrefix, type WatchSource } from "./watched-prefix.ts";

export interface LockWatchesOptions {
  readonly store: Pick<Store, "poll">;
  readonly feed: Pick<DecisionFeed, "begin" | "end">;
  readonly views: Pick<Views, "views" | "viewsOf">;
  readonly observer: (event: WatchEvent) => void;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class LockWatches implements WatchSource, DecisionListener {
  readonly #options: LockWatchesOptions;
  readonly #watches = new Set<WatchedPrefix>();
  readonly #known = new ReportedLocks();
  readonly #checks: Loop;
  #sending: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(options: LockWatchesOptions) {
    this.#options = options;
    this.#checks = new Loop({
      name: "watches",
      intervalMs: bounds.KNOWN_CHECKED_MS,
      jitter: 0.1,
      run: () => this.#checkKnown(),
      onFailure: options.onFailure,
    });
  }

  get bounds(): readonly BoundUse[] {
    return [
      { bound: "watches", kind: "room", used: this.#watches.size, max: bounds.WATCHES_MAX },
      { bound: "watched_locks", kind: "room", used: this.#known.size, max: bounds.WATCHED_LOCKS_MAX },
    ];
  }

  /** At WATCHES_MAX, ends a watch of the client with most watches; throws a Fault if that is the caller. */
  open(prefix: string, caller?: Caller): LockWatch {
    if (this.#watches.size >= bounds.WATCHES_MAX) this.#makeRoom(sourceOf(caller));
    const watch = new WatchedPrefix(prefix, this, caller);
    watch.known = this.#known.countUnder(prefix);
    this.#watches.add(watch);
    this.#options.observer({ kind: "watch_opened" });
    return watch;
  }

  decided(lock: DecidedLock): void {
    this.#see(lock);
  }

  /** Reports locks whose limit may have changed with the rules, without a decision about them. */
  rulesChanged(prefixes: readonly string[]): void {
    for (const lock of this.#known.values()) {
      if (!prefixes.some((prefix) => lock.name.startsWith(prefix))) continue;
      for (const watch of this.#matching(lock.name)) watch.changed(lock);
    }
    this.sendSoon();
  }

  missed(cause: Gap): void {
    this.#known.clear();
    for (const watch of this.#watches) {
      watch.known = 0;
      this.#options.observer({ kind: "watch_began_anew", cause });
      watch.beginAnew();
    }
  }

  /** Ends all watches. Resolves when no round and no check is under way. */
  async stop(why: Error): Promise<void> {
    this.#stopping.abort();
    for (const watch of this.#watches) watch.close(why);
    await Promise.all([this.#sending, this.#checks.stop()]);
  }

  async page(watch: WatchedPrefix, afterName: string | null): Promise<SnapshotPage> {
    // From now on changes are found, unless all watches are closed meanwhile.
    this.#checks.start();
    await withoutRepeating(() => this.#options.feed.begin(this));
    const { prefix } = watch;
    const locks: ViewedLock[] = [];
    let claims = 0;
    const query = { prefix, afterName, max: bounds.WATCH_LOCKS_MAX, busyOnly: false, order: "name" as const };
    for await (const view of this.#options.views.views(query, watch.caller, () => watch.isClosed)) {
      // Nobody wants the rest.
      if (watch.isClosed) break;
      // What other reads reported about the lock may be older.
      this.#see(view.lock, watch);
      locks.push(view);
      claims += view.holders.length + view.waiters.length;
      if (claims >= bounds.WATCH_CLAIMS_MAX) return { locks, next: view.lock.name };
    }
    return { locks, next: locks.length < bounds.WATCH_LOCKS_MAX ? null : (locks.at(-1)?.lock.name ?? null) };
  }

  async again(error: unknown): Promise<void> {
    if (!(error instanceof Fault)) throw error;
    await this.#pause(error.retryAfterMs);
  }

  report(event: WatchEvent): void {
    this.#options.observer(event);
  }

  closed(watch: WatchedPrefix): void {
    this.#watches.delete(watch);
    this.#options.observer({ kind: "watch_closed" });
    const { prefix } = watch;
    if (this.#watches.size === 0) {
      this.#options.feed.end(this);
      this.#known.clear();
      void this.#checks.stop();
    } else if (![...this.#watches].some((other) => prefix.startsWith(other.prefix)))
      this.#known.keepOnly((name) => this.#matching(name).length > 0);
  }

  #matching(name: string): WatchedPrefix[] {
    if (isOwnName(name)) return [];
    return [...this.#watches].filter(({ prefix }) => name.startsWith(prefix));
  }

  /** `by`: the watch that has just read the lock and reports it itself. */
  #see({ id, name, revision, holders, waiting }: DecidedLock, by?: WatchedPrefix): void {
    const matching = this.#matching(name);
    if (matching.length === 0) return;
    const lock: DecidedLock = { id, name, revision, holders, waiting };
    if (!this.#known.has(name)) for (const watch of matching) watch.known += 1;
    if (!this.#known.see(lock)) return;
    if (this.#known.size > bounds.WATCHED_LOCKS_MAX) this.#endLargest();
    for (const watch of matching) if (watch !== by) watch.changed(lock);
    this.sendSoon();
  }

  #makeRoom(owner: unknown): void {
    const why = overloaded("watches", "This server has as many watches as it keeps.");
    const counts = countsOf(this.#watches, () => 1);
    const [most, count] = largestOf(counts) ?? [];
    // A client with as many watches as the others must not displace one of theirs.
    if (count === undefined || count <= (counts.get(owner) ?? 0) + 1) throw why;
    [...this.#watches].findLast((watch) => watch.owner === most)?.close(why);
  }

  /** Ends watches of the client that watches most locks, its largest watch first, until the bound is kept. */
  #endLargest(): void {
    const why = overloaded(
      "watched_locks",
      `More than ${bounds.WATCHED_LOCKS_MAX} locks are watched: use a longer prefix.`,
    );
    while (this.#known.size > bounds.WATCHED_LOCKS_MAX) {
      const [most] = largestOf(countsOf(this.#watches, ({ known }) => known)) ?? [];
      const own = [...this.#watches].filter(({ owner }) => owner === most);
      const largest = own.sort((a, b) => b.known - a.known)[0];
      if (!largest) return;
      largest.close(why);
    }
  }

  /** Finds locks that are gone, and changes that no sweep has found. */
  async #checkKnown(): Promise<void> {
    const part = this.#known.nextOf(bounds.KNOWN_CHECKED_MAX);
    if (part.length === 0) return;
    const { revisions } = await this.#options.store.poll(
      part.map(({ id }) => id),
      0,
    );
    for (const lock of part) {
      const revision = revisions.get(lock.id);
      if (revision === undefined) this.#gone(lock);
      else this.#see({ ...lock, revision });
    }
  }

  #gone(lock: DecidedLock): void {
    if (!this.#known.gone(lock)) return;
    for (const watch of this.#matching(lock.name)) {
      watch.known -= 1;
      watch.gone(lock.name);
    }
    this.sendSoon();
  }

  sendSoon(): void {
    if (this.#sending || this.#stopping.signal.aborted || !this.#hasNews()) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
      this.sendSoon();
    });
  }

  #hasNews(): boolean {
    return this.#watches.values().some((watch) => watch.isHungry && watch.hasNews);
  }

  async #sendAll(): Promise<void> {
    const beganMs = performance.now();
    let paceMs = bounds.WATCH_FAILED_MS;
    try {
      paceMs = await this.#sendRound();
    } catch (error) {
      this.#options.onFailure("watches", error);
    }
    // Rests as long as the read took, up to a maximum, to leave the database to others.
    await this.#pause(Math.max(paceMs, Math.min(performance.now() - beganMs, bounds.WATCH_REST_MS_MAX)));
  }

  /** Sends what fits into one round. Resolves with the pause before the next round. */
  async #sendRound(): Promise<number> {
    const hungry = [...this.#watches].filter((watch) => watch.isHungry && watch.hasNews);
    const chosen = firstOf(hungry);
    const views: ViewedLock[] = [];
    for await (const view of this.#options.views.viewsOf(
      chosen.map(({ id, holders, waiting }) => ({ id, holders, waiting })),
    ))
      views.push(view);
    const read = new Set(views.map(({ lock }) => lock.id));
    for (const lock of chosen) {
      if (read.has(lock.id)) continue;
      for (const watch of this.#watches) watch.forget(lock);
      this.#gone(lock);
    }
    for (const watch of hungry) {
      watch.send(views, bounds.WATCH_GONE_MAX);
      // Moves it behind the others for the next round.
      if (this.#watches.delete(watch)) this.#watches.add(watch);
    }
    const isAll = hungry.every((watch) => !watch.hasNews);
    return isAll ? bounds.WATCH_PACE_MS : bounds.WATCH_PAUSE_MS;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => {});
  }
}

/** Sums of `countOf` by the watches' owners. */
function countsOf(
  watches: Iterable<WatchedPrefix>,
  countOf: (watch: WatchedPrefix) => number,
): Map<unknown, number> {
  const counts = new Map<unknown, number>();
  for (const watch of watches) counts.set(watch.owner, (counts.get(watch.owner) ?? 0) + countOf(watch));
  return counts;
}

/** The owner with the largest count, and that count. */
function largestOf(counts: ReadonlyMap<unknown, number>): [unknown, number] | undefined {
  let largest: [unknown, number] | undefined;
  for (const [owner, count] of counts) if (!largest || count > largest[1]) largest = [owner, count];
  return largest;
}

/** As many pending locks as one round reads. */
function firstOf(watches: readonly WatchedPrefix[]): readonly DecidedLock[] {
  const first = new Map<bigint, DecidedLock>();
  let claims = 0;
  for (const { pending } of watches) {
    for (const lock of pending.values()) {
      if (first.size >= bounds.WATCH_LOCKS_MAX || claims >= bounds.WATCH_CLAIMS_MAX)
        return [...first.values()];
      if (!first.has(lock.id)) claims += lock.holders + lock.waiting;
      first.set(lock.id, lock);
    }
  }
  return [...first.values()];
}
