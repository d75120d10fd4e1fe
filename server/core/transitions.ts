// The only functions that change the state of a claim in a draft. Each keeps the counters of the guard row in
// step and records what happened. See the diagram in claim.ts. Also applies time: ends what is due. levels.ts grants to the
// head of the queue while it fits. Grants go strictly by ticket number, so nobody passes a heavy request at the head that waits
// for its permits.

import { CLOCK_JUMP_US_MIN, PLACE_US_MAX } from "./bounds.ts";
import { type Claim, type EndReason, inOrder, isEntering, isLead, isSpend } from "./claim.ts";
import type { Acquire, Caller } from "./command.ts";
import { type Draft, snapshot, touch } from "./draft.ts";
import { effectiveLimit, effectiveQueueRules, effectiveRate, fits } from "./limit.ts";
import {
  afterGrant,
  afterLease,
  countEntering,
  countHolder,
  countWaiter,
  isDueNow,
  isOwnName,
  nextNumber,
  type RunResult,
} from "./lock.ts";
import { giveAllBack, leaveQueue } from "./pools.ts";
import { afterTaking, allowedFromUs, correctedUntilUs } from "./rate.ts";
import type { Policy } from "./rows.ts";
import { copyLease, leave, type Part, wholeOf, wholeOrThrow } from "./sets.ts";
import { insert, joinGroup, leaveGroup, nextOf, setOrder } from "./shares.ts";

/** The limit or the rate in force for the lock has changed. */
export function setInForce(draft: Draft): void {
  const { lock, limitRules, clock } = draft;
  draft.limit = effectiveLimit(lock, limitRules);
  draft.rate = effectiveRate(lock, limitRules);
  if (draft.rate) lock.rateUntilUs = correctedUntilUs(draft.rate, lock.rateUntilUs, clock);
}

/** The next waiter has its own lock from now on. */
export function occupy(draft: Draft, claim: Claim): void {
  takeFromQueue(draft, claim, true);
  countAsEntering(draft, claim);
}

function takeFromQueue(draft: Draft, claim: Claim, isGranted: boolean): void {
  countWaiter(draft.lock, claim, -1);
  const at = draft.queue.indexOf(claim);
  if (at >= 0) draft.queue.splice(at, 1);
  leaveGroup(draft, claim, isGranted);
}

/** A new claim, which has its own lock from the beginning. */
export function occupyAtOnce(draft: Draft, claim: Claim): void {
  draft.added.push(claim);
  draft.claims.push(claim);
  countAsEntering(draft, claim);
}

function countAsEntering(draft: Draft, claim: Claim): void {
  countHolder(draft.lock, claim);
  countEntering(draft.lock, claim);
}

/**
 * Gives the lease to a claim that has its own lock. A waiter gets it for the grace period at most until somebody comes for
 * it: a waiter that was there a moment ago may be dead or cut off by now. To a new request the answer itself delivers it,
 * unless the caller has waited. A spend ends with that.
 */
export function grant(
  draft: Draft,
  claim: Claim,
  atOnce: Pick<Acquire, "afterWait" | "caller"> | null,
): void {
  if (claim.members === null) {
    giveLease(draft, claim, atOnce);
    recordGrant(draft, claim, atOnce === null, atOnce?.caller);
    if (isSpend(claim)) end(draft, claim, "spent", { caller: atOnce?.caller });
    return;
  }
  const parts = wholeOrThrow(draft, claim);
  for (const part of parts) giveLease(part.draft, part.claim, atOnce);
  const members = claim.members.map((member, at) => ({
    ...member,
    fencingToken: (parts[at] as Part).claim.fencingToken,
  }));
  for (const part of parts) {
    part.claim.members = members;
    recordGrant(part.draft, part.claim, atOnce === null, atOnce?.caller);
  }
}

