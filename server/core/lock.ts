// The guard row of a lock: its counters. Every decider holds this row exclusively and writes it. A decision reads the
// counters instead of all holders and waiters; tests and `rowlock doctor` compare them with the claim rows. Also knows
// the names that the servers use themselves.

import type { Claim } from "./claim.ts";
import type { LockRecord } from "./record.ts";

export interface Lock {
  readonly id: bigint;
  readonly name: string;
  /** Limit set for exactly this name; null: patterns and the default apply. */
  limit: number | null;
  /** 0: never set. Rises by one with every change, also when the limit is removed. */
  limitVersion: bigint;
  limitReason: string;
  /** The number of the next claim; starts at 1. */
  nextTicket: bigint;
  /** The fencing token given last. */
  lastToken: bigint;
  /** Sum of the permits of holders in mode permit. */
  heldPermits: number;
  sharedHolders: number;
  exclusiveHolders: number;
  /** Holders of any mode. */
  holders: number;
  waiting: number;
  /** Sum of the permits that waiters ask for, readers and writers counted as 1. */
  waitingPermits: number;
  /**
   * The mark of the attempt that made the last change, see `changes.ts`; 0: there was none. Random, so it is unique.
   */
  changeMark: bigint;
  /** Version of the record that was deleted last; 0: none was. A new record continues from it. */
  recordFloor: bigint;
  /** The ticket number of the holder whose claim is in the guard row; null: none is. The store sets it. */
  firstHolder: bigint | null;
  /** What the lock remembers beyond its claims; null for most. */
  record: LockRecord | null;
  /**
   * Raised by a random step with every transaction that decides about the lock: shows whether the lock was written
   * since.
   */
  revision: bigint;
}

/** What the guard row alone contains. */
export type Counters = Omit<Lock, "record">;

/** The guard row, and whether there is a record to read. */
export interface GuardRow extends Counters {
  readonly hasRecord: boolean;
}

/** Permits held, readers and writers counted as 1: for display. */
export function totalHeld(lock: Counters): number {
  return lock.heldPermits + lock.sharedHolders + lock.exclusiveHolders;
}

/** Counts a claim that is now held, or (-1) that is no longer held. */
export function countHolder(
  lock: Lock,
  { mode, permits }: Pick<Claim, "mode" | "permits">,
  by: 1 | -1 = 1,
): void {
  lock.holders += by;
  if (mode === "permit") lock.heldPermits += by * permits;
  else if (mode === "shared") lock.sharedHolders += by;
  else lock.exclusiveHolders += by;
}

/** Counts a claim that now waits, or (-1) that no longer waits. */
export function countWaiter(lock: Lock, { permits }: Claim, by: 1 | -1 = 1): void {
  lock.waiting += by;
  lock.waitingPermits += by * permits;
}

/**
 * Whether more is held than the limit allows, because it was lowered. For readers and a writer only a limit of 0 is
 * too low.
 */
export function isDraining(lock: Counters, limit: number): boolean {
  return lock.heldPermits > limit || (limit === 0 && lock.holders > 0);
}

/**
 * Prefix of the names of locks that the servers use themselves. No client can name one, and no listing without a prefix
 * shows one.
 */
export const OWN_NAMES_PREFIX = "\0";

export function isOwnName(name: string): boolean {
  return name.startsWith(OWN_NAMES_PREFIX);
}

/**
 * The lock by which a replica proves that decisions get through. Each replica has its own, so that none waits for
 * another.
 */
export function probeName(replica: bigint): string {
  return `${OWN_NAMES_PREFIX}ready/${replica}`;
}
