// Renew, Release and ForceRelease: the methods about existing claims.

import type {
  ForceReleaseRequest,
  ReleaseRequest,
  RenewLeases,
  RenewRequest,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { OVERLOADED_RETRY_AFTER_MS } from "../../engine/engine-bounds.ts";
import { Fault } from "../../engine/faults.ts";
import { RENEWED_LATER_MS_MAX } from "../grpc-bounds.ts";
import type { AnyCall } from "../handler.ts";
import { CallError, leaseLost, notGrantedYet, unknownClaim, unknownLock } from "../messages/call-error.ts";
import { claimMessage, leaseMessage } from "../messages/messages.ts";
import { failureOf } from "../messages/status.ts";
import {
  type CheckedRenew,
  checkForceRelease,
  checkRelease,
  checkRenew,
  checkRenewLeases,
} from "../validate/claims.ts";
import type { MethodContext } from "./method.ts";

/** Throws LEASE_LOST, NOT_GRANTED_YET or UNKNOWN_CLAIM. */
export async function renew(context: MethodContext, message: RenewRequest, call: AnyCall) {
  return { lease: await renewed(context, checkRenew(message), call) };
}

async function renewed({ engine }: MethodContext, { ref, ttlUs }: CheckedRenew, call: AnyCall) {
  const { outcome, lockName, nowUs } = await engine.renew(ref, ttlUs, call);
  switch (outcome.kind) {
    case "held":
      return leaseMessage(outcome.claim, lockName, nowUs);
    case "waiting":
      throw notGrantedYet();
    case "ended":
      call.tellsEnd?.(ref, outcome.claim);
      throw leaseLost(outcome.claim);
    case "unknown_claim":
      call.tellsEnd?.(ref);
      throw unknownClaim();
  }
}

/**
 * If a renewal takes much longer than the first one, its answer is an error, though it may still take effect: its lock
 * is held up, and if the others waited for it, their holders would take their leases for lost.
 */
export async function renewLeases(context: MethodContext, message: RenewLeases, call: AnyCall) {
  const late = Promise.withResolvers<never>();
  // Avoids an unhandled rejection if nobody waits for it any more.
  late.promise.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const first = () => {
    timer ??= setTimeout(() => late.reject(tooLate()), RENEWED_LATER_MS_MAX);
  };
  const asked = checkRenewLeases(message);
  const leases = await Promise.all(
    asked.map(async (checked) => {
      try {
        const value = await Promise.race([renewed(context, checked, call), late.promise]);
        return { outcome: { case: "lease" as const, value } };
      } catch (error) {
        // Anything else is a bug, and fails the whole command.
        if (!(error instanceof CallError || error instanceof Fault)) throw error;
        return { outcome: failed(error) };
      } finally {
        first();
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
export async function release({ engine }: MethodContext, message: ReleaseRequest, call: AnyCall) {
  const { ref, result } = checkRelease(message);
  const { outcome } = await engine.release(ref, result, call);
  switch (outcome.kind) {
    case "released":
      return { released: outcome.byThisCall };
    case "waiting":
      throw notGrantedYet();
    case "unknown_claim":
      call.tellsEnd?.(ref);
      throw unknownClaim();
  }
}

/**
 * Ends one claim, or the first holders of a lock; `remaining`: holders that are left for further calls. Throws
 * UNKNOWN_LOCK.
 */
export async function forceRelease({ engine }: MethodContext, message: ForceReleaseRequest, call: AnyCall) {
  const { name, ticketNumber, reason } = checkForceRelease(message);
  const answer = await engine.forceRelease(name, ticketNumber, reason, call);
  if (!answer) throw unknownLock(name);
  const ended = answer.outcome.ended.map((claim) => claimMessage(claim, name));
  const remaining = ticketNumber === null ? answer.outcome.holdersLeft : 0;
  return { ended, remaining };
}
