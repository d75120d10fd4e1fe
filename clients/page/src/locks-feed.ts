// The locks under a prefix as a stream of changes makes them. Knows what a snapshot is, and nothing of streams or views.

import type { LockJson } from "#proto/rowlock/v1/lock_pb.js";
import type { WatchLocksResponseJson } from "#proto/rowlock/v1/lock_service_pb.js";
import { instantMs } from "./words.ts";

/** A lock as the list sorts it. */
export interface Row {
  readonly name: string;
  readonly lock: LockJson;
  readonly waiting: number;
  /** When the first waiter came; Infinity if nobody waits. */
  readonly oldestMs: number;
  /** When the oldest of the holders that are shown began; Infinity if nobody holds it. */
  readonly heldSinceMs: number;
}

export type Rows = ReadonlyMap<string, Row>;

export function rowOf(lock: LockJson): Row {
  const { name = "", waiterCount: waiting = 0, waiters, holders } = lock;
  const oldestMs = msOf(waiters?.[0]?.requestedAt);
  // The oldest comes first.
  return { name, lock, waiting, oldestMs, heldSinceMs: msOf(holders?.[0]?.grantedAt) };
}

function msOf(instant: string | undefined): number {
  return instant === undefined ? Number.POSITIVE_INFINITY : instantMs(instant);
}

export class LocksFeed {
  /** The last complete snapshot with all changes since. */
  #rows: Map<string, Row> | null = null;
  /** A snapshot that is not complete yet. */
  #coming: Map<string, Row> | null = new Map();

  /** A new stream begins; until its snapshot is complete, the feed shows what it had. */
  begin(): void {
    this.#coming = new Map();
  }

  apply({ beganAnew, locks = [], deleted = [], complete }: WatchLocksResponseJson): void {
    if (beganAnew) this.begin();
    const rows = this.#coming ?? this.#rows ?? new Map<string, Row>();
    for (const name of deleted) rows.delete(name);
    for (const lock of locks) {
      const row = rowOf(lock);
      rows.set(row.name, row);
    }
    if (!complete) return;
    this.#rows = rows;
    this.#coming = null;
  }

  /** Forgets all. */
  clear(): void {
    this.#rows = null;
    this.#coming = new Map();
  }

  get isComplete(): boolean {
    return this.#coming === null;
  }

  /** The first snapshot shows while it comes; a later one when it is complete. */
  get rows(): Rows {
    return this.#rows ?? this.#coming ?? new Map();
  }

  /** Locks in memory, of both snapshots. */
  get size(): number {
    return Math.max(this.#rows?.size ?? 0, this.#coming?.size ?? 0);
  }
}
