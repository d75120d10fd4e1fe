// Places in queues. Reads a queue once per lock and round for all of its waiters on this replica, and for all calls
// that ask. Reports places in rounds over all changed locks, with few reads at once and in slices, so that no crowd
// delays decisions. The place of a claim for several locks is the one at the lock where most are ahead of it.

import { setTimeout as sleep } from "node:timers/promises";
import { partsOf } from "../../core/bounds.ts";
import { keyText, type Member } from "../../core/claim.ts";
import type { Caller, Place } from "../../core/command.ts";
import { effectiveLimit, effectiveRate, type LimitRule, patternOf } from "../../core/limit.ts";
import type { Counters } from "../../core/lock.ts";
import { poolPrefix, poolsOver, waitsAt } from "../../core/pools.ts";
import { rateWaitUs } from "../../core/rate.ts";
import { longestPlace } from "../../core/sets.ts";
import type { QueuePlace, Store } from "../../storage/store.ts";
import type { Waiter } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { Loop } from "../loop.ts";
import { permitsOf } from "../views/pool-views.ts";
import { SharedRead } from "../views/reads.ts";
import { type FollowedClaim, type Followers, rowsOf } from "./followers.ts";
import { inOrderOfShares } from "./shared-order.ts";

/** A queue as read; finds places by bisection, if the order is that of arrival. */
class Queue {
  readonly nowUs: number;
  readonly #lock: Counters | null;
  /** How long the lock's rate alone keeps waiting a claim that, with those before it, asks for so many permits. */
  readonly #rateWaitUs: ((permits: number) => number) | null;
  readonly #places: readonly QueuePlace[];
  /** Permits asked for by the waiters before the one with the same index. */
  readonly #permitsBefore: number[] = [];
  /** By ticket number, where shares are fair; null: the places are in order of these. */
  readonly #indexes: ReadonlyMap<bigint, number> | null;

