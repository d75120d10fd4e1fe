// What a WaitInQueueRequest must be. Pure.

import type { WaitInQueueRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { UPDATE_INTERVAL_US_DEFAULT, UPDATE_INTERVAL_US_MAX } from "../../core/bounds.ts";
import type { ClaimRef } from "../../core/claim.ts";
import type { AcquireInput } from "../../engine/lock-engine.ts";
import { checkNestedAcquire } from "./acquire.ts";
import { checkClaimId, checkDuration } from "./fields.ts";
import { type Checked, Violations } from "./violations.ts";

/** A new request, or a place that was taken before. */
type WaitTarget =
  | { readonly kind: "ask"; readonly ask: AcquireInput }
  | { readonly kind: "ticket"; readonly ref: ClaimRef };

export interface CheckedWait {
  readonly target: WaitTarget;
  readonly updateIntervalMs: number;
}

/** Stands in for one that was refused. */
const NO_TARGET: WaitTarget = { kind: "ticket", ref: { lockId: 0n, ticketNumber: 0n, secret: "" } };

export function checkWaitInQueue(message: WaitInQueueRequest): Checked<CheckedWait> {
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
    case "acquire": {
      const checked = checkNestedAcquire(target.value);
      if (!checked.violations) return { kind: "ask", ask: checked.value };
      violations.addNested("acquire", checked.violations);
      return NO_TARGET;
    }
    case "ticketId":
      return { kind: "ticket", ref: checkClaimId(target.value, "ticket_id", violations) };
    case undefined:
      violations.add(
        "target",
        "is required: set acquire to take a place, or ticket_id to go on with one that was taken before",
      );
      return NO_TARGET;
  }
}
