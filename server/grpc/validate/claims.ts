// Checks the requests about existing claims: Renew, Release and ForceRelease. They throw a CallError with all
// violations. Pure.

import type {
  ForceReleaseRequest,
  ReleaseRequest,
  RenewLeases,
  RenewRequest,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { DURATION_US_MAX, TTL_US_MIN } from "../../core/bounds.ts";
import type { ClaimRef } from "../../core/claim.ts";
import type { RunResult } from "../../core/record.ts";
import { RENEWED_AT_ONCE_MAX } from "../grpc-bounds.ts";
import { checkClaimId, checkDuration, checkName, checkReason, Violations } from "./fields.ts";
import { checkAttempts, checkDelay, checkStatus } from "./records.ts";

const TICKET_NUMBER_MAX = 2n ** 63n - 1n;

export interface CheckedRenew {
  readonly ref: ClaimRef;
  /** undefined: the time to live last asked for. */
  readonly ttlUs: number | undefined;
}

interface CheckedRelease {
  readonly ref: ClaimRef;
  readonly result: RunResult | null;
}

interface CheckedForceRelease {
  readonly name: string;
  /** null: all holders. */
  readonly ticketNumber: bigint | null;
  readonly reason: string;
}

export function checkRenew(message: RenewRequest): CheckedRenew {
  const violations = new Violations();
  return violations.checked(checkRenewFields(message, violations));
}

function checkRenewFields({ leaseId, ttl }: RenewRequest, violations: Violations): CheckedRenew {
  const ref = checkClaimId(leaseId, "lease_id", violations);
  const ttlUs = ttl && checkDuration(ttl, { minUs: TTL_US_MIN, maxUs: DURATION_US_MAX }, "ttl", violations);
  return { ref, ttlUs };
}

export function checkRenewLeases({ leases }: RenewLeases): CheckedRenew[] {
  const violations = new Violations();
  const isMany = leases.length >= 1 && leases.length <= RENEWED_AT_ONCE_MAX;
  if (!isMany) violations.add("leases", `has ${leases.length}; name 1 to ${RENEWED_AT_ONCE_MAX} leases`);
  const checked = (isMany ? leases : []).map((lease, index) =>
    checkRenewFields(lease, violations.within(`leases[${index}]`)),
  );
  return violations.checked(checked);
}

export function checkRelease(message: ReleaseRequest): CheckedRelease {
  const violations = new Violations();
  return violations.checked({
    ref: checkClaimId(message.leaseId, "lease_id", violations),
    result: checkResult(message, violations),
  });
}

/** null: the request says nothing about the lock's record. */
function checkResult(message: ReleaseRequest, violations: Violations): RunResult | null {
  const coolDownUs = checkDelay(message.coolDown, "cool_down", violations);
  const status = checkStatus(message.status, "status", violations);
  const attemptsLeft = checkAttempts(message.attemptsLeft, violations);
  if (coolDownUs === undefined && status === undefined && attemptsLeft === undefined) return null;
  return {
    ...(coolDownUs !== undefined && { coolDownUs }),
    ...(status !== undefined && { status }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
  };
}

export function checkForceRelease(message: ForceReleaseRequest): CheckedForceRelease {
  const violations = new Violations();
  const target = checkTarget(message.target, violations);
  return violations.checked({ ...target, reason: checkReason(message.reason, true, violations) });
}

function checkTarget(
  target: ForceReleaseRequest["target"],
  violations: Violations,
): Pick<CheckedForceRelease, "name" | "ticketNumber"> {
  switch (target.case) {
    case "name":
      return { name: checkName(target.value, "name", violations), ticketNumber: null };
    case "claim": {
      const { lockName, ticketNumber } = target.value;
      if (ticketNumber < 1n || ticketNumber > TICKET_NUMBER_MAX) {
        violations.add(
          "claim.ticket_number",
          `is ${ticketNumber}, which no claim has: pass the ticket_number of a claim as GetLock lists it`,
        );
      }
      return { name: checkName(lockName, "claim.lock_name", violations), ticketNumber };
    }
    case undefined:
      violations.add("target", "is required: set name for all holders of a lock, or claim for one");
      return { name: "", ticketNumber: null };
  }
}