  constructor({ nowUs, lock, places }: Awaited<ReturnType<Store["queue"]>>, rules: readonly LimitRule[]) {
    // A paused lock is not granted when the rate allows it.
    const isPaused = lock !== null && effectiveLimit(lock, rules).limit === 0;
    const rate = lock && !isPaused ? effectiveRate(lock, rules) : null;
    this.nowUs = nowUs;
    this.#lock = lock;
    const untilUs = lock?.rateUntilUs ?? 0;
    this.#rateWaitUs = rate && ((permits) => rateWaitUs(rate, untilUs, permits, nowUs));
    const isShared = places.some(({ share }) => share !== undefined);
    this.#places = isShared ? inOrderOfShares(places) : places;
    this.#indexes = isShared
      ? new Map(this.#places.map(({ ticketNumber }, index) => [ticketNumber, index]))
      : null;
    let sum = 0;
    for (const place of this.#places) {
      this.#permitsBefore.push(sum);
      sum += place.permits;
    }
  }

  get length(): number {
    return this.#places.length;
  }

  /** The lock's name, if some of its claims wait at pools; null: none does. */
  get enteringName(): string | null {
    return this.#lock !== null && this.#lock.entering > 0 ? this.#lock.name : null;
  }

  #indexOf(ticketNumber: bigint): number {
    if (this.#indexes) return this.#indexes.get(ticketNumber) ?? this.#places.length;
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#places[middle] as QueuePlace).ticketNumber < ticketNumber) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  placeOf(ticketNumber: bigint): Place | null {
    const index = this.#indexOf(ticketNumber);
    if (this.#places[index]?.ticketNumber !== ticketNumber) return null;
    const permitsAhead = this.#permitsBefore[index] as number;
    const place = { ahead: index, permitsAhead, queueLength: this.#places.length };
    if (!this.#rateWaitUs) return place;
    return {
      ...place,
      rateWaitUs: this.#rateWaitUs(permitsAhead + (this.#places[index] as QueuePlace).permits),
    };
  }
}

/** Those that wait at a pool, as read. */
class PoolQueue {
  readonly #lock: Counters | null;
  readonly #nowUs: number;
  readonly #length: number;
  readonly #places = new Map<
    string,
    { readonly ahead: number; readonly permitsAhead: number; readonly permits: number }
  >();

  constructor({ nowUs, lock, places }: Awaited<ReturnType<Store["poolQueue"]>>) {
    this.#lock = lock;
    this.#nowUs = nowUs;
    this.#length = places.length;
    let permitsAhead = 0;
    for (const [ahead, place] of places.entries()) {
      const { permits } = place;
      this.#places.set(keyText(place), { ahead, permitsAhead, permits });
      permitsAhead += permits;
    }
  }

  placeOf(waiter: Waiter): Place | null {
    const place = this.#places.get(keyText(waiter));
    if (!place || !this.#lock) return null;
    const { ahead, permitsAhead } = place;
    const permits = permitsOf({ ...waiter, permits: place.permits }, this.#lock);
    const { rate, rateUntilUs, limit, name } = this.#lock;
    const pool = patternOf({ prefix: poolPrefix(name) ?? "" });
    const rateWait = rate &&
      limit !== 0 && { rateWaitUs: rateWaitUs(rate, rateUntilUs, permitsAhead + permits, this.#nowUs) };
    return { ahead, permitsAhead, queueLength: this.#length, pool, ...rateWait };
  }
}

export interface PlacesOptions {
  readonly store: {
    queue(lockId: bigint, caller?: Caller): ReturnType<Store["queue"]>;
    poolQueue(poolId: bigint, caller?: Caller): ReturnType<Store["poolQueue"]>;
  };
  /** The limit rules that this server read last. */
  readonly rules: () => readonly LimitRule[];
  readonly followers: Followers;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Places {
  readonly #options: PlacesOptions;
  readonly #queues: SharedRead<bigint, Queue>;
  readonly #pools: SharedRead<bigint, PoolQueue>;
  readonly #rounds: Loop;
  /** Locks whose waiters are to hear their places. */
  readonly #changed = new Set<bigint>();
  /** Pools whose waiters are to hear their places. */
  readonly #changedPools = new Set<bigint>();
  /** Claims for several locks that are told their place when those at all of their locks are known. */
  readonly #incomplete = new Set<FollowedClaim>();
  readonly #stopping = new AbortController();
  /** What reads of the present round have failed with. */
  readonly #failures: unknown[] = [];
  /** Places read or reported since the last pause. */
  #sincePause = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#queues = new SharedRead(async (lockId, caller) => {
      return new Queue(await options.store.queue(lockId, caller), options.rules());
    });
    this.#pools = new SharedRead(
      async (poolId, caller) => new PoolQueue(await options.store.poolQueue(poolId, caller)),
    );
    const { onFailure } = options;
    const run = () => this.#reportAll();
    this.#rounds = new Loop({ name: "places", intervalMs: bounds.PLACES_PACE_MS, run, onFailure });
  }

  start(): void {
    this.#rounds.start();
  }

  /** Resolves when no report is under way. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#rounds.stop();
  }

  async of(waiter: Waiter, caller?: Caller): Promise<Place | null> {
    return longestPlace(await this.atEach(waiter, caller));
  }

  /** In the queue of each of its locks, or only at the pool where it waits; empty: it does not wait. */
  async atEach(waiter: Waiter, caller?: Caller): Promise<readonly Place[]> {
    const { members } = waiter;
    const rows = rowsOf(waiter);
    const queues = await Promise.all(rows.map(({ lockId }) => this.#queues.get(lockId, caller)));
    const [own] = queues as [Queue];
    if (!own.placeOf(waiter.ticketNumber)) {
      const place = await this.#placeAtPool(waiter, own.enteringName, caller);
      return place ? [place] : [];
    }
    return rows.flatMap(({ ticketNumber }, at) => {
      const place = queues[at]?.placeOf(ticketNumber);
      if (!place) return [];
      return members ? [{ ...place, waitsFor: (members[at] as Member).name }] : [place];
    });
  }

  /**
   * At the pool where the waiter was, or another one over its locks: it may have gone on, and the rules that were read last may not
   * have a pool that was made a moment ago. `lockName` null: no claim of the lock waits at a pool.
   */
  async #placeAtPool(waiter: Waiter, lockName: string | null, caller?: Caller): Promise<Place | null> {
    if (lockName === null) return null;
    const at = waitsAt(waiter);
    const names = waiter.members?.map(({ name }) => name) ?? [lockName];
    const over = names.flatMap((name) => poolsOver(name, this.#options.rules()));
    for (const poolId of new Set([...(at === null ? [] : [at]), ...over])) {
      const place = (await this.#pools.get(poolId, caller)).placeOf(waiter);
      if (place) return place;
    }
    return null;
  }

  /** Reports that the queues of these pools may have moved. */
  poolsChanged(poolIds: Iterable<bigint>): void {
    for (const id of poolIds) this.#changedPools.add(id);
  }

  /** Their waiters here follow locks under them. */
  #followPools(): void {
    if (this.#changedPools.size === 0) return;
    const { followers, rules } = this.#options;
    for (const [lockId, name] of followers.wantingPlaces())
      if (poolsOver(name, rules()).some((id) => this.#changedPools.has(id))) this.#changed.add(lockId);
    this.#changedPools.clear();
  }

  /** Reports that a lock's queue may have moved. Its waiters here hear their places soon, all together. */
  changed(lockId: bigint): void {
    if (this.#options.followers.wantsPlaces(lockId)) this.#changed.add(lockId);
  }

  /** Reports the places of all changed locks, each lock once. If reads fail, these are read again in a later round, at a slower pace. */
  async #reportAll(): Promise<void> {
    this.#failures.length = 0;
    this.#followPools();
    for (const lockIds of partsOf([...this.#changed], bounds.PLACES_READS_MAX)) {
      const { additions } = this.#options.followers;
      const queues = await Promise.all(lockIds.map((lockId) => this.#read(lockId)));
      for (const [index, queue] of queues.entries()) {
        if (queue) await this.#report(lockIds[index] as bigint, queue, additions);
      }
    }
    for (const { claim, places } of this.#incomplete)
      for (const { lockId } of rowsOf(claim)) if (!places?.has(lockId)) this.#changed.add(lockId);
    this.#incomplete.clear();
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** The waiters of the lock have not heard their places. */
  #failed(lockId: bigint, error: unknown): void {
    this.#changed.add(lockId);
    this.#failures.push(error);
  }

  /** undefined: nothing to report. */
  async #read(lockId: bigint): Promise<Queue | undefined> {
    // Before the read: the read may miss later changes, which the next round reports.
    this.#changed.delete(lockId);
    const { followers } = this.#options;
    // All of its followers may have left meanwhile.
    if (this.#stopping.signal.aborted || !followers.wantsPlaces(lockId)) return undefined;
    try {
      return await this.#queues.get(lockId);
    } catch (error) {
      this.#failed(lockId, error);
      return undefined;
    }
  }

  /** `additions`: count of followers before the queue was read. */
  async #report(lockId: bigint, queue: Queue, additions: number): Promise<void> {
    await this.#pauseAfter(queue.length);
    for (const followed of this.#options.followers.of(lockId)) {
      if (this.#stopping.signal.aborted) return;
      // A newer follower may have received a later place elsewhere, so it waits for the next round.
      if (followed.lastAddition > additions) {
        this.#changed.add(lockId);
        continue;
      }
      const place = await this.#placeNow(followed, lockId, queue);
      if (place) for (const follower of followed.followers) follower.placed?.(place, queue.nowUs);
      await this.#pauseAfter(1);
    }
  }

  /** null: it does not wait any more, or its places at other locks must be read first. */
  #placeNow(followed: FollowedClaim, lockId: bigint, queue: Queue): Place | null | Promise<Place | null> {
    const { claim, places } = followed;
    if (!places || !claim.members)
      return queue.placeOf(claim.ticketNumber) ?? this.#placeAtPoolOrNone(claim, queue.enteringName);
    const member = claim.members.find((each) => each.lockId === lockId);
    const here = member && queue.placeOf(member.ticketNumber);
    if (!here) {
      // It has all of its locks. Should it come back to their queues, all of these have changed.
      places.clear();
      return this.#placeAtPoolOrNone(claim, queue.enteringName);
    }
    places.set(lockId, { ...here, waitsFor: member.name });
    if (places.size < claim.members.length) {
      this.#incomplete.add(followed);
      return null;
    }
    return longestPlace(claim.members.flatMap((each) => places.get(each.lockId) ?? []));
  }

  async #placeAtPoolOrNone(claim: Waiter, lockName: string | null): Promise<Place | null> {
    try {
      return await this.#placeAtPool(claim, lockName);
    } catch (error) {
      this.#failed(claim.lockId, error);
      return null;
    }
  }

  /** Pauses for other work after each slice of places that were read or reported. */
  async #pauseAfter(places: number): Promise<void> {
    this.#sincePause += places;
    const slices = Math.floor(this.#sincePause / bounds.PLACES_SLICE);
    if (slices === 0) return;
    this.#sincePause -= slices * bounds.PLACES_SLICE;
    const { signal } = this.#stopping;
    await sleep(slices * bounds.PLACES_SLICE_PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}
