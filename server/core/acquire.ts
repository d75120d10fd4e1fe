// The request for a lock: the same claim for a request id that is known; otherwise granted at once, put into the
// queue, or refused.

import { mayGrant } from "./advance.ts";
import type { Claim } from "./claim.ts";
import { comesBackTo } from "./come-back.ts";
import type { Acquire, OutcomeNamed, OutcomeOf, Refused } from "./command.ts";
import type { Draft } from "./draft.ts";
import { snapshot } from "./draft.ts";
import { fits, neverFits } from "./fits.ts";
import { confirm, enqueue, grantAtOnce, keepAlive } from "./transitions.ts";

/** `known`: the claim with this request id, at whatever lock it is; at this lock, the draft's own. */
export function acquire(draft: Draft, command: Acquire, known: Claim | undefined): OutcomeOf<"acquire"> {
  if (known) {
    return known.lockId === draft.lock.id && comesBackTo(command, known)
      ? returning(draft, known, command.replica)
      : { kind: "request_id_reused" };
  }
  const { lock, limit } = draft;
  const isFree = lock.waiting === 0 && fits(lock, limit.limit, command);
  if (isFree && mayGrant(draft)) {
    const claim = newClaim(draft, command);
    grantAtOnce(draft, claim);
    return { kind: "held", claim: snapshot(claim) };
  }
  if (neverFits(limit.limit, command)) return refused(draft, "never_fits");
  if (!command.mayWait) {
    if (isFree)
      return { ...refused(draft, "failed_over"), forUs: draft.failOver.grantsFromUs - draft.clock.atLeastUs };
    return refused(draft, limit.limit === 0 ? "paused" : "busy");
  }
  if (lock.waiting >= draft.policy.queueMax) return refused(draft, "queue_full");
  const claim = newClaim(draft, command);
  const place = { ahead: lock.waiting, permitsAhead: lock.waitingPermits, queueLength: lock.waiting + 1 };
  enqueue(draft, claim);
  return { kind: "waiting", claim: snapshot(claim), place };
}

/** What a client finds that comes back to its claim, by request id or by ticket: a sign of life where it still waits. */
export function returning(
  draft: Draft,
  claim: Claim,
  replica: bigint | null,
): OutcomeNamed<"held" | "waiting" | "ended"> {
  switch (claim.state) {
    case "waiting":
      keepAlive(draft, claim, replica);
      return { kind: "waiting", claim: snapshot(claim), place: null };
    case "held":
      confirm(draft, claim);
      return { kind: "held", claim: snapshot(claim) };
    case "ended":
      return { kind: "ended", claim: snapshot(claim) };
  }
}

function refused(draft: Draft, reason: Refused): OutcomeNamed<"refused"> {
  return { kind: "refused", reason, limit: draft.limit };
}

function newClaim(draft: Draft, command: Acquire): Claim {
  const { lock, nowUs } = draft;
  const ticketNumber = lock.nextTicket;
  lock.nextTicket += 1n;
  return {
    lockId: lock.id,
    ticketNumber,
    secret: command.secret,
    requestId: command.requestId,
    mode: command.mode,
    permits: command.permits,
    owner: command.owner,
    labels: command.labels,
    requestedAtUs: nowUs,
    waitUntilUs: command.maxWaitUs === null ? null : nowUs + command.maxWaitUs,
    state: "waiting",
    ttlUs: command.ttlUs,
    deadlineUs: null,
    replica: command.replica,
    provisional: false,
    fencingToken: 0n,
    grantedAtUs: null,
    endedAtUs: null,
    endReason: null,
    endNote: "",
  };
}
