// Lists the changes that the history keeps, newest first. Reads in small steps, and those of one lock by an index.

import { type LimitRule, patternOf } from "../../core/limit.ts";
import type { KeptChange, Store } from "../../storage/store.ts";
import { CHANGES_SEARCHED_MAX, SEARCHED_PER_STEP } from "../engine-bounds.ts";
import type { ChangesQuery, ListedChange } from "../history.ts";
import { search } from "./search.ts";
import { inOwnTick } from "./views.ts";

export type ChangesSource = Pick<Store, "changes" | "limitRules">;

/** Throws StoreErrors. */
export async function* listedChanges(
  store: ChangesSource,
  query: ChangesQuery,
): AsyncGenerator<ListedChange, void, void> {
  const { lockName, fromUs } = query;
  const targets = lockName === null ? null : targetsOf(lockName, await inOwnTick(() => store.limitRules()));
  for await (const { kind, item } of search(steps(store, query, targets), {
    isWanted: (change) => isWanted(query, change),
    isOver: ({ atUs }) => fromUs !== null && atUs < fromUs,
    max: CHANGES_SEARCHED_MAX,
  })) {
    if (kind === "found") yield { kind, change: item };
    else yield { kind, at: item };
  }
}

/** The lock, and the patterns that match its name. A rule outlives its limit, so these are all that ever were. */
function targetsOf(lockName: string, rules: readonly LimitRule[]): string[] {
  const patterns = rules.filter(({ prefix }) => lockName.startsWith(prefix)).map(patternOf);
  return [...new Set([lockName, ...patterns])];
}

async function* steps(
  store: ChangesSource,
  { untilUs, after }: ChangesQuery,
  targets: readonly string[] | null,
): AsyncGenerator<readonly KeptChange[], void, void> {
  let before = after ?? (untilUs === null ? null : { atUs: untilUs, id: 0n });
  for (;;) {
    const changes = await inOwnTick(() => store.changes(targets, before, SEARCHED_PER_STEP));
    yield changes;
    const last = changes.at(-1);
    if (!last || changes.length < SEARCHED_PER_STEP) return;
    before = last;
  }
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
