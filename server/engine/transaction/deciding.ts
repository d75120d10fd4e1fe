// One transaction's worth of commands, decided: repeated until it is through, or handed back where another transaction
// holds a row of it.

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
  /** Attempts at these jobs, among others, with an unknown outcome. */
  earlier: readonly Batch[];
}

export interface DecidingOptions {
  readonly policy: Policy;
  readonly store: Pick<Store, "transact">;
  readonly likelyQueue: (lockId: bigint) => boolean;
  /** What has to be done before a decision, if anything; a decision is repeated with it. */
  readonly beforehand: () => Promise<void> | null;
  readonly onRetry: (cause: string) => void;
}

/**
 * Decides and commits. Throws a Fault for what the database cannot do, and bugs as they are. Where another transaction
 * holds a row, it throws what `isRowLocked` recognises: at once if it is impatient, otherwise after some seconds.
 */
export function decideWork(work: Work, impatient: boolean, options: DecidingOptions): Promise<Batch> {
  const { store, likelyQueue, onRetry, beforehand } = options;
  return withAttempts(
    async () => {
      const first = beforehand();
      // It has been repeated already.
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

/** The work in so many parts of about the same number of locks. */
export function parts({ jobs, earlier }: Work, count: number): Work[] {
  const locks = [...jobs];
  const size = Math.ceil(locks.length / count);
  return partsOf(locks, size).map((part) => ({ jobs: new Map(part), earlier }));
}