function giveLease(draft: Draft, claim: Claim, atOnce: Pick<Acquire, "afterWait"> | null): void {
  countEntering(draft.lock, claim, -1);
  takeLevels(draft, claim);
  if (!atOnce || atOnce.afterWait) holdForGrace(draft, claim);
  else {
    hold(draft, claim, wholeEnd(claim, draft.nowUs));
    claim.provisional = claim.deadlineUs === null;
  }
  touch(draft, claim);
}

/** The claim keeps the pools that it has, and takes their rates: in this transaction, which gives the token. */
function takeLevels({ pools, clock }: Draft, claim: Claim): void {
  if (claim.levels === null) return;
  if (!isLead(claim)) {
    claim.levels = null;
    return;
  }
  leaveQueue(pools, claim);
  const kept = claim.levels.filter(({ state }) => state === "has");
  for (const { poolId } of kept) {
    const pool = pools.get(poolId);
    const rate = pool?.lock.rate;
    if (!pool || !rate) continue;
    const { permits } = pool.takenBy(claim);
    pool.lock.rateUntilUs = afterTaking(rate, pool.lock.rateUntilUs, permits, clock);
  }
  claim.levels = kept.length > 0 ? kept : null;
}

/** Puts a new claim at the end of the queue. */
export function enqueue(
  draft: Draft,
  claim: Claim,
  { caller, headStartUs = 0 }: Pick<Acquire, "caller" | "headStartUs">,
): Claim {
  draft.added.push(claim);
  draft.claims.push(claim);
  if (draft.lock.waiting === 0) setOrder(draft);
  countWaiter(draft.lock, claim);
  if (isLead(claim)) keepAlive(draft, claim, claim.replica);
  const { headStartMaxUs = 0 } = effectiveQueueRules(draft.lock, draft.limitRules) ?? {};
  joinGroup(draft, claim, Math.min(headStartUs, headStartMaxUs));
  insert(draft, claim);
  return recordWait(draft, claim, caller);
}

/** A new claim waits, in the lock's own queue or at a pool. */
export function recordWait(draft: Draft, claim: Claim, caller: Caller | undefined): Claim {
  const enqueued = snapshot(claim);
  draft.events.push({ kind: "enqueued", claim: enqueued, caller });
  return enqueued;
}

/** A claim that enters gives back all that it has, and waits in its own locks' queues again, at its old places. */
export function comeBackToQueue(draft: Draft, claim: Claim): void {
  const levels = claim.levels?.map((level) => ({ ...level, state: "left" as const })) ?? null;
  for (const part of wholeOrThrow(draft, claim)) {
    giveAllBack(draft.pools, part.claim);
    part.claim.levels = levels;
    queueAgain(part.draft, part.claim);
  }
}

function queueAgain(draft: Draft, claim: Claim): void {
  const { lock } = draft;
  countEntering(lock, claim, -1);
  countHolder(lock, claim, -1);
  countWaiter(lock, claim);
  joinGroup(draft, claim, null);
  insert(draft, claim);
  touch(draft, claim);
}

/**
 * A sign of life. With a replica, its heartbeats keep the place from now on. Without one (a client that polls), the
 * place is kept for the grace period, or for as long as a replica with a stream for it has already promised.
 */
export function keepAlive(draft: Draft, claim: Claim, replica: bigint | null): void {
  const { nowUs, policy } = draft;
  if (replica !== null) {
    claim.replica = replica;
    keepUntil(claim, nowUs + policy.attachedForUs);
  } else {
    keepUntil(claim, Math.max(nowUs + policy.graceUs, claim.deadlineUs ?? 0));
  }
  touch(draft, claim);
}

/** The waiter's stream is lost: the grace period runs from now on. */
export function startGrace(draft: Draft, claim: Claim): void {
  claim.replica = null;
  keepUntil(claim, draft.nowUs + draft.policy.graceUs);
  touch(draft, claim);
}

/** Somebody came for the lease: its whole time to live runs from the grant, or from a jump of the clock since then. */
export function confirm(draft: Draft, claim: Claim): void {
  if (!claim.provisional) return;
  claim.provisional = false;
  const grantedAtUs = claim.grantedAtUs ?? draft.nowUs;
  claim.deadlineUs = wholeEnd(claim, Math.max(grantedAtUs, draft.clock.jumpedAtUs ?? 0));
  touch(draft, claim);
  if (claim.members !== null) copyLease(wholeOrThrow(draft, claim));
}

