// What a decision rests on: the rows of locks and claims, the clock, the last fail-over, and the settings.
//
// A fail-over means that the database has lost commits that it had acknowledged: a lagging copy replaced it, or it was set
// back to a backup. Then leases may be held that no row knows of, and the rows do not know the last tokens. So nothing is
// granted until such leases have ended, and after that tokens begin above all that can have been given. The engine notices
// fail-overs and writes them down: see engine/transaction/checked-store.ts.

import type { Claim } from "./claim.ts";
import type { Clock } from "./database-clock.ts";
import type { LimitRule } from "./limit.ts";
import type { FailOver, Lock } from "./lock.ts";

/** What was read under the guard rows. The decision owns it from here on. */
export interface Rows extends Clock {
  readonly failOver: FailOver;
  /** Guard rows by id. A row that does not exist (any more) is missing. */
  readonly locks: ReadonlyMap<bigint, Lock>;
  readonly limitRules: readonly LimitRule[];
  /**
   * Each once: claims that commands name, claims on any lock with request ids of commands, claims that are due, and a
   * sole holder in its guard row. There may be others among them.
   */
  readonly claims: readonly Claim[];
  /** Request ids of commands that cannot be used, because the key of each belongs to another id; unset: none. */
  readonly takenRequestIds?: ReadonlySet<string> | undefined;
  /** Guard rows of pools by id, as far as they were asked for; null: there is no such row (any more). Unset: none were. */
  readonly pools?: ReadonlyMap<bigint, PoolRows | null> | undefined;
  /** For each lock with waiters: at least as many of them as planned, in order; complete if that is the whole queue. */
  readonly queues: ReadonlyMap<bigint, Queue>;
  /** Of locks whose shares are fair: groups by name, as far as they were asked for. Unset: none were. */
  readonly groups?: ReadonlyMap<bigint, ReadonlyMap<string, GroupRead>> | undefined;
}

/** One who waits at a pool. */
export interface PoolWaiter {
  readonly lockId: bigint;
  readonly ticketNumber: bigint;
  readonly rank: bigint;
  /** Permits that it takes of the pool: a spend takes none. */
  readonly room: number;
  /** Permits that it takes of the pool's rate. */
  readonly permits: number;
}

export interface PoolRows {
  readonly lock: Lock;
  /** The first of those who wait there, by rank: at most POOL_QUEUE_READ. */
  readonly queue: readonly PoolWaiter[];
  readonly complete: boolean;
}

/** The first waiters of a group, in order of arrival: see shares.ts. */
export interface GroupRead {
  readonly waiters: readonly Claim[];
  readonly complete: boolean;
  /** The ticket number of the last of them; 0: there are none. */
  readonly upTo: bigint;
}

export interface Queue {
  readonly head: readonly Claim[];
  readonly complete: boolean;
  /** Where shares are fair, and this is not the whole queue: `head` is of the waiters at the front, and this says whether of all. */
  readonly frontComplete?: boolean | undefined;
}

/** The settings that decisions depend on. */
export interface Policy {
  /**
   * How long a place is kept without a sign of life, and a lease granted after a wait until its client comes for it.
   */
  readonly graceUs: number;
  /** How long a sign of life by a replica counts: the grace period and the replica's pace of heartbeats. */
  readonly attachedForUs: number;
  /** How long an ended claim of a lock with this name is kept: whole seconds. */
  readonly keptForUs: (name: string) => number;
  readonly queueMax: number;
}

export const RANDOM_NUMBER_BYTES = 8;

/**
 * A random number for a column: 63 bits, the most that a BIGINT holds on every database. The caller supplies the bytes,
 * because the core has no randomness.
 */
export function randomNumberOf(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, RANDOM_NUMBER_BYTES).getBigUint64(0) >> 1n;
}
