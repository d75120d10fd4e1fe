// Renew, Release and ForceRelease: the methods about claims that exist.

import type {
  ForceReleaseRequest,
  ReleaseRequest,
  RenewLeases,
  RenewRequest,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { Fault } from "../../engine/faults.ts";
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

export async function renew(context: MethodContext, message: RenewRequest) {
  return { lease: await renewed(context, checkRenew(message)) };
}

async function renewed({ engine }: MethodContext, { ref, ttlUs }: CheckedRenew) {
  const { outcome, lockName, nowUs } = await engine.renew(ref, ttlUs);
  switch (outcome.kind) {
    case "held":
      return leaseMessage(outcome.claim, lockName, nowUs);
    case "waiting":
      throw notGrantedYet();
    case "ended":
      throw leaseLost(outcome.claim);
    case "unknown_claim":
      throw unknownClaim();
  }
}

export async function renewLeases(context: MethodContext, message: RenewLeases) {
  const leases = await Promise.all(
    checkRenewLeases(message).map(async (checked) => {
      try {
        return { outcome: { case: "lease" as const, value: await renewed(context, checked) } };
      } catch (error) {
        // A bug is one of the whole command.
        if (!(error instanceof CallError || error instanceof Fault)) throw error;
        return { outcome: { case: "error" as const, value: failureOf(error).packed } };
      }
    }),
  );
  return { leases };
}

export async function release({ engine }: MethodContext, message: ReleaseRequest, call: AnyCall) {
  const { outcome } = await engine.release(checkRelease(message), call);
  if (outcome.kind === "unknown_claim") throw unknownClaim();
  return { released: outcome.byThisCall };
}

export async function forceRelease({ engine }: MethodContext, message: ForceReleaseRequest, call: AnyCall) {
  const { name, ticketNumber, reason } = checkForceRelease(message);
  const answer = await engine.forceRelease(name, ticketNumber, reason, call);
  if (!answer) throw unknownLock(name);
  const ended = answer.outcome.ended.map((claim) => claimMessage(claim, name));
  const remaining = ticketNumber === null ? answer.outcome.holdersLeft : 0;
  return { ended, remaining };
}