/** Sets the end of a lease to now + ttl, and confirms it. */
export function prolong(draft: Draft, claim: Claim, ttlUs: number | null): void {
  claim.ttlUs = ttlUs;
  claim.provisional = false;
  claim.deadlineUs = wholeEnd(claim, draft.nowUs);
  showRenewal(claim);
  touch(draft, claim);
  if (claim.members !== null) copyLease(wholeOrThrow(draft, claim));
}

/** Whether no renewal has changed the end that its grant gave the lease. */
export function isAsGranted(claim: Claim): boolean {
  const { provisional, grantedAtUs, deadlineUs } = claim;
  if (provisional) return true;
  return grantedAtUs !== null && deadlineUs !== null && deadlineUs === wholeEnd(claim, grantedAtUs);
}

/**
 * Makes the end of a renewed lease differ from the one of its grant. Both are the same if the renewal comes in the
 * microsecond of the grant, or if the clock was set back and the grant has moved to now.
 */
function showRenewal(claim: Claim): void {
  if (isAsGranted(claim) && claim.deadlineUs !== null) claim.deadlineUs += 1;
}

/** Who ends a claim, and what they say about it. */
interface End {
  readonly note?: string;
  /** Who forced the end. */
  readonly by?: string;
  /** What its Release says about the lock's record. */
  readonly result?: RunResult | null;
  readonly caller?: Caller | undefined;
}

export function end(draft: Draft, claim: Claim, reason: EndReason, how: End = {}): void {
  if (claim.members === null) {
    endRow(draft, claim, reason, how);
    return;
  }
  // Where one lock is the cause, the claim shows which.
  const by = how.by ?? (isOfOneLock(reason) ? draft.lock.name : "");
  for (const part of wholeOrThrow(draft, claim)) {
    endRow(part.draft, part.claim, reason, { ...how, by });
  }
  draft.batch.setsMoved = true;
}

function isOfOneLock(reason: EndReason): boolean {
  return reason === "never_fits" || reason === "exhausted" || reason === "status_mismatch";
}

function endRow(
  draft: Draft,
  claim: Claim,
  reason: EndReason,
  { note = "", by = "", result = null, caller }: End,
): void {
  const { lock, nowUs, policy } = draft;
  const was = claim.state === "held" ? "held" : "waiting";
  if (was === "held") countHolder(lock, claim, -1);
  else if (draft.passing === claim || isEntering(claim)) {
    countHolder(lock, claim, -1);
    countEntering(lock, claim, -1);
  } else {
    takeFromQueue(draft, claim, false);
  }
  giveAllBack(draft.pools, claim);
  // Somebody may have relied on a lease without end, so it counts as a run.
  if (claim.deadlineUs === null) claim.provisional = false;
  claim.state = "ended";
  claim.endReason = reason;
  claim.endNote = note;
  claim.endedBy = by;
  claim.endedAtUs = nowUs;
  // Nobody comes back to a claim on one of the servers' own locks.
  claim.deadlineUs = nowUs + (isOwnName(lock.name) ? 0 : policy.keptForUs(lock.name));
  const record = was === "held" ? afterLease(lock, claim, result, draft.failOver) : null;
  const isNewRecord = record !== null && lock.record === null;
  if (was === "held") lock.record = record;
  if (record?.lastRun?.fencingToken === claim.fencingToken && note === "")
    claim.endNote = record.lastRun.status;
  touch(draft, claim);
  draft.events.push({ kind: "ended", claim: snapshot(claim), was, record, isNewRecord, caller });
}

function holdForGrace(draft: Draft, claim: Claim): void {
  const graceEndUs = draft.nowUs + draft.policy.graceUs;
  hold(draft, claim, Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs));
  // Nobody comes for a spend.
  claim.provisional = !isSpend(claim);
}

