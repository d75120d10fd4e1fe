// Changes that must not be made twice, and must not overwrite what others have set since: of limits, of records, and
// forced releases. If the answer to a COMMIT is lost, the server does not know whether the change was made. So each
// attempt leaves a mark at the lock that no other attempt can leave. A repeated command looks only at the mark:
// - It is an earlier attempt's own mark: that attempt was committed, and its outcome is the answer.
// - It is the mark that the attempt had found: the attempt was not committed, and the change is made now.
// - It is any other mark: the change is in doubt. The present values are newer than the call, so they stay.

import type { Change, Outcome } from "./command.ts";
import { hasChanged } from "./decide.ts";

/** What an attempt has decided about one lock. */
export interface Marks {
  /** The guard row's mark before the attempt. */
  readonly markFound: bigint;
  /** The mark after the attempt: a new one if the attempt made a change. */
  readonly markLeft: bigint;
  readonly outcomes: readonly (Outcome | undefined)[];
}

/** The earlier attempt that left the present mark, so it was committed. */
export function committedOf<Attempt extends Marks>(
  markNow: bigint,
  earlier: readonly Attempt[],
): Attempt | undefined {
  return earlier.find(({ markFound, markLeft }) => markLeft !== markFound && markLeft === markNow);
}

/**
 * What is known of a change that was tried before.
 *
 * @param markNow the guard row's mark before the present attempt changes it.
 * @param index of the command among those of its lock.
 * @param earlier attempts with unknown outcomes, the first one first.
 * @returns the outcome, or the command still to run. A forced release keeps to the claims that an earlier attempt
 * chose.
 */
export function afterEarlier(
  command: Change,
  index: number,
  markNow: bigint,
  earlier: readonly Marks[],
): { readonly outcome: Outcome } | { readonly command: Change } {
  const done = committedOf(markNow, earlier)?.outcomes[index];
  if (done) return { outcome: done };
  let left = command;
  for (const { markFound, outcomes } of earlier) {
    const outcome = outcomes[index];
    if (!outcome) continue;
    if (markNow !== markFound && hasChanged(outcome)) return { outcome: { kind: "in_doubt" } };
    if (outcome.kind === "forced" && left.verb === "force_release") {
      const { ended, holdersLeft } = outcome;
      const ticketNumbers = new Set(ended.map(({ ticketNumber }) => ticketNumber));
      left = { ...left, chosen: { ticketNumbers, holdersLeft } };
    }
  }
  return { command: left };
}
