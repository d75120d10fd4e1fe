// What a server knows from memory of a queue whose shares are fair and that is too long to be known whole: its front up to some
// turn, and the first waiters of some groups. Each part stays known as this server's own decisions change it, until it is used up.

import { type Claim, HELD_PLACE, placeOf } from "../core/claim.ts";
import type { Lock } from "../core/lock.ts";
import { byOrder, heldByGroup } from "../core/queue-rules.ts";
import type { GroupRead, Queue } from "../core/rows.ts";
import { groupsToRead } from "./rows/shares.ts";
import { CACHED_HOLDERS_MAX, CACHED_SHARES_MAX } from "./storage-bounds.ts";

export interface CachedShares {
  /** All at the front up to this one are known; null: all of them are. */
  readonly frontTo: Pick<Claim, "turn" | "ticketNumber"> | null;
  /** The ticket number up to which the waiters of each group are known; null: all of them are. */
  readonly groups: ReadonlyMap<string, bigint | null>;
}

/** What is known after a decision that has read this beside what was known before. null: nothing is. */
export function knownAfter(
  known: CachedShares | null,
  queue: Queue | undefined,
  groups: ReadonlyMap<string, GroupRead> | undefined,
): CachedShares | null {
  if (!queue || queue.complete) return known;
  const last = queue.head.at(-1);
  const frontTo = queue.frontComplete ? null : last && { turn: last.turn, ticketNumber: last.ticketNumber };
  if (frontTo === undefined) return known;
  const merged = new Map(known?.groups);
  for (const [group, { complete, upTo }] of groups ?? []) {
    const before = merged.get(group);
    if (complete || before === null) merged.set(group, null);
    else if (before === undefined || upTo > before) merged.set(group, upTo);
  }
  return { frontTo: known ? furtherOf(known.frontTo, frontTo) : frontTo, groups: merged };
}

function furtherOf(a: CachedShares["frontTo"], b: CachedShares["frontTo"]): CachedShares["frontTo"] {
  if (a === null || b === null) return null;
  return isBehind(a, b) ? a : b;
}

function isBehind(a: NonNullable<CachedShares["frontTo"]>, b: NonNullable<CachedShares["frontTo"]>): boolean {
  return byOrder(a, b) > 0;
}

function isAtFront({ frontTo }: CachedShares, claim: Claim): boolean {
  return claim.turn !== null && (frontTo === null || !isBehind(claim, frontTo));
}

/** Whether such a claim of the lock is among those that are known all. */
function isIn(shares: CachedShares, claim: Claim): boolean {
  if (placeOf(claim) === HELD_PLACE || isAtFront(shares, claim)) return true;
  const upTo = claim.group === null ? undefined : shares.groups.get(claim.group);
  return upTo === null || (upTo !== undefined && claim.ticketNumber <= upTo);
}

/**
 * Those of these claims that are known all: first the holders, then the front in order, then others. null: not all holders are
 * known, or it is too much to keep.
 */
export function liveShares(
  lock: Lock,
  claims: Iterable<Claim>,
  shares: CachedShares,
): Map<bigint, Claim> | null {
  const holders: Claim[] = [];
  const front: Claim[] = [];
  const others: Claim[] = [];
  for (const claim of claims) {
    if (claim.state === "ended" || !isIn(shares, claim)) continue;
    if (placeOf(claim) === HELD_PLACE) holders.push(claim);
    else if (isAtFront(shares, claim)) front.push(claim);
    else others.push(claim);
  }
  if (holders.length !== lock.holders || holders.length > CACHED_HOLDERS_MAX) return null;
  if (front.length + others.length > CACHED_SHARES_MAX) return null;
  const all = new Map<bigint, Claim>();
  for (const part of [holders, front.sort(byOrder), others])
    for (const claim of part) all.set(claim.ticketNumber, claim);
  return all;
}

interface Wanted {
  readonly lock: Lock;
  /** As of liveShares. */
  readonly all: ReadonlyMap<bigint, Claim>;
  readonly shares: CachedShares;
  /** How many may be granted. */
  readonly heads: number;
  /** Of the lock, those that the decision is asked about. */
  readonly asked: readonly Claim[];
  readonly joining: readonly string[];
}

/** What a decision needs of it. null: some of that is not known. */
export function sharesFor(
  wanted: Wanted,
): { readonly queue: Queue; readonly groups: Map<string, GroupRead> } | null {
  const { lock, all, shares, heads, asked, joining } = wanted;
  const holders: Claim[] = [];
  const head: Claim[] = [];
  let held: ReadonlyMap<string, number> | undefined;
  let free = 0;
  for (const claim of all.values()) {
    if (placeOf(claim) === HELD_PLACE) holders.push(claim);
    else if (free === heads || !isAtFront(shares, claim)) break;
    else {
      held ??= heldByGroup(holders, lock.sharedBy ?? "");
      head.push(claim);
      // The first ones that hold nothing are next: those behind them do not matter.
      if (!held.has(claim.group ?? "")) free += 1;
    }
  }
  if (free < heads && shares.frontTo !== null) return null;
  const queue: Queue = { head, complete: false, frontComplete: free < heads };
  const groups = groupsFor(
    wanted,
    groupsToRead({ lock, queue, claims: [...holders, ...asked], joining, heads }),
  );
  return groups && { queue, groups };
}

function groupsFor(
  { all, shares }: Wanted,
  groups: ReadonlyMap<string, number>,
): Map<string, GroupRead> | null {
  const found = new Map<string, { upTo: bigint; complete: boolean; waiters: Claim[] }>();
  for (const group of groups.keys()) {
    const upTo = shares.groups.get(group);
    if (upTo === undefined) return null;
    found.set(group, { upTo: upTo ?? 0n, complete: upTo === null, waiters: [] });
  }
  for (const claim of all.values()) {
    const read = claim.group === null ? undefined : found.get(claim.group);
    if (read && (read.complete || claim.ticketNumber <= read.upTo)) read.waiters.push(claim);
  }
  for (const { waiters, complete } of found.values()) {
    // Its next one is not known any more.
    if (!complete && waiters.length < 2) return null;
    waiters.sort((a, b) => (a.ticketNumber < b.ticketNumber ? -1 : 1));
  }
  return found;
}
