// Queue rules: who may wait for a lock.

import {
  LimitSource,
  type QueueRules as ProtoQueueRules,
  WhenFull as ProtoWhenFull,
  type QueueRulesInForce,
} from "#proto/rowlock/v1/lock_pb.js";
import { durationOf, msOf } from "./times.ts";

/** What becomes of a request that would wait, and finds as many waiting as may. */
export type WhenFull = "refuse" | "end longest waiting";

/** Who may wait for a lock, and in which order. */
export interface QueueRules {
  /**
   * The most claims that wait for it, 1 to 1,000,000; never more than the server allows. Unset: as many as that; then `shareBy` says
   * in which order.
   */
  readonly waitingMax?: number;
  /**
   * "refuse" (the default): the request is refused as QUEUE_FULL. "end longest waiting": the newest wins; the claim that has waited
   * longest ends as SUPERSEDED. To end the wait of another principal takes the right `supersede`.
   */
  readonly whenFull?: WhenFull;
  /**
   * Between whom shares are fair: "principal", or "label:" and a key, such as "label:tenant". The next grant goes to the group that
   * holds the fewest permits, of several such to the one that has waited longest for its turn. Unset: in order of arrival. Not
   * together with "end longest waiting".
   */
  readonly shareBy?: string;
  /**
   * The most by which a request may be queued as if it had come earlier (`headStart`), in milliseconds. Unset: not at all. Not
   * together with `shareBy` or "end longest waiting".
   */
  readonly headStartMax?: number;
}

/** Queue rules as the server has them. */
export type SetQueueRules = QueueRules & { readonly whenFull: WhenFull };

/** Queue rules in force, and which setting says so. */
export interface QueueRulesView extends SetQueueRules {
  readonly source: "pattern" | "name";
  /** "" if the caller may not see it. */
  readonly pattern?: string;
  /** For the `ifVersion` of the next change; a limit, a rate and queue rules of one setting share it. */
  readonly version: bigint;
  readonly reason: string;
}

export const WHEN_FULL: Readonly<Record<WhenFull, ProtoWhenFull>> = {
  refuse: ProtoWhenFull.REFUSE,
  "end longest waiting": ProtoWhenFull.END_LONGEST_WAITING,
};

export function queueRulesView({
  waitingMax,
  whenFull,
  shareBy,
  headStartMax,
}: ProtoQueueRules): SetQueueRules {
  const ends = whenFull === ProtoWhenFull.END_LONGEST_WAITING;
  return {
    ...(waitingMax > 0 && { waitingMax }),
    whenFull: ends ? "end longest waiting" : "refuse",
    ...(shareBy !== "" && { shareBy }),
    ...(headStartMax && { headStartMax: msOf(headStartMax) }),
  };
}

export function queueRulesInForceView(inForce: QueueRulesInForce): QueueRulesView {
  const { rules, source, pattern, version, reason } = inForce;
  // The server always sets them.
  const view = queueRulesView(rules as ProtoQueueRules);
  return source === LimitSource.PATTERN
    ? { ...view, source: "pattern", pattern, version, reason }
    : { ...view, source: "name", version, reason };
}

/** Returns the fields of a message. */
export function queueRulesFields({
  waitingMax = 0,
  whenFull = "refuse",
  shareBy = "",
  headStartMax = 0,
}: QueueRules) {
  const headStarts = headStartMax > 0 && { headStartMax: durationOf(headStartMax) };
  return { waitingMax, whenFull: WHEN_FULL[whenFull], shareBy, ...headStarts };
}
