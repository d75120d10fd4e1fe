// The orders of a queue that are not that of arrival: of both, the index of turns shows who is at the front.
//
// Fair share: the next grant of a lock goes to the group that holds the fewest permits of it now, and of several such to the one
// that has waited longest for its turn. What a group holds is counted from its holders, so nothing drifts. The first waiter of each
// group stands at the front, by its `turn`: see `turnFrom`. So the front shows each group once, and a decision reads no more of it than
// there are groups that hold. When a group's first waiter is granted, its next one comes to the front, behind all others there.
//
// Head starts: each waiter is at the front, by the time of its arrival less its head start: see `turnOf`. The first one is next.

import { QUEUE_HEAD_MAX, REORDERED_MAX, SHARE_HOLDERS_MAX } from "./bounds.ts";
import { type Claim, inOrder } from "./claim.ts";
import { type Draft, touch } from "./draft.ts";
import { effectiveQueueRules } from "./limit.ts";
import type { Lock } from "./lock.ts";
import { RowsNeeded } from "./pools.ts";
import {
  byOrder,
  groupAt,
  groupedBy,
  HEAD_STARTS,
  heldByGroup,
  holdersAmong,
  orderOf,
} from "./queue-rules.ts";

/** Puts the queue in the order that is in force. Throws RowsNeeded if it must see the whole queue. */
export function setOrder(draft: Draft): void {
  const { lock, limitRules, queue } = draft;
  const shareBy = orderOf(effectiveQueueRules(lock, limitRules));
  if ((lock.sharedBy || null) === shareBy || lock.waiting > REORDERED_MAX) return;
  if (lock.waiting > 0) {
    if (!draft.queueComplete) throw new RowsNeeded({ wholeQueues: [lock.id] });
    const first = new Set<string>();
    for (const claim of inOrder([...queue])) {
      const group = groupAt(claim, shareBy);
      if (claim.group !== group) touch(draft, claim);
      claim.group = group;
      const isFirst = shareBy !== null && (group === null || !first.has(group));
      setTurn(draft, claim, isFirst ? turnOf(lock, claim, shareBy, 0) : null);
      if (group !== null) first.add(group);
    }
    queue.sort(byOrder);
  }
  lock.sharedBy = shareBy ?? "";
}

/** The turn of a group whose wait for it began with this ticket number. It rises with each arrival and with each grant. */
function turnFrom({ lastToken }: Lock, ticketNumber: bigint): bigint {
  return ticketNumber + lastToken;
}

/**
 * The turn of a claim that comes. With head starts it is a time, and rises with each arrival: the time of the request, less the head
 * start. Clocks that are set do not matter: a waiter is passed by those alone that come within their head start after it.
 */
function turnOf(
  lock: Lock,
  { requestedAtUs, ticketNumber }: Claim,
  order: string | null,
  headStartUs: number,
): bigint {
  if (order !== HEAD_STARTS) return turnFrom(lock, ticketNumber);
  lock.orderKeyUs = Math.max(lock.orderKeyUs + 1, requestedAtUs);
  return BigInt(lock.orderKeyUs - headStartUs);
}

function setTurn(draft: Draft, claim: Claim, turn: bigint | null): void {
  if (claim.turn === turn) return;
  claim.turn = turn;
  touch(draft, claim);
}

/**
 * Who is next in the lock's own queue; undefined: nobody is known, or too little of the queue was read to tell. Throws RowsNeeded if
 * the holders were not read.
 */
export function nextOf(draft: Draft): Claim | undefined {
  const shareBy = groupedBy(draft.lock.sharedBy);
  const next = shareBy ? nextOfShared(draft, shareBy) : draft.queue[0];
  return next?.group == null || isNextInGroupKnown(draft, next.group, next) ? next : undefined;
}

