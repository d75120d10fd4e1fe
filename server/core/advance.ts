// Applies time and order: ends what is due, then grants to the head of the queue while it fits. Grants go strictly by
// ticket number, so nobody passes a heavy request at the head that waits for its permits.

import { CLOCK_JUMP_US_MIN, PLACE_US_MAX } from "./bounds.ts";
import { type Claim, type EndReason, inOrder } from "./claim.ts";
import { fits, neverFits } from "./limit.ts";
import { isDueNow, isExhausted, isInWantedStatus, statusOf } from "./lock.ts";
import type { Policy } from "./rows.ts";
import { type Draft, end, grant, isAsGranted, showRenewal, touch } from "./transitions.ts";

/**
 * Brings back times from a clock that was ahead, and ends all loaded claims whose time has run out, oldest first, because the
 * last one to end leaves its mark in the lock's record. Called once, as the time of a decision does not change.
 */
export function endDue(draft: Draft): void {
  let due: Claim[] | null = null;
  for (const claim of draft.claims) {
    bringBack(draft, claim);
    if (claim.state !== "ended" && isDue(draft, claim)) {
      due ??= [];
      due.push(claim);
    }
  }
  if (due) for (const claim of inOrder(due)) end(draft, claim, dueReason(claim));
}

/** Grants to the first waiters while they fit. */
export function grantWaiters(draft: Draft): void {
  const { lock, queue } = draft;
  while (lock.waiting > 0) {
    const head = queue[0];
    if (!head) {
      draft.unfinished = !draft.queueComplete && draft.limit.limit > 0;
      return;
    }
    if (neverFits(draft.limit.limit, head)) {
      end(draft, head, "never_fits");
      continue;
    }
    if (!fits(lock, draft.limit.limit, head)) return;
    if (isExhausted(lock)) {
      end(draft, head, "exhausted");
      continue;
    }
    if (!mayGrant(draft)) return;
    if (!isInWantedStatus(lock, head.terms)) {
      end(draft, head, "status_mismatch", { note: statusOf(lock) });
      continue;
    }
    queue.shift();
    grant(draft, head);
  }
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

/** Gives the claim its times again, if the clock has been set back since it got them. */
export function bringBack(draft: Draft, claim: Claim): void {
  const { nowUs, policy } = draft;
  if (!isFromAhead(claim, nowUs)) return;
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
