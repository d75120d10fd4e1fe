// Decides an Acquire: returns the existing claim if the request id is known; otherwise grants at once, enqueues or
// refuses. Also knows who comes back to a claim. A sign of life counts from its arrival, not from the decision about
// it: a waiter that was in time must not lose its place because another transaction held the lock's rows.

import { mayGrant } from "./advance.ts";
import { RETRY_AFTER_US_MIN } from "./bounds.ts";
import { type Claim, sameSecret } from "./claim.ts";
import type { Acquire, Attach, Command, OutcomeNamed, OutcomeOf, Refused } from "./command.ts";
import { claimOf, type Draft, snapshot } from "./draft.ts";
import { fits, neverFits } from "./limit.ts";
import { isDueNow, isExhausted, isInWantedStatus, statusOf } from "./record.ts";
import { confirm, enqueue, grantAtOnce, keepAlive } from "./transitions.ts";

/** `known`: the claim with this request id, on any lock. If it is on this lock, it is the draft's own object. */
export function acquire(draft: Draft, command: Acquire, known: Claim | undefined): OutcomeOf<"acquire"> {
  if (known) {
    return known.lockId === draft.lock.id && comesBackTo(command, known)
      ? returning(draft, known, command.replica)
      : { kind: "request_id_reused" };
  }
  const { lock, limit } = draft;
  const isFree = lock.waiting === 0 && fits(lock, limit.limit, command);
  if (isExhausted(lock)) return refused(draft, neverFits(limit.limit, command) ? "never_fits" : "exhausted");
  if (isFree && mayGrant(draft)) {
    if (!isInWantedStatus(lock, command.terms ?? null))
      return { ...refused(draft, "status_mismatch"), status: statusOf(lock) };
    const claim = newClaim(draft, command);
    return { kind: "held", claim: grantAtOnce(draft, claim, command) };
  }
  if (neverFits(limit.limit, command)) return refused(draft, "never_fits");
  if (!command.mayWait) return refusedNow(draft, isFree);
  if (lock.waiting >= draft.policy.queueMax) return refused(draft, "queue_full");
  const claim = newClaim(draft, command);
  const place = { ahead: lock.waiting, permitsAhead: lock.waitingPermits, queueLength: lock.waiting + 1 };
  return { kind: "waiting", claim: enqueue(draft, claim, command.caller), place };
}

/**
 * The outcome for a client that comes back to its claim, by request id or by ticket. If the claim still waits, this
 * is a sign of life.
 */
export function returning(
  draft: Draft,
  claim: Claim,
  replica: bigint | null,
): OutcomeNamed<"held" | "waiting" | "ended"> {
  if (claim.state === "waiting") keepAlive(draft, claim, replica);
  else if (claim.state === "held") confirm(draft, claim);
  return asItIs(claim);
}

/** The outcome for a claim that the command leaves in its state. */
export function asItIs(claim: Claim): OutcomeNamed<"held" | "waiting" | "ended"> {
  const { state } = claim;
  if (state === "waiting") return { kind: state, claim: snapshot(claim), place: null };
  return { kind: state, claim: snapshot(claim) };
}

/** Whether the command comes back to exactly this claim, by its id or by its request id. */
export function comesBackTo(command: Command, claim: Claim): command is Acquire | Attach {
  if (command.verb === "attach") {
    const { lockId, ticketNumber, secret } = command.ref;
    return claim.lockId === lockId && claim.ticketNumber === ticketNumber && sameSecret(claim.secret, secret);
  }
  if (command.verb !== "acquire") return false;
  return (
    claim.requestId === command.requestId && claim.mode === command.mode && claim.permits === command.permits
  );
}

/** Who asks, as the server has verified it; empty if it asks nobody. */
export function principalOf({ caller }: Pick<Acquire, "caller">): string {
  return caller?.principal ?? "";
}

/** Whether the claim waits, and its place had not run out `agoUs` ago. */
export function wasKept(claim: Claim, nowUs: number, agoUs: number): boolean {
  return claim.state === "waiting" && claim.deadlineUs !== null && claim.deadlineUs > nowUs - agoUs;
}

/**
 * Keeps a place that has run out since the command arrived. To be called for each command that may come back to a
 * claim, before ending what is due. Does not prolong a wait that is over. Ignores leases: an expired one is never
 * revived.
 *
 * @param known the claim that the command names, on any lock. If it is on this lock, it is the draft's own object.
 * @param ageUs time since the command arrived.
 */
export function keepInTime(draft: Draft, command: Command, known: Claim, ageUs: number): void {
  const { nowUs, lock } = draft;
  if (known.lockId !== lock.id || !wasKept(known, nowUs, ageUs) || wasKept(known, nowUs, 0)) return;
  if (comesBackTo(command, known)) keepAlive(draft, known, command.replica);
}

/** Why a request that does not wait is not granted. */
function refusedNow(draft: Draft, isFree: boolean): OutcomeNamed<"refused"> {
  const { lock, clock, failOver, limit } = draft;
  if (limit.limit === 0) return refused(draft, "paused");
  const isDue = isDueNow(lock, clock);
  if (isDue && !isFree) return { ...refused(draft, "busy"), ...soleHolder(draft) };
  const fromUs = Math.max(failOver.grantsFromUs, lock.record?.notBeforeUs ?? 0);
  // `nowUs` is the upper bound of the clock, and the time was set by it. So the result never exceeds the delay asked
  // for.
  const forUs = Math.max(RETRY_AFTER_US_MIN, fromUs - clock.nowUs);
  return { ...refused(draft, isDue ? "failed_over" : "not_before"), forUs };
}

function refused(draft: Draft, reason: Refused): OutcomeNamed<"refused"> {
  return { kind: "refused", reason, limit: draft.limit };
}

/** Most busy locks have one holder. Then the refusal needs no read of the holders. */
function soleHolder(draft: Draft): Pick<OutcomeNamed<"refused">, "holders"> {
  const { lock } = draft;
  const holder = lock.holders === 1 && lock.firstHolder !== null && claimOf(draft, lock.firstHolder);
  return holder && holder.state === "held" ? { holders: [snapshot(holder)] } : {};
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
    principal: principalOf(command),
    labels: command.labels,
    requestedAtUs: nowUs,
    waitUntilUs: command.maxWaitUs === null ? null : nowUs + command.maxWaitUs,
    terms: command.terms ?? null,
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
    endedBy: "",
  };
}
