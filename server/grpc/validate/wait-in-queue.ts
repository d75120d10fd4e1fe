// Checks a WaitInQueueRequest. Pure.

import type { WaitInQueueRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { UPDATE_INTERVAL_US_DEFAULT, UPDATE_INTERVAL_US_MAX } from "../../core/bounds.ts";
import type { ClaimRef } from "../../core/claim.ts";
import type { AcquireInput } from "../../engine/lock-engine.ts";
import { checkNestedAcquire } from "./acquire.ts";
import { checkClaimId, checkDuration, NO_CLAIM, Violations } from "./fields.ts";

/** A new request, or a place taken before. */
type WaitTarget =
  | { readonly kind: "ask"; readonly ask: AcquireInput }
  | { readonly kind: "ticket"; readonly ref: ClaimRef };

export interface CheckedWait {
  readonly target: WaitTarget;
  readonly updateIntervalMs: number;
}

/** Throws a CallError with all violations. */
export function checkWaitInQueue(message: WaitInQueueRequest): CheckedWait {
  const violations = new Violations();
  const target = checkTarget(message.target, violations);
  const intervalUs = message.minUpdateInterval
    ? checkDuration(
        message.minUpdateInterval,
        { minUs: 0, maxUs: UPDATE_INTERVAL_US_MAX },
        "min_update_interval",
        violations,
      )
    : UPDATE_INTERVAL_US_DEFAULT;
  return violations.checked({ target, updateIntervalMs: intervalUs / 1_000 });
}

function checkTarget(target: WaitInQueueRequest["target"], violations: Violations): WaitTarget {
  switch (target.case) {
    case "acquire":
      return { kind: "ask", ask: checkNestedAcquire(target.value, violations.within("acquire")) };
    case "ticketId":
      return { kind: "ticket", ref: checkClaimId(target.value, "ticket_id", violations) };
    case undefined:
      violations.add(
        "target",
        "is required: set acquire to take a place, or ticket_id to continue with one that was taken before",
      );
      return { kind: "ticket", ref: NO_CLAIM };
  }
}
