// Lists the changes that the history keeps, newest first. Reads in small steps, and those of one lock by an index.

import { type LimitRule, patternOf } from "../../core/limit.ts";
import type { KeptChange, Store } from "../../storage/store.ts";
import { CHANGES_SEARCHED_MAX, SEARCHED_PER_STEP } from "../engine-bounds.ts";
import type { ChangePosition, ChangesQuery, ListedChange } from "../history.ts";
import { search, stepsAfter } from "./search.ts";
import { inOwnTick } from "./views.ts";

export type ChangesSource = Pick<Store, "changes" | "limitRules">;

/** Throws StoreErrors. */
export async function* listedChanges(
  store: ChangesSource,
  query: ChangesQuery,
): AsyncGenerator<ListedChange, void, void> {
  const { lockName, fromUs, untilUs, after } = query;
  const targets = lockName === null ? null : targetsOf(lockName, await inOwnTick(() => store.limitRules()));
  const steps = stepsAfter<KeptChange, ChangePosition | null>(
    after ?? (untilUs === null ? null : { atUs: untilUs, id: 0n }),
    SEARCHED_PER_STEP,
    (before) => store.changes(targets, before, SEARCHED_PER_STEP),
    (last) => last,
  );
  yield* search(steps, {
    isWanted: (change) => isWanted(query, change),
    isOver: ({ atUs }) => fromUs !== null && atUs < fromUs,
    max: CHANGES_SEARCHED_MAX,
    at: ({ atUs, id }) => ({ atUs, id }),
    backToUs: ({ atUs }) => atUs,
  });
}

/** The lock, and the patterns that match its name. A rule outlives its limit, so these are all that ever were. */
function targetsOf(lockName: string, rules: readonly LimitRule[]): string[] {
  const patterns = rules.filter(({ prefix }) => lockName.startsWith(prefix)).map(patternOf);
  return [...new Set([lockName, ...patterns])];
}

function isWanted(query: ChangesQuery, change: KeptChange): boolean {
  const { lockName, prefix, kinds, untilUs, changedBy, isSeen } = query;
  // Another lock may be named as a pattern is written.
  if (lockName !== null && !change.isPattern && change.target !== lockName) return false;
  if (lockName === null && !change.target.startsWith(prefix)) return false;
  if (kinds.length > 0 && !kinds.includes(change.kind)) return false;
  if (changedBy !== "" && change.by !== changedBy) return false;
  return (untilUs === null || change.atUs < untilUs) && (isSeen?.(change) ?? true);
}
