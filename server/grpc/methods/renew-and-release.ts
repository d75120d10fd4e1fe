// Renew, Release and ForceRelease: the methods about existing claims.

import type {
  ForceReleaseRequest,
  ReleaseRequest,
  RenewLeases,
  RenewRequest,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { AccessError } from "../../access/access-error.ts";
import type { Needed } from "../../access/rights.ts";
import type { ClaimRef } from "../../core/claim.ts";
import type { ForceRelease, Release, Renew } from "../../core/command.ts";
import type { RunResult } from "../../core/record.ts";
import { OVERLOADED_RETRY_AFTER_MS } from "../../engine/engine-bounds.ts";
import { Fault } from "../../engine/faults.ts";
import { authorize } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { RENEWED_AT_ONCE_MAX, RENEWED_LATER_MS_MAX } from "../grpc-bounds.ts";
import { CallError, leaseLost, notGrantedYet, unknownClaim, unknownLock } from "../messages/call-error.ts";
import { claimMessage, leaseMessage } from "../messages/messages.ts";
import { failureOf } from "../messages/status.ts";
import { costOfRenewal } from "../renewal-bounds.ts";
import { shownClaim, shownEnd } from "../shown.ts";
import {
  checkAttempts,
  checkClaimId,
  checkClaimReference,
  checkDuration,
  checkName,
  checkReason,
  checkStatus,
  DELAY,
  TTL,
  type Violations,
} from "./fields.ts";

/** Throws LEASE_LOST, NOT_GRANTED_YET or UNKNOWN_CLAIM. */
export async function renew(context: MethodContext, asked: CheckedRenew, call: Call) {
  return { lease: await renewed(context, asked, call) };
}

async function renewed({ engine }: MethodContext, { ref, ttlUs }: CheckedRenew, call: Call) {
  const { outcome, lockName, nowUs } = await keeping(
    call,
    ref,
    () => engine.ask({ verb: "renew", ref, ttlUs, caller: call }),
    ({ outcome }) =>
      outcome.kind === "held" && outcome.ranUs !== undefined
        ? costOfRenewal(outcome.claim.ttlUs, outcome.ranUs)
        : 1,
  );
  switch (outcome.kind) {
    case "held":
      return leaseMessage(outcome.claim, lockName, nowUs);
    case "waiting":
      throw notGrantedYet();
    case "ended":
      call.reportsEnd?.(ref, outcome.claim);
      throw leaseLost(shownEnd(call, outcome.claim, lockName));
    case "unknown_claim":
      call.reportsEnd?.(ref);
      throw unknownClaim();
  }
}

/**
 * Runs a command for a lease within the client's bound on renewals; `cost`: what its answer was worth. What the database
 * could not answer costs nothing.
 */
async function keeping<Answer>(
  call: Call,
  lease: ClaimRef,
  command: () => Promise<Answer>,
  cost: (answer: Answer) => number,
): Promise<Answer> {
  const { admission, renewals } = call.client;
  const over = renewals.begin(lease);
  let answer: Answer;
  try {
    answer = await admission.run(call, command);
  } catch (error) {
    over(null);
    throw error;
  }
  over(cost(answer));
  return answer;
}

/**
 * If a renewal takes much longer than the first one, its answer is an error, though it may still take effect: its lock
 * is held up, and if the others waited for it, their holders would take their leases for lost.
 */
export async function renewLeases(context: MethodContext, asked: readonly CheckedRenew[], call: Call) {
  const late = Promise.withResolvers<never>();
  // Avoids an unhandled rejection if nobody waits for it any more.
  late.promise.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const first = () => {
    timer ??= setTimeout(() => late.reject(tooLate()), RENEWED_LATER_MS_MAX);
  };
  const leases = await Promise.all(
    asked.map(async (checked) => {
      try {
        const authorizing = authorize(call, RENEW, { lockId: checked.ref.lockId }, context.engine);
        if (authorizing) await authorizing;
        const value = await Promise.race([renewed(context, checked, call), late.promise]);
        first();
        return { outcome: { case: "lease" as const, value } };
      } catch (error) {
        // Anything else is a bug, and fails the whole command.
        if (!(error instanceof CallError || error instanceof Fault || error instanceof AccessError))
          throw error;
        if (error instanceof AccessError) call.denied?.(error);
        // Anything else was no answer of the database, and says nothing about how long the others take.
        if (error instanceof CallError) first();
        return { outcome: failed(error) };
      }
    }),
  );
  clearTimeout(timer);
  // A lease may have ended while this command waited for others.
  return {
    leases: leases.map((renewed, index) => {
      const ended = call.endOf?.((asked[index] as CheckedRenew).ref);
      return ended ? { outcome: failed(leaseLost(ended)) } : renewed;
    }),
  };
}

/** A policy knows renewals by one name. */
const RENEW: Needed = { verb: "Renew", right: "use" };

function failed(error: unknown) {
  return { case: "error" as const, value: failureOf(error).packed };
}

function tooLate(): Fault {
  const message = "Another transaction holds the lock's rows, so it is not renewed yet: try again.";
  return new Fault("unavailable", "lock_wait_timeout", message, {
    retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
    outcomeUnknown: true,
  });
}

/** Answers whether this call ended the lease. Throws NOT_GRANTED_YET or UNKNOWN_CLAIM. */
export async function release({ engine }: MethodContext, { ref, result }: CheckedRelease, call: Call) {
  const { outcome } = await keeping(
    call,
    ref,
    () => engine.ask({ verb: "release", ref, result, caller: call }),
    ({ outcome }) => (outcome.kind === "released" && outcome.byThisCall ? 0 : 1),
  );
  switch (outcome.kind) {
    case "released":
      return { released: outcome.byThisCall };
    case "waiting":
      throw notGrantedYet();
    case "unknown_claim":
      call.reportsEnd?.(ref);
      throw unknownClaim();
  }
}

/**
 * Ends one claim, or the first holders of a lock; `remaining`: holders that are left for further calls. Throws
 * UNKNOWN_LOCK.
 */
export async function forceRelease(
  { engine }: MethodContext,
  { name, ticketNumber, reason }: CheckedForceRelease,
  call: Call,
) {
  const { outcome } = await call.client.admission.run(call, () =>
    engine.ask({ verb: "force_release", name, ticketNumber, reason, caller: call }),
  );
  if (outcome.kind === "unknown_lock") throw unknownLock(name);
  const ended = outcome.ended.map((claim) => claimMessage(shownClaim(call, claim, name), name));
  const remaining = ticketNumber === null ? outcome.holdersLeft : 0;
  return { ended, remaining };
}

type CheckedRenew = Pick<Renew, "ref" | "ttlUs">;
type CheckedRelease = Required<Pick<Release, "ref" | "result">>;
type CheckedForceRelease = Pick<ForceRelease, "name" | "ticketNumber" | "reason">;

export function checkRenew({ leaseId, ttl }: RenewRequest, violations: Violations): CheckedRenew {
  const ref = checkClaimId(leaseId, "lease_id", violations);
  return { ref, ttlUs: checkDuration(ttl, TTL, "ttl", violations) };
}

export function checkRenewLeases({ leases }: RenewLeases, violations: Violations): CheckedRenew[] {
  const isMany = leases.length >= 1 && leases.length <= RENEWED_AT_ONCE_MAX;
  if (!isMany) violations.add("leases", `has ${leases.length}; name 1 to ${RENEWED_AT_ONCE_MAX} leases`);
  return (isMany ? leases : []).map((lease, index) =>
    checkRenew(lease, violations.within(`leases[${index}]`)),
  );
}

export function checkRelease(message: ReleaseRequest, violations: Violations): CheckedRelease {
  return {
    ref: checkClaimId(message.leaseId, "lease_id", violations),
    result: checkResult(message, violations),
  };
}

/** null: the request says nothing about the lock's record. */
function checkResult(message: ReleaseRequest, violations: Violations): RunResult | null {
  const coolDownUs = checkDuration(message.coolDown, DELAY, "cool_down", violations);
  const status = checkStatus(message.status, "status", violations);
  const attemptsLeft = checkAttempts(message.attemptsLeft, violations);
  if (coolDownUs === undefined && status === undefined && attemptsLeft === undefined) return null;
  return {
    ...(coolDownUs !== undefined && { coolDownUs }),
    ...(status !== undefined && { status }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
  };
}

export function checkForceRelease(
  { target, reason }: ForceReleaseRequest,
  violations: Violations,
): CheckedForceRelease {
  return { ...checkTarget(target, violations), reason: checkReason(reason, true, violations) };
}

function checkTarget(
  target: ForceReleaseRequest["target"],
  violations: Violations,
): Pick<CheckedForceRelease, "name" | "ticketNumber"> {
  switch (target.case) {
    case "name":
      return { name: checkName(target.value, "name", violations), ticketNumber: null };
    case "claim": {
      return checkClaimReference(target.value, "claim", violations);
    }
    case undefined:
      violations.add("target", "is required: set name for all holders of a lock, or claim for one");
      return { name: "", ticketNumber: null };
  }
}
