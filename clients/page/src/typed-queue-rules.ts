// Queue rules as somebody types them into a form. Pure.

import type { QueueRulesJson } from "#proto/rowlock/v1/lock_pb.js";
import { WAITING_MAX_MAX } from "../../../server/core/bounds.ts";
import { SHARE_BY_LABEL, SHARE_BY_PRINCIPAL } from "../../../server/core/queue-rules.ts";

export type Order = "arrival" | "newest" | "principal" | "label";

export interface TypedQueueRules {
  /** Empty: as many as the server allows. */
  readonly waitingMax: string;
  readonly order: Order;
  /** The key of the label, for that order. */
  readonly label: string;
}

export function typedQueueRulesOf(rules: QueueRulesJson | undefined): TypedQueueRules {
  const {
    waitingMax,
    whenFull,
    shareBy = "",
  } = rules ?? {
    waitingMax: 1,
    whenFull: "WHEN_FULL_END_LONGEST_WAITING" as const,
  };
  const isNewest = whenFull === "WHEN_FULL_END_LONGEST_WAITING";
  const byArrival = isNewest ? "newest" : "arrival";
  const byGroup = shareBy === SHARE_BY_PRINCIPAL ? "principal" : "label";
  return {
    waitingMax: waitingMax ? String(waitingMax) : "",
    order: shareBy === "" ? byArrival : byGroup,
    label: shareBy.startsWith(SHARE_BY_LABEL) ? shareBy.slice(SHARE_BY_LABEL.length) : "",
  };
}

/** Whether there may be no bound: with the order alone there are rules. */
export function mayLeaveOutBound(order: Order): boolean {
  return order === "principal" || order === "label";
}

/** null: what is typed is no queue rules yet. */
export function queueRulesOfTyped({ waitingMax, order, label }: TypedQueueRules): QueueRulesJson | null {
  const isUnbounded = waitingMax === "" && mayLeaveOutBound(order);
  const most = Number(waitingMax);
  if (!isUnbounded && (!/^\d+$/.test(waitingMax) || most < 1 || most > WAITING_MAX_MAX)) return null;
  if (order === "label" && label === "") return null;
  const shareBy =
    order === "principal" ? SHARE_BY_PRINCIPAL : order === "label" ? `${SHARE_BY_LABEL}${label}` : "";
  return {
    ...(isUnbounded ? {} : { waitingMax: most }),
    whenFull: order === "newest" ? "WHEN_FULL_END_LONGEST_WAITING" : "WHEN_FULL_REFUSE",
    ...(shareBy === "" ? {} : { shareBy }),
  };
}
