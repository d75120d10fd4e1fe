// Claims that got their times while the database's clock was ahead. After the clock is set back, these times are too late:
// if the holder of such a lease is gone, the lease would block its lock for as long as the clock had been ahead. So a
// decision that reads such a claim counts its times from now. Nobody loses by that: a confirmed lease still lasts for its
// whole ttl from now. Leases without end keep no end.

import { CLOCK_JUMP_US_MIN, PLACE_US_MAX } from "./bounds.ts";
import type { Claim } from "./claim.ts";
import { type Draft, touch } from "./draft.ts";
import type { Policy } from "./rows.ts";
import { isAsGranted, showRenewal } from "./transitions.ts";

/** What shows whether a claim is such a one. */
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
