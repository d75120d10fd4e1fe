// Applies time and order: ends what is due, then grants to the head of the queue while it fits. Grants go strictly by
// ticket number, so nobody passes a heavy request at the head that waits for its permits.

import { type Claim, type EndReason, inOrder } from "./claim.ts";
import { bringBack, heldForUs } from "./clock-ahead.ts";
import type { Draft } from "./draft.ts";
import { fits, neverFits } from "./limit.ts";
import { isDueNow, isExhausted, isInWantedStatus, statusOf } from "./record.ts";
import { end, grant } from "./transitions.ts";

/**
 * Brings back times from a clock that was ahead. Ends all loaded claims whose time has run out, oldest first, because the
 * last one to end leaves its mark in the lock's record. Called once, before the first command: the time of a decision does
 * not change after that.
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

/**
 * Whether anything may be granted now. Nothing is granted while a lease that a fail-over lost may still be held, nor
 * before the lock is due.
 */
export function mayGrant({ clock, failOver, lock }: Draft): boolean {
  return failOver.grantsFromUs <= clock.atLeastUs && isDueNow(lock, clock);
}

/** Whether the claim's present state has run out. */
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
