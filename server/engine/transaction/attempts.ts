// The attempts at one transaction: what is repeated, and the error for callers in the end. The asks of a transaction stay
// together over its attempts.

import { partsOf } from "../../core/bounds.ts";
import type { Policy } from "../../core/rows.ts";
import { type RetryPolicy, ROLLED_BACK, retry } from "../../storage/retry.ts";
import { isInDoubt, isRowLocked, type Store, StoreError } from "../../storage/store.ts";
import { asFault, mayBeDone, outcomeUnknown, unavailable } from "../faults.ts";
import type { EngineObserver } from "../lock-engine.ts";
import type { Ask } from "./ask.ts";
import { Batch } from "./batch.ts";
import { TransactionSpan } from "./transaction-span.ts";

export type AsksByLock = ReadonlyMap<bigint, readonly Ask[]>;

/** Asks of one transaction. */
export interface TransactionAsks {
  readonly byLock: AsksByLock;
  /** Attempts with an unknown outcome that included these asks. */
  earlier: readonly Batch[];
}

export interface Deciding {
  readonly policy: Policy;
  readonly store: Pick<Store, "transact">;
  readonly observer: EngineObserver;
  /** A lock with followers here probably has a queue. */
  readonly followers: { follows(lockId: bigint): boolean };
  /** Heartbeats that must precede a decision, if any are late. Each attempt asks again. */
  readonly background: { lateHeartbeat(): Promise<void> | null };
  /** Whether calls may have spans; unset: none has. */
  readonly isTraced?: boolean | undefined;
}

interface AttemptsPolicy extends RetryPolicy<StoreError> {
  /** Errors that the caller handles itself; unset: none. */
  readonly isCallers?: (error: StoreError) => boolean;
}

/** A row that another transaction holds ends the attempts: the caller has a better way on than a repetition. */
export const UNLESS_ROW_LOCKED: AttemptsPolicy = {
  ...ROLLED_BACK,
  isWorthIt: (error): error is StoreError => ROLLED_BACK.isWorthIt(error) && !isRowLocked(error),
  isCallers: isRowLocked,
};

/**
 * Decides and commits. Throws a Fault for what the database cannot do, and rethrows bugs unchanged. If another
 * transaction holds a row, throws an error that `isRowLocked` recognises: at once if `impatient`, otherwise after some
 * seconds.
 */
export function decideAsks(asks: TransactionAsks, impatient: boolean, by: Deciding): Promise<Batch> {
  const { store, policy, observer, followers, background } = by;
  const traced = by.isTraced ? TransactionSpan.of(asks.byLock) : undefined;
  const attempt = async () => {
    traced?.tried();
    const late = background.lateHeartbeat();
    // The heartbeats are repeated by themselves, so their failure ends the decision.
    if (late) await withoutRepeating(() => late);
    const batch = new Batch(asks.byLock, policy, asks.earlier);
    try {
      const plan = batch.plan((lockId) => followers.follows(lockId), impatient);
      await store.transact(traced ? { ...plan, span: traced.span } : plan, (loaded) => batch.decide(loaded));
    } catch (error) {
      if (isInDoubt(error)) asks.earlier = [...asks.earlier, batch];
      throw error;
    }
    return batch;
  };
  const deciding = withAttempts(attempt, observer, UNLESS_ROW_LOCKED);
  return traced ? traced.until(deciding) : deciding;
}

/** Divides the work into at most `count` parts with about the same number of locks. */
export function parts({ byLock, earlier }: TransactionAsks, count: number): TransactionAsks[] {
  const locks = [...byLock];
  const size = Math.ceil(locks.length / count);
  return partsOf(locks, size).map((part) => ({ byLock: new Map(part), earlier }));
}

/** Fails the commands of a transaction that is given up. Returns the error that most of them get. */
export function giveUp({ byLock, earlier }: TransactionAsks, error: unknown): unknown {
  const failure = earlier.length > 0 ? mayBeDone(error) : error;
  for (const [lockId, list] of byLock) {
    for (const [index, ask] of list.entries()) {
      const isInDoubt = earlier.some((attempt) => attempt.changes(lockId, index));
      ask.isOver = true;
      ask.fail(isInDoubt ? outcomeUnknown(error) : failure);
    }
  }
  return failure;
}

/**
 * Runs `attempt` until it succeeds or is not worth repeating. Throws a Fault for what the database cannot do, and
 * rethrows unchanged the errors that are the caller's, and bugs.
 */
export async function withAttempts<Result>(
  attempt: () => Promise<Result>,
  observer: EngineObserver,
  policy: AttemptsPolicy = ROLLED_BACK,
): Promise<Result> {
  let isDoubtful = false;
  const failed = (error: StoreError) => {
    isDoubtful ||= isInDoubt(error);
    observer({ kind: "retried", cause: error.reason });
  };
  try {
    return await retry(policy, attempt, failed);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (!policy.isCallers?.(error)) throw unavailable(error, isDoubtful);
    failed(error);
    throw error;
  }
}

/** Runs a read or a small write once: the caller can ask again. Throws what withAttempts throws. */
export async function withoutRepeating<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    throw asFault(error);
  }
}
