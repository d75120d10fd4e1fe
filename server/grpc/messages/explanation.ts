// Why a claim waits, as a message that a program acts on and in one line that a person understands. Pure.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type WaitCause as WaitCauseMessage, WaitCauseSchema } from "#proto/rowlock/v1/lock_pb.js";
import type { ExplainWaitResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Claim } from "../../core/claim.ts";
import type { EffectiveLimit } from "../../core/limit.ts";
import { rateText } from "../../core/rate.ts";
import type { ExplainedLock, Explanation, KeptChange, WaitCause } from "../../engine/history.ts";
import * as messages from "./messages.ts";

type CauseOf<Kind extends WaitCause["kind"]> = Extract<WaitCause, { kind: Kind }>;

export function explanationMessage(
  explained: Explanation,
): MessageInitShape<typeof ExplainWaitResponseSchema> {
  const { lock, limit, claim, estimate } = explained;
  return {
    lock: messages.lockMessage({
      lock: { ...lock, record: null },
      limit,
      rate: null,
      queueRules: null,
      holders: [],
      waiters: [],
    }),
    ...(claim && { claim: messages.claimMessage(claim, lock.name) }),
    causes: causesOf(explained),
    summary: summaryOf(explained),
    ...(estimate && {
      estimate: {
        median: messages.durationMessage(estimate.medianUs),
        low: messages.durationMessage(estimate.lowUs),
        high: messages.durationMessage(estimate.highUs),
        leases: estimate.leases,
      },
    }),
  };
}

function causesOf({ causes, lock, each }: Explanation): WaitCauseMessage[] {
  const message = (cause: WaitCause, at: string, lockName = "") =>
    create(WaitCauseSchema, { cause: fieldOf(cause, at), lockName });
  if (!each) return causes.map((cause) => message(cause, lock.name));
  const { before, after } = aroundLocks(causes);
  return [
    ...before.map((cause) => message(cause, lock.name)),
    ...each.flatMap((at) => at.causes.map((cause) => message(cause, at.lock.name, at.lock.name))),
    ...after.map((cause) => message(cause, lock.name)),
  ];
}

/** A claim for several locks comes to pools when it has all of them. */
function aroundLocks(causes: readonly WaitCause[]) {
  const isAfter = ({ kind }: WaitCause) => kind === "pool";
  return { before: causes.filter((cause) => !isAfter(cause)), after: causes.filter(isAfter) };
}

function fieldOf(
  cause: WaitCause,
  lockName: string,
): NonNullable<MessageInitShape<typeof WaitCauseSchema>["cause"]> {
  const shown = (claims: readonly Claim[]) => claims.map((claim) => messages.claimMessage(claim, lockName));
  switch (cause.kind) {
    case "failed_over":
      return { case: "failedOverUntil", value: messages.timestampMessage(cause.untilUs) };
    case "rows_held": {
      const { holder, forUs } = cause;
      const value = { ...holder, ...(forUs !== null && { heldFor: messages.durationMessage(forUs) }) };
      return { case: "rows", value };
    }
    case "limit": {
      const { set } = cause;
      const setBy = set && { setAt: messages.timestampMessage(set.atUs), setBy: set.by };
      return { case: "limit", value: { limit: messages.limitMessage(cause.limit), ...setBy } };
    }
    case "not_before":
      return { case: "notBefore", value: messages.timestampMessage(cause.untilUs) };
    case "rate": {
      const { rate, untilUs } = cause;
      const until = untilUs === null ? {} : { until: messages.timestampMessage(untilUs) };
      return { case: "rate", value: { rate: messages.rateInForceMessage(rate), ...until } };
    }
    case "exhausted":
      return { case: "exhausted", value: true };
    case "status":
      return { case: "status", value: cause.status };
    case "held": {
      const { holders, holderCount, firstEndsAtUs } = cause;
      const ends = firstEndsAtUs == null ? {} : { firstEndsAt: messages.timestampMessage(firstEndsAtUs) };
      return { case: "held", value: { holders: shown(holders), holderCount, ...ends } };
    }
    case "pool": {
      const { pool, isHere, ahead, permitsAhead, rateUntilUs } = cause;
      const { pattern: _, ...shown } = messages.poolMessage(pool);
      const until = rateUntilUs === null ? {} : { rateUntil: messages.timestampMessage(rateUntilUs) };
      const { $typeName: __, ...fields } = shown;
      const value = { ...fields, ...until, waitsHere: isHere, ahead, permitsAhead: BigInt(permitsAhead) };
      return { case: "pool", value };
    }
    case "queued": {
      const { ahead, permitsAhead, first } = cause;
      return { case: "queued", value: { ahead, permitsAhead: BigInt(permitsAhead), first: shown(first) } };
    }
  }
}

