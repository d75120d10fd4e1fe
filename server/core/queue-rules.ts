// Who may wait for a lock, and in which order: set for a name or a pattern, beside its limit and its rate.

import { type Claim, HELD_PLACE, placeOf } from "./claim.ts";

/** What becomes of a request that would wait, and finds as many waiting as may. */
export type WhenFull = "refuse" | "end_longest_waiting";

export interface QueueRules {
  /** The most claims in the lock's own queue, which the policy bounds, too. null: only the policy does. */
  readonly waitingMax: number | null;
  readonly whenFull: WhenFull;
  /** Whose shares are fair: of principals, or of the values of a label (SHARE_BY_LABEL and its key). null: order of arrival. */
  readonly shareBy: string | null;
  /** The most by which a claim may be queued as if it had come earlier. 0: it may not. Not together with shares. */
  readonly headStartMaxUs: number;
}

/** What orders a queue in which claims have head starts, in a guard row; otherwise what shares it. */
export const HEAD_STARTS = "head_start";

/** null: the order is that of arrival. */
export function orderOf(rules: QueueRules | null): string | null {
  return rules?.shareBy ?? (rules && rules.headStartMaxUs > 0 ? HEAD_STARTS : null);
}

/** By what the waiters are in groups, of which each has a turn; null: each waiter has its own, or comes in order of arrival. */
export function groupedBy(sharedBy: string | null): string | null {
  return sharedBy && sharedBy !== HEAD_STARTS ? sharedBy : null;
}

export const SHARE_BY_PRINCIPAL = "principal";
export const SHARE_BY_LABEL = "label:";

/** The group of a claim: who has none by the label is of the group of its principal. */
export function groupOf({ principal, labels }: Pick<Claim, "principal" | "labels">, shareBy: string): string {
  if (shareBy === SHARE_BY_PRINCIPAL) return `${SHARE_BY_PRINCIPAL}:${principal}`;
  const value = labels[shareBy.slice(SHARE_BY_LABEL.length)];
  return value === undefined ? `${SHARE_BY_PRINCIPAL}:${principal}` : `${SHARE_BY_LABEL}${value}`;
}

/**
 * The group in whose queue the claim waits; null: it is in none. A claim for several locks came before the order changed: it stands
 * at the front by itself, and nobody passes it there.
 */
export function groupAt(claim: Claim, sharedBy: string | null): string | null {
  const shareBy = groupedBy(sharedBy);
  const isInQueue = claim.state === "waiting" && placeOf(claim) !== HELD_PLACE;
  return shareBy && isInQueue && claim.members === null ? groupOf(claim, shareBy) : null;
}

/** Those of these claims that have the lock, also if they wait at a pool. */
export function holdersAmong(claims: readonly Claim[], lockId: bigint): Claim[] {
  return claims.filter(
    (claim) => claim.lockId === lockId && claim.state !== "ended" && placeOf(claim) === HELD_PLACE,
  );
}

/** Permits that each group of these holders has, readers and writers counted as 1. */
export function heldByGroup(holders: readonly Claim[], sharedBy: string): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const holder of holders) {
    const group = groupOf(holder, sharedBy);
    held.set(group, (held.get(group) ?? 0) + holder.permits);
  }
  return held;
}

type Ordered = Pick<Claim, "turn" | "ticketNumber">;

/** Sorts the waiters of a queue: those at the front by their turns, and the others, or all, by arrival. */
export function byOrder(a: Ordered, b: Ordered): number {
  if (a.turn !== b.turn) {
    if (a.turn === null) return 1;
    if (b.turn === null) return -1;
    return a.turn < b.turn ? -1 : 1;
  }
  return a.ticketNumber < b.ticketNumber ? -1 : 1;
}

/** Whether whoever came first is next, and waits until it is granted. */
export function isByArrival({ whenFull, shareBy, headStartMaxUs }: QueueRules): boolean {
  return whenFull === "refuse" && shareBy === null && headStartMaxUs === 0;
}

export function sameQueueRules(a: QueueRules | null, b: QueueRules | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.waitingMax === b.waitingMax &&
    a.whenFull === b.whenFull &&
    a.shareBy === b.shareBy &&
    a.headStartMaxUs === b.headStartMaxUs
  );
}

/** As rows and the history keep them, such as `1/end_longest_waiting`, `100/refuse/label:tenant` and `/refuse/principal`. */
export function queueRulesText({ waitingMax, whenFull, shareBy, headStartMaxUs }: QueueRules): string {
  const order = headStartMaxUs > 0 ? `${HEAD_STARTS}:${headStartMaxUs}` : shareBy;
  return `${waitingMax ?? ""}/${whenFull}${order === null ? "" : `/${order}`}`;
}

/** What `queueRulesText` has written. */
export function queueRulesOf(text: string): QueueRules {
  const [waitingMax = "", whenFull = "", ...rest] = text.split("/");
  // A label may have a slash.
  const order = rest.length > 0 ? rest.join("/") : null;
  const hasHeadStarts = order?.startsWith(`${HEAD_STARTS}:`) ?? false;
  return {
    waitingMax: waitingMax === "" ? null : Number(waitingMax),
    whenFull: whenFull as WhenFull,
    shareBy: hasHeadStarts ? null : order,
    headStartMaxUs: hasHeadStarts ? Number(order?.slice(HEAD_STARTS.length + 1)) : 0,
  };
}

/** For a person: `at most 1 waits, and the newest wins`, or `shares are fair, by principal`. */
export function queueRulesWords({ waitingMax, whenFull, shareBy, headStartMaxUs }: QueueRules): string {
  const parts: string[] = [];
  if (waitingMax !== null) parts.push(`at most ${waitingMax} ${waitingMax === 1 ? "waits" : "wait"}`);
  if (whenFull !== "refuse") parts.push("the newest wins");
  if (shareBy !== null) parts.push(`shares are fair, by ${shareByWords(shareBy)}`);
  if (headStartMaxUs > 0) parts.push(`head starts of at most ${headStartMaxUs / 1e6} s`);
  return parts.join(", and ");
}

function shareByWords(shareBy: string): string {
  return shareBy.startsWith(SHARE_BY_LABEL) ? `label ${shareBy.slice(SHARE_BY_LABEL.length)}` : shareBy;
}
