// What a decision reads: rows of locks and claims, and the clock.

import type { Claim } from "./claim.ts";
import type { FailOver } from "./fail-over.ts";
import type { LimitRule } from "./limit.ts";
import type { Lock } from "./lock.ts";

/** The database's clock at the time of a decision, as far as it is known. */
export interface Clock {
  /** Upper bound of the time. What is given counts from here, so that it never ends too early. */
  readonly nowUs: number;
  /** Lower bound of the time. What ends by it has certainly ended. */
  readonly atLeastUs: number;
  /**
   * When the clock was seen to jump ahead, in the clock's time after the jump; null: never. What was given before the
   * jump is due only when its whole time has passed after it: the holder has not had the time that the clock skipped.
   */
  readonly jumpedAtUs: number | null;
  /**
   * When this replica reached the database again after an outage, or first after its start; null: unknown. Others may
   * have been away for as long and come back later, so from then on places are kept for a grace period.
   */
  readonly backAtUs: number | null;
}

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
