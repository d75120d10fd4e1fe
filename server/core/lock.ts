// The guard row of a lock: its counters. Whoever decides about a lock holds this row exclusively and writes it.
// The counters are what a decision reads in place of all holders and waiters; tests and `rowlock doctor` prove them
// equal to the claim rows.

import type { Claim } from "./claim.ts";
import type { LockRecord } from "./record.ts";

export interface Lock {
  readonly id: bigint;
  readonly name: string;
  /** Limit set for this very name; null: patterns and the default apply. */
  limit: number | null;
  /** 0: never set. One more with every change, also when the limit is taken away. */
  limitVersion: bigint;
  limitReason: string;
  /** The number that the next claim gets; starts at 1. */
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
  /** Of the attempt that made the last change of the kinds in `changes.ts`; 0: there was none. Random, so it is unique. */
  changeMark: bigint;
  /** The version of the record that was deleted last; 0: none was. A new record continues from it. */
  recordFloor: bigint;
  /** What it remembers beyond its claims; null for most. */
  record: LockRecord | null;
  /** Raised by a random step with every transaction that decides about the lock: tells whether it was written since. */
  revision: bigint;
}

/** What the guard row alone tells. */
export type Counters = Omit<Lock, "record">;

/** The same, and whether there is a record to be read. */
export interface GuardRow extends Counters {
  readonly hasRecord: boolean;
}

/** Permits held, readers and writers counted as 1: what people are shown. */
export function totalHeld(lock: Counters): number {
  return lock.heldPermits + lock.sharedHolders + lock.exclusiveHolders;
}

export function countHolder(lock: Lock, claim: Claim): void {
  addHolder(lock, claim, 1);
}

export function uncountHolder(lock: Lock, claim: Claim): void {
  addHolder(lock, claim, -1);
}

export function countWaiter(lock: Lock, claim: Claim): void {
  lock.waiting += 1;
  lock.waitingPermits += claim.permits;
}

export function uncountWaiter(lock: Lock, claim: Claim): void {
  lock.waiting -= 1;
  lock.waitingPermits -= claim.permits;
}

function addHolder(lock: Lock, claim: Claim, sign: 1 | -1): void {
  lock.holders += sign;
  if (claim.mode === "permit") lock.heldPermits += sign * claim.permits;
  else if (claim.mode === "shared") lock.sharedHolders += sign;
  else lock.exclusiveHolders += sign;
}

/** More is held than the limit allows, because it was lowered. Readers and a writer mind only a limit of 0. */
export function isDraining(lock: Counters, limit: number): boolean {
  return lock.heldPermits > limit || (limit === 0 && lock.holders > 0);
}
