// The only functions that change the state of a claim. Each keeps the counters of the guard row in step and records
// what happened. See the diagram in claim.ts.

import type { Claim, EndReason } from "./claim.ts";
import type { Acquire, Caller } from "./command.ts";
import { type Draft, snapshot, touch } from "./draft.ts";
import { nextNumber } from "./fail-over.ts";
import { countHolder, countWaiter, isOwnName } from "./lock.ts";
import { afterGrant, afterLease, type RunResult } from "./record.ts";

/**
 * Gives the lease to a waiter, for the grace period at most until somebody comes for it: a waiter that was there a
 * moment ago may be dead by now, may not read, or may be cut off.
 */
export function grant(draft: Draft, claim: Claim): void {
  countWaiter(draft.lock, claim, -1);
  holdForGrace(draft, claim);
  touch(draft, claim);
  recordGrant(draft, claim, true);
}

/**
 * Gives the lease to a new request at once. The answer itself delivers it, unless the caller has waited. Returns the
 * claim as it is now.
 */
export function grantAtOnce(
  draft: Draft,
  claim: Claim,
  { afterWait, caller }: Pick<Acquire, "afterWait" | "caller">,
): Claim {
  draft.added.push(claim);
  draft.claims.push(claim);
  if (afterWait) holdForGrace(draft, claim);
  else {
    hold(draft, claim, wholeEnd(claim, draft.nowUs));
    claim.provisional = claim.deadlineUs === null;
  }
  return recordGrant(draft, claim, false, caller);
}

/** Puts a new claim at the end of the queue. Returns the claim as it is now. */
export function enqueue(draft: Draft, claim: Claim, caller: Caller | undefined): Claim {
  draft.added.push(claim);
  draft.claims.push(claim);
  countWaiter(draft.lock, claim);
  keepAlive(draft, claim, claim.replica);
  // Behind waiters that were not read, the claim is not part of the known head.
  if (draft.queueComplete) draft.queue.push(claim);
  const enqueued = snapshot(claim);
  draft.events.push({ kind: "enqueued", claim: enqueued, caller });
  return enqueued;
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

/**
 * Somebody came for the lease: it runs for its whole time to live, counted from the grant, or from a jump of the clock since
 * then.
 */
export function confirm(draft: Draft, claim: Claim): void {
  if (!claim.provisional) return;
  claim.provisional = false;
  const grantedAtUs = claim.grantedAtUs ?? draft.nowUs;
  claim.deadlineUs = wholeEnd(claim, Math.max(grantedAtUs, draft.clock.jumpedAtUs ?? 0));
  touch(draft, claim);
}

/** Sets the end of a lease to now + ttl, and confirms it. */
export function prolong(draft: Draft, claim: Claim, ttlUs: number | null): void {
  claim.ttlUs = ttlUs;
  claim.provisional = false;
  claim.deadlineUs = wholeEnd(claim, draft.nowUs);
  showRenewal(claim);
  touch(draft, claim);
}

/** Whether the lease still has the end that its grant gave it, so no renewal has changed it. */
export function isAsGranted(claim: Claim): boolean {
  const { provisional, grantedAtUs, deadlineUs } = claim;
  if (provisional) return true;
  return grantedAtUs !== null && deadlineUs !== null && deadlineUs === wholeEnd(claim, grantedAtUs);
}

/**
 * Makes the end of a renewed lease differ from the one that it was granted with. Both are the same if the renewal comes in
 * the microsecond of the grant, or if the clock was set back and the grant has moved to now.
 */
export function showRenewal(claim: Claim): void {
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

/** Ends a claim for good. */
export function end(
  draft: Draft,
  claim: Claim,
  reason: EndReason,
  { note = "", by = "", result = null, caller }: End = {},
): void {
  const { lock, nowUs, policy } = draft;
  const was = claim.state === "held" ? "held" : "waiting";
  if (was === "held") countHolder(lock, claim, -1);
  else {
    countWaiter(lock, claim, -1);
    const place = draft.queue.indexOf(claim);
    if (place >= 0) draft.queue.splice(place, 1);
  }
  // Whether anybody relied on a lease without end is unknown, so it counts as a run.
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
  touch(draft, claim);
  draft.events.push({ kind: "ended", claim: snapshot(claim), was, record, isNewRecord, caller });
}

function holdForGrace(draft: Draft, claim: Claim): void {
  const graceEndUs = draft.nowUs + draft.policy.graceUs;
  hold(draft, claim, Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs));
  claim.provisional = true;
}

function hold(draft: Draft, claim: Claim, deadlineUs: number | null): void {
  const { lock } = draft;
  lock.lastToken = nextNumber(lock.lastToken, draft.failOver);
  claim.state = "held";
  claim.fencingToken = lock.lastToken;
  claim.grantedAtUs = draft.nowUs;
  claim.deadlineUs = deadlineUs;
  lock.record = afterGrant(lock, draft.failOver);
  countHolder(lock, claim);
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
