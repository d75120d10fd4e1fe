// Where waiters stand if the shares of their lock are fair (see core/shares.ts): in the index of pools, each group has a queue of its
// own; the first of each stand in the index of turns. Pure.

import { createHash } from "node:crypto";
import type { Claim } from "../../core/claim.ts";
import type { Lock } from "../../core/lock.ts";
import { groupedBy, heldByGroup, holdersAmong } from "../../core/queue-rules.ts";
import type { GroupRead, Queue } from "../../core/rows.ts";
import { HEADS_PER_RULE_LOCK } from "../storage-bounds.ts";
import { type LoadPlan, WHOLE_QUEUE } from "../store.ts";

/** The ids of groups are above those of all pools. */
export const GROUPS_FROM = 2n ** 62n;

/** The id of a group's queue. Nobody can choose a group whose queue has the id of another's. */
export function groupId(lockId: bigint, group: string): bigint {
  const hash = createHash("sha256").update(`${lockId} ${group}`).digest();
  return GROUPS_FROM + (hash.readBigUInt64BE() >> 2n);
}

/** So many of those at the front are read, if it is not known that fewer do: more than there are groups that hold, most often. */
const FRONT_READ = 32;
/** So many waiters of a group are read besides those that a decision is asked about: more than leave it in most decisions. */
const GROUP_READ = 2;

/** How many of those at the front a decision reads that would read so many of a queue in order of arrival. */
export function frontMax(heads: number): number {
  return Math.max(heads, FRONT_READ);
}

/** The same of a lock that is known: no more groups hold than it has holders, and in order of head starts those do not matter. */
export function frontMaxOf({ sharedBy, holders }: Lock, heads: number): number {
  return groupedBy(sharedBy) ? Math.min(frontMax(heads), heads + holders) : heads;
}

/** How many waiters a transaction that changes this rule reads of a lock under it. */
export function headsUnder({ wholeQueues }: NonNullable<LoadPlan["rule"]>, lockId: bigint): number {
  return wholeQueues?.has(lockId) ? WHOLE_QUEUE : HEADS_PER_RULE_LOCK;
}

interface Shares {
  readonly lock: Lock;
  readonly queue: Queue;
  /** What was read: holders, and what the decision is asked about. */
  readonly claims: readonly Claim[];
  /** The groups of those who ask for the lock. */
  readonly joining: readonly string[];
  /** How many may be granted. */
  readonly heads: number;
}

/** The groups whose first waiters a decision may need, and how many of each. */
export function groupsToRead({ lock, queue, claims, joining, heads }: Shares): ReadonlyMap<string, number> {
  const sharedBy = groupedBy(lock.sharedBy);
  const groups = new Map<string, number>();
  if (!sharedBy || queue.complete) return groups;
  for (const group of joining) groups.set(group, GROUP_READ);
  for (const claim of claims) {
    const group = claim.lockId === lock.id ? claim.group : null;
    if (group !== null) groups.set(group, (groups.get(group) ?? GROUP_READ) + 1);
  }
  const held = heldByGroup(holdersAmong(claims, lock.id), sharedBy);
  const first = queue.head
    .map(({ group }) => group)
    .filter((group) => group !== null)
    .sort((a, b) => (held.get(a) ?? 0) - (held.get(b) ?? 0));
  for (const group of first.slice(0, heads)) groups.set(group, groups.get(group) ?? GROUP_READ);
  return groups;
}

/** `waiters`: the first of a group, as read, in order of arrival, at most so many. */
export function groupRead(waiters: readonly Claim[], max: number): GroupRead {
  return { waiters, complete: waiters.length < max, upTo: waiters.at(-1)?.ticketNumber ?? 0n };
}
