// What a decision reads: rows of locks and claims, and the clock.

import type { Claim } from "./claim.ts";
import type { FailOver } from "./fail-over.ts";
import type { LimitRule } from "./limit.ts";
import type { Lock } from "./lock.ts";

/** The database's clock when a decision is made, as far as that is known. */
export interface Clock {
  /** No earlier than it is: what is given counts from here, so that it never ends too early. */
  readonly nowUs: number;
  /** No later than it is: what ends by time has ended for sure. */
  readonly atLeastUs: number;
  /**
   * When it was seen to jump ahead, by the clock as it goes since; null: never. What was given before the jump is not due
   * until its time has passed after it: to its holder, that much time has not gone by.
   */
  readonly jumpedAtUs: number | null;
  /**
   * When this replica came to the database after it had been away from it, its start included; null: not known. Others
   * may have been away for as long and come back later, so from then on places are kept for a grace period.
   */
  readonly backAtUs: number | null;
}

/** What was read, under the guard rows. It belongs to the decision from here on. */
export interface Rows extends Clock {
  readonly failOver: FailOver;
  /** Guard rows by id. One that does not exist (any more) is missing. */
  readonly locks: ReadonlyMap<bigint, Lock>;
  /** All limit rules, including those that were taken away. */
  readonly limitRules: readonly LimitRule[];
  /**
   * Claims that commands name, those with request ids of commands at whatever lock, and those that are due, each once.
   * There may be others among them.
   */
  readonly claims: readonly Claim[];
  /** For each lock with waiters: as many of them as planned, or more, in order; complete if that is the whole queue. */
  readonly queues: ReadonlyMap<bigint, Queue>;
}

export interface Queue {
  readonly head: readonly Claim[];
  readonly complete: boolean;
}