function hold(draft: Draft, claim: Claim, deadlineUs: number | null): void {
  const { lock, rate, clock } = draft;
  if (rate) lock.rateUntilUs = afterTaking(rate, lock.rateUntilUs, claim.permits, clock);
  lock.lastToken = nextNumber(lock.lastToken, draft.failOver);
  claim.state = "held";
  claim.fencingToken = lock.lastToken;
  claim.grantedAtUs = draft.nowUs;
  claim.deadlineUs = deadlineUs;
  lock.record = afterGrant(lock, draft.failOver);
}

function recordGrant(draft: Draft, claim: Claim, queued: boolean, caller?: Caller): Claim {
  const waitedUs = Math.max(0, draft.nowUs - claim.requestedAtUs);
  const granted = snapshot(claim);
  draft.events.push({ kind: "granted", claim: granted, waitedUs, queued, caller });
  return granted;
}

function keepUntil(claim: Claim, untilUs: number): void {
  claim.deadlineUs = claim.waitUntilUs === null ? untilUs : Math.min(untilUs, claim.waitUntilUs);
}

/** The end of a lease that runs for its whole time to live; null: without end. */
export function wholeEnd(claim: Pick<Claim, "ttlUs">, fromUs: number): number | null {
  return claim.ttlUs === null ? null : fromUs + claim.ttlUs;
}

/**
 * Brings back times from a clock that was ahead, and ends all loaded claims whose time has run out, oldest first, because the
 * last one to end leaves its mark in the lock's record. Called once, as the time of a decision does not change.
 */
export function endDue(draft: Draft): void {
  let due: Claim[] | null = null;
  for (const claim of draft.claims) {
    if (isFromAhead(claim, draft.nowUs)) bringBackWhole(draft, claim);
    if (claim.state === "ended" || !(claim.members === null ? isDue(draft, claim) : isDueSet(draft, claim)))
      continue;
    due ??= [];
    due.push(claim);
  }
  if (due) for (const claim of inOrder(due)) end(draft, claim, dueReason(claim));
}

/** Of a claim for several locks the lead alone says when it is due. */
function isDueSet(draft: Draft, claim: Claim): boolean {
  const parts = wholeOf(draft, claim);
  if (parts) {
    if (claim.state === "held" && isLead(claim)) copyLease(parts);
    return isLead(claim) && isDue(draft, claim);
  }
  if (isDue(draft, claim)) leave(draft, claim);
  return false;
}

/**
 * When the server has to look at the lock, because its first waiter may be granted from then on, although nobody asks for
 * anything; null: never. A waiter that does not fit is granted by the end of a claim.
 */
export function wakeOf(draft: Draft): number | null {
  const { lock, clock, limit, rate, left } = draft;
  if (lock.waiting === 0) return null;
  // Another server looks at it, should this one not come to it.
  if (left.length > 0) return clock.atLeastUs;
  if (!isDueNow(lock, clock)) return lock.record?.notBeforeUs ?? null;
  const head = rate ? nextOf(draft) : undefined;
  if (!rate || !head || !fits(lock, limit.limit, head)) return null;
  const fromUs = allowedFromUs(rate, lock.rateUntilUs, head.permits);
  return fromUs > clock.atLeastUs ? fromUs : null;
}

/** Nothing is granted while a lease that a fail-over lost may still be held, nor before the lock is due. */
export function mayGrant({ clock, failOver, lock }: Draft): boolean {
  return failOver.grantsFromUs <= clock.atLeastUs && isDueNow(lock, clock);
}

function isDue(draft: Draft, claim: Claim): boolean {
  const { clock, failOver, policy } = draft;
  if (claim.deadlineUs === null || claim.deadlineUs > clock.atLeastUs - clock.skippedUs) return false;
  if (claim.state === "waiting" && isKept(draft, claim)) return false;
  // A fail-over may have lost signs of life and renewals, and a jump of the clock makes them look old. So the claim
  // gets its whole time again, counted from that moment.
  const doubtedAtUs = Math.max(clock.jumpedAtUs ?? 0, failOver.atUs);
  const wholeUs = claim.state === "held" ? heldForUs(claim, policy) : policy.attachedForUs;
  return doubtedAtUs + wholeUs <= clock.atLeastUs;
}

