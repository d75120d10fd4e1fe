// Decides the commands of one transaction: repeats it until it succeeds, or hands it back if another transaction holds
// one of its rows.

import { partsOf } from "../../core/parts.ts";
import type { Policy } from "../../core/policy.ts";
import type { Store } from "../../storage/store.ts";
import { isInDoubt, isRowLocked } from "../../storage/store.ts";
import { withAttempts, withoutRepeating } from "./attempts.ts";
import { Batch } from "./batch.ts";
import type { Job } from "./lanes.ts";

export type JobsByLock = ReadonlyMap<bigint, readonly Job[]>;

/** Jobs of one transaction. */
export interface Work {
  readonly jobs: JobsByLock;
  /** Attempts with an unknown outcome that included these jobs. */
  earlier: readonly Batch[];
}

export interface DecidingOptions {
  readonly policy: Policy;
  readonly store: Pick<Store, "transact">;
  readonly likelyQueue: (lockId: bigint) => boolean;
  /** Work that must precede a decision, if any. Each attempt at a decision runs it again. */
  readonly beforehand: () => Promise<void> | null;
  readonly onRetry: (cause: string) => void;
}

/**
 * Decides and commits. Throws a Fault for what the database cannot do, and rethrows bugs unchanged. If another
 * transaction holds a row, throws an error that `isRowLocked` recognises: at once if `impatient`, otherwise after some
 * seconds.
 */
export function decideWork(work: Work, impatient: boolean, options: DecidingOptions): Promise<Batch> {
  const { store, likelyQueue, onRetry, beforehand } = options;
  return withAttempts(
    async () => {
      const first = beforehand();
      // This work has already been retried, so its failure ends the decision.
      if (first) await withoutRepeating(() => first);
      const attempt = new Batch(work.jobs, options.policy, work.earlier);
      try {
        await store.transact(attempt.plan(likelyQueue, impatient), (loaded) => attempt.decide(loaded));
      } catch (error) {
        if (isInDoubt(error)) work.earlier = [...work.earlier, attempt];
        throw error;
      }
      return attempt;
    },
    onRetry,
    isRowLocked,
  );
}

/** Divides the work into at most `count` parts with about the same number of locks. */
export function parts({ jobs, earlier }: Work, count: number): Work[] {
  const locks = [...jobs];
  const size = Math.ceil(locks.length / count);
  return partsOf(locks, size).map((part) => ({ jobs: new Map(part), earlier }));
}
