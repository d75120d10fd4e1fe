// Places in queues: read once for each lock and step for all of its waiters on this replica, and for all who ask. Told in
// rounds over all locks that have changed, with few reads at once and in slices, so that no crowd holds up decisions.

import { setTimeout as sleep } from "node:timers/promises";
import type { ClaimKey } from "../../core/claim.ts";
import type { Caller, Place } from "../../core/command.ts";
import { partsOf } from "../../core/parts.ts";
import type { QueuePlace, Store } from "../../storage/store.ts";
import { Loop } from "../../wakeup/loop.ts";
import { PLACES_PACE_MS, PLACES_READS_MAX, PLACES_SLICE, PLACES_SLICE_PAUSE_MS } from "../engine-bounds.ts";
import { SharedRead } from "../shared-read.ts";
import type { Followers } from "./followers.ts";

/** A queue as read: who stands where is found by bisection. */
class Queue {
  readonly nowUs: number;
  readonly #places: readonly QueuePlace[];
  /** Permits asked for by the waiters before the one with the same index. */
  readonly #permitsBefore: number[] = [];

  constructor(nowUs: number, places: readonly QueuePlace[]) {
    this.nowUs = nowUs;
    this.#places = places;
    let sum = 0;
    for (const place of places) {
      this.#permitsBefore.push(sum);
      sum += place.permits;
    }
  }

  get length(): number {
    return this.#places.length;
  }

  placeOf(ticketNumber: bigint): Place | null {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#places[middle] as QueuePlace).ticketNumber < ticketNumber) low = middle + 1;
      else high = middle;
    }
    if (this.#places[low]?.ticketNumber !== ticketNumber) return null;
    return {
      ahead: low,
      permitsAhead: this.#permitsBefore[low] as number,
      queueLength: this.#places.length,
    };
  }
}

export interface PlacesOptions {
  readonly store: { queue(lockId: bigint, caller?: Caller): ReturnType<Store["queue"]> };
  readonly followers: Followers;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Places {
  readonly #options: PlacesOptions;
  readonly #queues: SharedRead<bigint, Queue>;
  readonly #rounds: Loop;
  /** Locks whose waiters are to be told. */
  readonly #changed = new Set<bigint>();
  readonly #stopping = new AbortController();
  /** Places that were read or told since the last pause. */
  #sincePause = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#queues = new SharedRead(async (lockId, caller) => {
      const { nowUs, places } = await options.store.queue(lockId, caller);
      return new Queue(nowUs, places);
    });
    this.#rounds = new Loop({
      name: "places",
      intervalMs: PLACES_PACE_MS,
      jitter: 0,
      run: () => this.#tellAll(),
      onFailure: options.onFailure,
    });
  }

  start(): void {
    this.#rounds.start();
  }

  /** Resolves when nobody is being told any more. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#rounds.stop();
  }

  async of(key: ClaimKey, caller?: Caller): Promise<Place | null> {
    return (await this.#queues.get(key.lockId, caller)).placeOf(key.ticketNumber);
  }

  /** The queue of a lock may have moved: its waiters here are told, soon and together. */
  changed(lockId: bigint): void {
    if (this.#options.followers.watches(lockId)) this.#changed.add(lockId);
  }

  /** All locks that have changed, each once. */
  async #tellAll(): Promise<void> {
    for (const lockIds of partsOf([...this.#changed], PLACES_READS_MAX)) {
      const { additions } = this.#options.followers;
      const queues = await Promise.all(lockIds.map((lockId) => this.#read(lockId)));
      for (const [index, queue] of queues.entries()) {
        if (queue) await this.#tell(lockIds[index] as bigint, queue, additions);
      }
    }
  }

  /** undefined: nobody is to be told. */
  async #read(lockId: bigint): Promise<Queue | undefined> {
    // Before the read: what changes from here on may be missing in it, and is told in the next round.
    this.#changed.delete(lockId);
    const { followers, onFailure } = this.#options;
    // All of them may have left meanwhile.
    if (this.#stopping.signal.aborted || !followers.watches(lockId)) return undefined;
    try {
      return await this.#queues.get(lockId);
    } catch (error) {
      onFailure("places", error);
      return undefined;
    }
  }

  /** `additions`: of followers, before the queue was read. */
  async #tell(lockId: bigint, queue: Queue, additions: number): Promise<void> {
    await this.#pauseAfter(queue.length);
    for (const { claim, followers, lastAddition } of this.#options.followers.of(lockId)) {
      if (this.#stopping.signal.aborted) return;
      // Who has come since then may have been told a later place elsewhere.
      if (lastAddition > additions) {
        this.#changed.add(lockId);
        continue;
      }
      const place = queue.placeOf(claim.ticketNumber);
      if (place) for (const follower of followers) follower.placed?.(place, queue.nowUs);
      await this.#pauseAfter(1);
    }
  }

  /** Lets others work for a while, for each slice of places that were read or told. */
  async #pauseAfter(places: number): Promise<void> {
    this.#sincePause += places;
    const slices = Math.floor(this.#sincePause / PLACES_SLICE);
    if (slices === 0) return;
    this.#sincePause -= slices * PLACES_SLICE;
    const { signal } = this.#stopping;
    await sleep(slices * PLACES_SLICE_PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}
