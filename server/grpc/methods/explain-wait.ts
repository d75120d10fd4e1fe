// ExplainWait: why a claim waits, or why a request would have to.

import type { ExplainWaitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import type { WaitTarget } from "../../engine/history.ts";
import { shownExplanation, type Touched } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { notWaiting } from "../messages/call-error.ts";
import { explanationMessage } from "../messages/explanation.ts";
import { checkClaimId, checkClaimReference, checkName, NO_CLAIM, type Violations } from "./fields.ts";

/** Throws UNKNOWN_CLAIM if the claim does not wait. */
export async function explainWait({ engine }: MethodContext, target: WaitTarget, call: Call) {
  const explained = await engine.explain(target, call);
  if (!explained) throw notWaiting();
  return explanationMessage(shownExplanation(call, explained));
}

/** A ticket id proves that its caller may ask about it, so the right to use the lock is enough. */
export function touchedByExplainWait(target: WaitTarget): Touched {
  return target.kind === "ticket" ? { lockId: target.ref.lockId, right: "use" } : { names: [target.name] };
}

export function checkExplainWait({ target }: ExplainWaitRequest, violations: Violations): WaitTarget {
  switch (target.case) {
    case "name":
      return { kind: "name", name: checkName(target.value, "name", violations) };
    case "ticketId":
      return { kind: "ticket", ref: checkClaimId(target.value, "ticket_id", violations) };
    case "claim":
      return { kind: "claim", ...checkClaimReference(target.value, "claim", violations) };
    case undefined:
      violations.add(
        "target",
        "is required: set name for a request that would come now, ticket_id or claim for a waiter",
      );
      return { kind: "ticket", ref: NO_CLAIM };
  }
}
