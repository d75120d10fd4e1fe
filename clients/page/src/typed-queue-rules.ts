// Queue rules as somebody types them into a form. Pure.

import type { QueueRulesJson } from "#proto/rowlock/v1/lock_pb.js";
import { DURATION_US_MAX, WAITING_MAX_MAX } from "../../../server/core/bounds.ts";
import { SHARE_BY_LABEL, SHARE_BY_PRINCIPAL } from "../../../server/core/queue-rules.ts";
import { durationMs } from "./words.ts";

export const HEAD_START_MAX_S = DURATION_US_MAX / 1e6;

export type Order = "arrival" | "newest" | "principal" | "label" | "head starts";

export interface TypedQueueRules {
  /** Empty: as many as the server allows. */
  readonly waitingMax: string;
  readonly order: Order;
  /** The key of the label, for that order. */
  readonly label: string;
  /** The longest head start, in seconds, for that order. */
  readonly headStartMax: string;
}

export function typedQueueRulesOf(rules: QueueRulesJson | undefined): TypedQueueRules {
  const {
    waitingMax,
    whenFull,
    shareBy = "",
    headStartMax = "0s",
  } = rules ?? {
    waitingMax: 1,
    whenFull: "WHEN_FULL_END_LONGEST_WAITING" as const,
  };
  const isNewest = whenFull === "WHEN_FULL_END_LONGEST_WAITING";
  const hasHeadStarts = durationMs(headStartMax) > 0;
  const byArrival = isNewest ? "newest" : hasHeadStarts ? "head starts" : "arrival";
  const byGroup = shareBy === SHARE_BY_PRINCIPAL ? "principal" : "label";
  return {
    waitingMax: waitingMax ? String(waitingMax) : "",
    order: shareBy === "" ? byArrival : byGroup,
    label: shareBy.startsWith(SHARE_BY_LABEL) ? shareBy.slice(SHARE_BY_LABEL.length) : "",
    headStartMax: hasHeadStarts ? headStartMax.slice(0, -1) : "",
  };
}

/** Whether there may be no bound: with the order alone there are rules. */
export function mayLeaveOutBound(order: Order): boolean {
  return order !== "arrival" && order !== "newest";
}

/** null: what is typed is no queue rules yet. */
export function queueRulesOfTyped(typed: TypedQueueRules): QueueRulesJson | null {
  const { waitingMax, order, label, headStartMax } = typed;
  const isUnbounded = waitingMax === "" && mayLeaveOutBound(order);
  const most = Number(waitingMax);
  if (!isUnbounded && (!/^\d+$/.test(waitingMax) || most < 1 || most > WAITING_MAX_MAX)) return null;
  if (order === "label" && label === "") return null;
  const hasHeadStarts = order === "head starts";
  if (hasHeadStarts && !(Number(headStartMax) > 0 && Number(headStartMax) <= HEAD_START_MAX_S)) return null;
  const shareBy =
    order === "principal" ? SHARE_BY_PRINCIPAL : order === "label" ? `${SHARE_BY_LABEL}${label}` : "";
  return {
    ...(isUnbounded ? {} : { waitingMax: most }),
    whenFull: order === "newest" ? "WHEN_FULL_END_LONGEST_WAITING" : "WHEN_FULL_REFUSE",
    ...(shareBy === "" ? {} : { shareBy }),
    ...(hasHeadStarts ? { headStartMax: `${Number(headStartMax)}s` } : {}),
  };
}
