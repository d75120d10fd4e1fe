// Queue rules as somebody types them into a form. Pure.

import type { QueueRulesJson } from "#proto/rowlock/v1/lock_pb.js";
import { WAITING_MAX_MAX } from "../../../server/core/bounds.ts";

export interface TypedQueueRules {
  readonly waitingMax: string;
  readonly newestWins: boolean;
}

export function typedQueueRulesOf(rules: QueueRulesJson | undefined): TypedQueueRules {
  return {
    waitingMax: String(rules?.waitingMax ?? 1),
    newestWins: rules === undefined || rules.whenFull === "WHEN_FULL_END_LONGEST_WAITING",
  };
}

/** null: what is typed is no queue rules yet. */
export function queueRulesOfTyped({ waitingMax, newestWins }: TypedQueueRules): QueueRulesJson | null {
  const most = Number(waitingMax);
  if (!/^\d+$/.test(waitingMax) || most < 1 || most > WAITING_MAX_MAX) return null;
  return { waitingMax: most, whenFull: newestWins ? "WHEN_FULL_END_LONGEST_WAITING" : "WHEN_FULL_REFUSE" };
}