/** Whether a place without a sign of life is kept, because signs of life may not have reached the database. */
function isKept({ clock, policy }: Draft, claim: Claim): boolean {
  const waitOver = claim.waitUntilUs !== null && claim.waitUntilUs <= clock.atLeastUs;
  return !waitOver && clock.backAtUs !== null && clock.atLeastUs < clock.backAtUs + policy.graceUs;
}

function dueReason(claim: Claim): EndReason {
  // Nobody came for a provisional lease, so it lapses, however short its time to live is.
  if (claim.state === "held") return claim.provisional ? "lapsed" : "expired";
  const waitOver = claim.waitUntilUs !== null && claim.waitUntilUs <= (claim.deadlineUs as number);
  return waitOver ? "timed_out" : "lapsed";
}

// Claims that got their times while the database's clock was ahead. After the clock is set back, these times are too late:
// if the holder of such a lease is gone, the lease would block its lock for as long as the clock had been ahead. So a
// decision that reads such a claim counts its times from now. Nobody loses by that: a confirmed lease still lasts for its
// whole ttl from now. Leases without end keep no end.

export type ClaimTimes = Pick<
  Claim,
  "lockId" | "ticketNumber" | "state" | "requestedAtUs" | "grantedAtUs" | "ttlUs" | "deadlineUs"
>;

/** Whether the claim has a time that the clock, as it is now, cannot have given. */
export function isFromAhead(claim: ClaimTimes, nowUs: number): boolean {
  const latestUs = nowUs + CLOCK_JUMP_US_MIN;
  if (claim.state === "ended") return false;
  if (claim.requestedAtUs > latestUs || (claim.grantedAtUs ?? 0) > latestUs) return true;
  const longestUs = claim.state === "held" ? claim.ttlUs : PLACE_US_MAX;
  // The lease of a waiter that wants one without end runs for the grace period until it comes for it.
  return (claim.deadlineUs ?? 0) > latestUs + (longestUs ?? PLACE_US_MAX);
}

/** Gives the claim its times again, which it got before the clock was set back. */
function bringBackWhole(draft: Draft, claim: Claim): void {
  const parts = wholeOf(draft, claim);
  // All rows show the same times.
  if (parts) for (const part of parts) bringBack(part);
  else leave(draft, claim);
}

function bringBack({ draft, claim }: Part): void {
  const { nowUs, policy } = draft;
  const wasRenewed = claim.state === "held" && !isAsGranted(claim);
  if (claim.waitUntilUs !== null && claim.requestedAtUs > nowUs)
    claim.waitUntilUs -= claim.requestedAtUs - nowUs;
  claim.requestedAtUs = Math.min(claim.requestedAtUs, nowUs);
  if (claim.grantedAtUs !== null) claim.grantedAtUs = Math.min(claim.grantedAtUs, nowUs);
  const latestUs = claim.state === "held" ? nowUs + heldForUs(claim, policy) : placeEnd(claim, draft);
  if (claim.deadlineUs !== null) claim.deadlineUs = Math.min(claim.deadlineUs, latestUs);
  if (wasRenewed) showRenewal(claim);
  touch(draft, claim);
}

/** How long the lease lasts from its grant, or from its last renewal. */
export function heldForUs({ ttlUs, provisional }: Claim, { graceUs }: Policy): number {
  const wholeUs = ttlUs ?? graceUs;
  return provisional ? Math.min(wholeUs, graceUs) : wholeUs;
}

function placeEnd({ waitUntilUs }: Claim, { nowUs, policy }: Draft): number {
  return Math.min(nowUs + policy.attachedForUs, waitUntilUs ?? Number.POSITIVE_INFINITY);
}