/**
 * One line, such as: 3rd in the queue; held by anna until 14:03:20 UTC unless renewed (about 4 min left). Of a claim for several
 * locks: at "b": 3rd in the queue, held by anna until 14:03:20 UTC unless renewed (about 4 min left); at "c": no attempts left.
 */
export function summaryOf(explained: Explanation): string {
  const { claim, causes, each, isPartial, estimate, nowUs } = explained;
  const inTheWay = each?.filter((at) => at.causes.length > 0) ?? [];
  if (causes.length + inTheWay.length === 0 && !isPartial)
    return claim ? "it is about to be granted" : "free: a request would be granted at once";
  const parts = each ? partsOfSet(explained, inTheWay) : partsAt(explained, nowUs);
  if (isPartial) parts.push("another lock is in its way");
  if (estimate) {
    const { medianUs, lowUs, highUs } = estimate;
    parts.push(
      `likely to last ${messages.spanText(medianUs)} (${messages.spanText(lowUs)} to ${messages.spanText(highUs)})`,
    );
  }
  return parts.filter((part) => part !== "").join("; ");
}

function partsAt(at: ExplainedLock, nowUs: number): string[] {
  const { claim, place, causes, limit, limitSet } = at;
  const isHeld = causes.some(({ kind }) => kind === "held");
  const namesLimit = causes.some(({ kind }) => kind === "limit");
  const parts = [queueText(claim, place), ...causes.map((cause) => causeText(cause, at, nowUs))];
  if (isHeld && !namesLimit && limit.source !== "default")
    parts.push(`limit ${limitText(limit, limitSet, nowUs)}`);
  return parts;
}

function partsOfSet(explained: Explanation, inTheWay: readonly ExplainedLock[]): string[] {
  const { claim, place, causes, nowUs } = explained;
  const { before, after } = aroundLocks(causes);
  const textOf = (cause: WaitCause) => causeText(cause, explained, nowUs);
  return [
    ...before.map(textOf),
    ...inTheWay.map((at) => {
      const parts = partsAt(at, nowUs).filter((part) => part !== "");
      return `at ${quoted(at.lock.name)}: ${parts.join(", ")}`;
    }),
    ...(place.pool === undefined ? [] : [queueText(claim, place)]),
    ...after.map(textOf),
  ];
}

function queueText(claim: Claim | null, { ahead, pool }: Explanation["place"]): string {
  if (claim && pool !== undefined) return `${ordinal(ahead + 1)} in the queue of the pool ${pool}`;
  if (claim) return `${ordinal(ahead + 1)} in the queue`;
  if (ahead === 0) return "";
  return ahead === 1 ? "1 waits for it" : `${ahead} wait for it`;
}

function causeText(cause: WaitCause, { claim, limitSet, place }: ExplainedLock, nowUs: number): string {
  switch (cause.kind) {
    case "failed_over":
      return `the database has failed over, and nothing is granted until ${untilText(cause.untilUs, nowUs)}`;
    case "rows_held":
      return rowsText(cause);
    case "limit":
      return limitInTheWay(cause.limit, claim, limitText(cause.limit, limitSet, nowUs));
    case "not_before":
      return `not due until ${untilText(cause.untilUs, nowUs)}`;
    case "rate":
      return rateInTheWay(cause, nowUs);
    case "exhausted":
      return "no attempts left";
    case "status":
      return `its status is ${quoted(cause.status)}, which is none of those wanted`;
    case "held":
      return heldText(cause, nowUs);
    case "pool":
      return poolText(cause, nowUs);
    case "queued":
      return queuedText(cause, cause.ahead - place.ahead);
  }
}

/** `entering`: how many of those before it have the lock and wait at a pool. The place says how many others there are. */
function queuedText({ firstWaitsFor = [] }: CauseOf<"queued">, entering: number): string {
  const parts: string[] = [];
  if (entering > 0) parts.push(`${entering} before it ${entering === 1 ? "waits" : "wait"} at a pool`);
  if (firstWaitsFor.length > 0)
    parts.push(`the first one waits for ${firstWaitsFor.map(quoted).join(" and ")}`);
  return parts.join(", and ");
}

