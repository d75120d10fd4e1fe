// SetLimit: for one name, or for all names with a prefix.

import type { SetLimitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { NAME_BYTES_MAX, PERMITS_MAX } from "../../core/bounds.ts";
import type { SetLimit } from "../../core/command.ts";
import { isDraining, totalHeld } from "../../core/lock.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { admitted } from "../admission.ts";
import type { Call, MethodContext } from "../call.ts";
import { versionMismatch } from "../messages/call-error.ts";
import { checkName, checkReason, checkText, type Violations } from "./fields.ts";

/** Throws BAD_REQUEST, or VERSION_MISMATCH if the setting does not have the expected version. */
export async function setLimit({ engine }: MethodContext, request: CheckedSetLimit, call: Call) {
  const { target } = request;
  return target.kind === "name"
    ? await setForName(engine, target.name, request, call)
    : await setForPattern(engine, target.prefix, request, call);
}

async function setForName(
  engine: LockEngine,
  name: string,
  { limit, expectedVersion, reason }: CheckedSetLimit,
  call: Call,
) {
  const { outcome } = await admitted(call.client.admission, call, () =>
    engine.ask({ verb: "set_limit", name, limit, expectedVersion, reason, caller: call }),
  );
  if (outcome.kind === "version_mismatch") throw versionMismatch(outcome.version);
  const { lock } = outcome;
  return {
    limit: outcome.limit.limit,
    version: outcome.version,
    heldPermits: BigInt(totalHeld(lock)),
    waiterCount: BigInt(lock.waiting),
    draining: isDraining(lock, outcome.limit.limit),
  };
}

async function setForPattern(
  engine: LockEngine,
  prefix: string,
  { limit, expectedVersion, reason }: CheckedSetLimit,
  call: Call,
) {
  const answer = await admitted(call.client.admission, call, () =>
    engine.setLimitRule(prefix, limit, expectedVersion, reason, call),
  );
  if (answer.kind === "version_mismatch") throw versionMismatch(answer.version);
  return {
    limit: answer.limit,
    version: answer.version,
    heldPermits: BigInt(answer.heldPermits),
    waiterCount: BigInt(answer.waiting),
    draining: answer.draining,
    serversBehind: answer.serversBehind,
  };
}

const STAR = "*";

type LimitTarget =
  | { readonly kind: "name"; readonly name: string }
  /** All names with a prefix, which may be empty. */
  | { readonly kind: "pattern"; readonly prefix: string };

interface CheckedSetLimit extends Pick<SetLimit, "limit" | "expectedVersion" | "reason"> {
  readonly target: LimitTarget;
}

export function checkSetLimit(message: SetLimitRequest, violations: Violations): CheckedSetLimit {
  return {
    target: checkTarget(message.target, violations),
    limit: checkLimit(message, violations),
    expectedVersion: message.expectedVersion,
    reason: checkReason(message.reason, false, violations),
  };
}

function checkTarget(target: SetLimitRequest["target"], violations: Violations): LimitTarget {
  switch (target.case) {
    case "name":
      return { kind: "name", name: checkName(target.value, "name", violations) };
    case "pattern":
      return { kind: "pattern", prefix: checkPattern(target.value, violations) };
    case undefined:
      violations.add(
        "target",
        "is required: set name for one lock, or pattern for all locks whose names begin alike",
      );
      return { kind: "name", name: "" };
  }
}

function checkPattern(pattern: string, violations: Violations): string {
  checkText(pattern, NAME_BYTES_MAX, "pattern", violations);
  if (!pattern.endsWith(STAR) || pattern.indexOf(STAR) < pattern.length - 1) {
    violations.add("pattern", "must have one star, at its end, such as etl/* (for one lock, set name)");
  }
  return pattern.slice(0, -1);
}

function checkLimit({ newLimit }: SetLimitRequest, violations: Violations): number | null {
  switch (newLimit.case) {
    case "limit":
      if (newLimit.value > PERMITS_MAX)
        violations.add("limit", `is ${newLimit.value}; use 0 to ${PERMITS_MAX}`);
      return newLimit.value;
    case "unsetLimit":
      return null;
    case undefined:
      violations.add(
        "limit",
        "is required: set it (0 pauses the lock), or unset_limit to delete the setting",
      );
      return null;
  }
}
