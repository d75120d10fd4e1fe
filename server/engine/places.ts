// Places in queues: read once for each lock and step for all of its waiters on this replica, and for all who ask.

import type { ClaimKey } from "../core/claim.ts";
import type { Place } from "../core/command.ts";
import type { QueuePlace, Store } from "../storage/store.ts";
import { PLACES_PACE_MS } from "./engine-bounds.ts";
import { SharedRead } from "./shared-read.ts";
import type { Waiters } from "./waiters.ts";

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
  readonly store: Pick<Store, "queue">;
  readonly waiters: Waiters;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Places {
  readonly #options: PlacesOptions;
  readonly #queues: SharedRead<bigint, Queue>;
  /** Locks whose waiters are about to be told, and when they were told last. */
  readonly #pending = new Map<bigint, NodeJS.Timeout>();
  readonly #toldMs = new Map<bigint, number>();

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#queues = new SharedRead(async (lockId) => {
      const { nowUs, places } = await options.store.queue(lockId);
      return new Queue(nowUs, places);
    });
  }

  async of(key: ClaimKey): Promise<Place | null> {
    return (await this.#queues.get(key.lockId)).placeOf(key.ticketNumber);
  }

  /** The queue of a lock may have moved: its waiters here are told, soon and together. */
  changed(lockId: bigint): void {
    if (!this.#options.waiters.watches(lockId)) {
      this.#toldMs.delete(lockId);
      return;
    }
    if (this.#pending.has(lockId)) return;
    const sinceMs = performance.now() - (this.#toldMs.get(lockId) ?? Number.NEGATIVE_INFINITY);
    const delayMs = Math.max(0, PLACES_PACE_MS - sinceMs);
    this.#pending.set(
      lockId,
      setTimeout(() => void this.#tell(lockId), delayMs),
    );
  }

  stop(): void {
    for (const timer of this.#pending.values()) clearTimeout(timer);
    this.#pending.clear();
  }

  async #tell(lockId: bigint): Promise<void> {
    // Before the read: what changes from here on may be missing in it, and is told by the next one.
    this.#pending.delete(lockId);
    // All of them may have left meanwhile: nobody is to be told, and nothing remembered of the lock.
    if (!this.#options.waiters.watches(lockId)) return;
    this.#toldMs.set(lockId, performance.now());
    try {
      const queue = await this.#queues.get(lockId);
      for (const { claim, waiters } of this.#options.waiters.of(lockId)) {
        const place = queue.placeOf(claim.ticketNumber);
        if (place) for (const waiter of waiters) waiter.placed?.(place, queue.nowUs);
      }
    } catch (error) {
      this.#options.onFailure("places", error);
    }
  }
}