function nextOfShared(draft: Draft, sharedBy: string): Claim | undefined {
  const { lock, queue, frontComplete } = draft;
  const [first, second] = queue;
  if (!first || (frontComplete && (!second || second.turn === null))) return first;
  const holders = holdersAmong(draft.claims, lock.id);
  if (holders.length < Math.min(lock.holders, SHARE_HOLDERS_MAX))
    throw new RowsNeeded({ wholeQueues: [lock.id] });
  const held = heldByGroup(holders, sharedBy);
  let next: Claim | undefined;
  let least = Number.POSITIVE_INFINITY;
  let front = 0;
  for (const claim of queue) {
    if (claim.turn === null) break;
    // Nobody passes a claim for several locks: two of them could each be next at one lock for ever.
    if (claim.group === null) return next ?? claim;
    front += 1;
    const has = held.get(claim.group) ?? 0;
    if (has >= least) continue;
    least = has;
    next = claim;
    // Of those that hold nothing, the first has waited longest.
    if (has === 0) return next;
  }
  return frontComplete || front >= QUEUE_HEAD_MAX ? next : undefined;
}

/**
 * A claim joins the queue: whoever came first of its group stands at the front. `headStartUs`: by how much it is queued as if it had
 * come earlier; null: it comes back, and had its turn.
 */
export function joinGroup(draft: Draft, claim: Claim, headStartUs: number | null): void {
  const { lock } = draft;
  const { sharedBy } = lock;
  if (!sharedBy) return;
  claim.group = groupAt(claim, sharedBy);
  const first =
    claim.group === null
      ? undefined
      : waitersOf(draft, claim.group).find((other) => other !== claim && other.turn !== null);
  if (first && first.ticketNumber < claim.ticketNumber) return;
  claim.turn = headStartUs === null ? claim.ticketNumber : turnOf(lock, claim, sharedBy, headStartUs);
  if (!first) return;
  setTurn(draft, first, null);
  draft.queue.sort(byOrder);
}

/**
 * The claim is in the queue no more. The next of its group comes to the front: to the end of it, if the claim was granted, and else
 * to its place.
 */
export function leaveGroup(draft: Draft, claim: Claim, isGranted: boolean): void {
  const { group, turn } = claim;
  claim.group = null;
  claim.turn = null;
  if (group === null || turn === null) return;
  const next = waitersOf(draft, group).find((other) => other !== claim);
  if (!next) return;
  setTurn(draft, next, isGranted ? turnFrom(draft.lock, draft.lock.nextTicket) : turn);
  const at = draft.queue.indexOf(next);
  if (at >= 0) draft.queue.splice(at, 1);
  insert(draft, next);
}

/** Puts a waiter at its place in the known queue; behind what was not read, it is not part of that. */
export function insert({ queue, queueComplete, frontComplete }: Draft, claim: Claim): void {
  let at = queue.length;
  while (at > 0 && byOrder(queue[at - 1] as Claim, claim) > 0) at -= 1;
  if (at < queue.length || queueComplete || (frontComplete && claim.turn !== null))
    queue.splice(at, 0, claim);
}

/** Whether it is known who comes to the front when this one leaves it, or that nobody does. */
function isNextInGroupKnown(draft: Draft, group: string, first: Claim): boolean {
  return isGroupComplete(draft, group) || (knownOf(draft, group)?.some((claim) => claim !== first) ?? false);
}

function isGroupComplete({ queueComplete, groups }: Draft, group: string): boolean {
  return queueComplete || (groups?.get(group)?.complete ?? false);
}

/** The first waiters of the group, in order of arrival. Throws RowsNeeded if they were not read, or are used up. */
function waitersOf(draft: Draft, group: string): readonly Claim[] {
  const known = knownOf(draft, group);
  if (!known || (known.length === 0 && !isGroupComplete(draft, group)))
    throw new RowsNeeded({ wholeQueues: [draft.lock.id] });
  return known;
}

/** The first waiters of the group, in order of arrival, as far as they were read; null: they were not. */
function knownOf(draft: Draft, group: string): Claim[] | null {
  const read = draft.groups?.get(group);
  if (!draft.queueComplete && !read) return null;
  // Beyond the last one that was read there are others, which came before the new ones.
  const upTo = isGroupComplete(draft, group) || !read ? null : read.upTo;
  const isKnown = (claim: Claim) => claim.group === group && (upTo === null || claim.ticketNumber <= upTo);
  return inOrder(draft.claims.filter(isKnown));
}
