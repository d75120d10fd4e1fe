// What a decision rests on: the rows of locks and claims, the clock, and the settings.

import type { Claim } from "./claim.ts";
import type { Clock } from "./database-clock.ts";
import type { FailOver } from "./fail-over.ts";
import type { LimitRule } from "./limit.ts";
import type { Lock } from "./lock.ts";

/** What was read under the guard rows. The decision owns it from here on. */
export interface Rows extends Clock {
  readonly failOver: FailOver;
  /** Guard rows by id. A row that does not exist (any more) is missing. */
  readonly locks: ReadonlyMap<bigint, Lock>;
  /** All limit rules, including removed ones. */
  readonly limitRules: readonly LimitRule[];
  /**
   * Claims that commands name, claims on any lock with request ids of commands, and claims that are due; each once.
   * There may be others among them.
   */
  readonly claims: readonly Claim[];
  /** For each lock with waiters: at least as many of them as planned, in order; complete if that is the whole queue. */
  readonly queues: ReadonlyMap<bigint, Queue>;
}

export interface Queue {
  readonly head: readonly Claim[];
  readonly complete: boolean;
}

/** The settings that decisions depend on. */
export interface Policy {
  /**
   * How long a place is kept without a sign of life, and how long a lease granted after a wait is kept until its
   * client comes for it.
   */
  readonly graceUs: number;
  /** How long a sign of life by a replica counts: the grace period and the replica's pace of heartbeats. */
  readonly attachedForUs: number;
  /** How long an ended claim is remembered. */
  readonly retentionUs: number;
  /** Longest queue of a lock. */
  readonly queueMax: number;
}

/** Bytes of one random number. */
export const RANDOM_NUMBER_BYTES = 8;

/**
 * Makes a random number for a column: 63 bits, the most that a BIGINT holds on every database. The caller supplies the
 * bytes, because the core has no randomness.
 */
export function randomNumberOf(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, RANDOM_NUMBER_BYTES).getBigUint64(0) >> 1n;
}