/** Such as: the pool openai/* has 50 of 50 permits taken, and 3 wait there before it. */
function poolText({ pool, isHere, ahead, rateUntilUs }: CauseOf<"pool">, nowUs: number): string {
  const { limit, rate, use } = pool;
  const which = limit.pattern === "" ? "a pool" : `the pool ${limit.pattern}`;
  const why = limit.reason === "" ? "" : ` (${quoted(limit.reason)})`;
  const parts: string[] = [];
  if (limit.limit === 0) parts.push(`is paused${why}`);
  else if (Number.isFinite(limit.limit))
    parts.push(`has ${use.heldPermits} of ${limit.limit} permits taken${why}`);
  if (ahead > 0) parts.push(`${ahead} ${ahead === 1 ? "waits" : "wait"} there${isHere ? " before it" : ""}`);
  if (rate && rateUntilUs !== null)
    parts.push(`has a rate of ${rateText(rate)} that lets it be granted at ${untilText(rateUntilUs, nowUs)}`);
  return `${isHere ? "" : "then "}${which} ${parts.join(", and ")}`;
}

function rowsText({ holder, forUs }: CauseOf<"rows_held">): string {
  const who = holder ? ` (connection ${holder.connectionId} of ${quoted(holder.user)})` : "";
  const since = forUs === null ? "" : ` for ${messages.spanText(forUs)}`;
  return `another transaction of the database holds its rows${since}${who}`;
}

function limitInTheWay({ limit }: EffectiveLimit, claim: Claim | null, text: string): string {
  if (limit === 0) return `paused: limit ${text}`;
  if (claim && claim.permits > limit) return `${claim.permits} permits never fit into the limit ${text}`;
  return `more is held than the limit ${text} allows`;
}

/** Such as: its rate of 500 per 60 s from llm/* lets it be granted at 14:03:20 UTC (in 12 s). */
function rateInTheWay({ rate, untilUs }: CauseOf<"rate">, nowUs: number): string {
  const text = `its rate of ${rateText(rate)}${rate.pattern === "" ? "" : ` from ${rate.pattern}`}`;
  if (untilUs === null) return `${text} has a burst of ${rate.burst}, which is too small for it`;
  return `${text} lets it be granted at ${untilText(untilUs, nowUs)}`;
}

/** Such as: 1 from etl/* (set yesterday at 17:02:00 UTC by token:ops: "night shift"). */
function limitText(
  { limit, pattern, reason }: EffectiveLimit,
  set: KeptChange | null,
  nowUs: number,
): string {
  const from = pattern === "" ? "" : ` from ${pattern}`;
  const why = set?.reason ? `: ${quoted(set.reason)}` : "";
  if (set) return `${limit}${from} (set ${messages.instantText(set.atUs, nowUs)} by ${set.by}${why})`;
  return reason === "" ? `${limit}${from}` : `${limit}${from} (${quoted(reason)})`;
}

function heldText({ holders: [first], holderCount, firstEndsAtUs }: CauseOf<"held">, nowUs: number): string {
  const others = holderCount - 1;
  const name = first && (first.owner || first.principal);
  const more = others > 0 ? ` and ${others} ${others === 1 ? "other" : "others"}` : "";
  const who = name ? `${name}${more}` : holderCount === 1 ? "somebody" : `${holderCount} holders`;
  if (firstEndsAtUs === undefined) return `held by ${who}`;
  if (firstEndsAtUs === null) return `held by ${who} without an end`;
  const left = `about ${messages.spanText(firstEndsAtUs - nowUs)} left`;
  const whose = others > 0 ? "the first lease ends" : "until";
  const at = `${messages.instantText(firstEndsAtUs, nowUs)} unless renewed (${left})`;
  return others > 0 ? `held by ${who}, ${whose} ${at}` : `held by ${who} ${whose} ${at}`;
}

function untilText(untilUs: number, nowUs: number): string {
  return `${messages.instantText(untilUs, nowUs)} (in ${messages.spanText(untilUs - nowUs)})`;
}

function ordinal(place: number): string {
  const tens = place % 100;
  const suffix = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][place % 10] ?? "th");
  return `${place}${suffix}`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
