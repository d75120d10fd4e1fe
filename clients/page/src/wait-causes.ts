// Why a request waits, in words.

import type { PoolInTheWayJson, WaitCauseJson, WaitEstimateJson } from "#proto/rowlock/v1/lock_pb.js";
import {
  ageWords,
  alsoWords,
  claimWords,
  clockWords,
  counted,
  durationMs,
  instantMs,
  rateWords,
  shown,
  someOf,
  sourceWords,
  timeWords,
} from "./words.ts";

/**
 * `shownEnd`: when the first lease of the lock ends, if that is known from elsewhere, and shown: a renewal may have come
 * after the explanation, and two times for one end help nobody. null: no lease has an end.
 */
export function causeWords(cause: WaitCauseJson, nowMs: number, shownEnd?: string | null): string {
  const at = (instant: string) =>
    `${clockWords(instantMs(instant))} (in ${ageWords(instantMs(instant) - nowMs)})`;
  if (cause.held) {
    const { holders = [], holderCount = 0, firstEndsAt } = cause.held;
    const who = someOf(holders.map(claimWords), holderCount) || counted(holderCount, "holder");
    const firstEnd = shownEnd === undefined ? firstEndsAt : shownEnd;
    const end = firstEnd
      ? `The first lease ends at ${at(firstEnd)}, unless it is renewed.`
      : "No lease has an end.";
    return `Held by ${who}. ${end}`;
  }
  if (cause.queued) {
    const { first = [], ahead = 0, permitsAhead = "0" } = cause.queued;
    const who = someOf(first.map(claimWords), ahead) || counted(ahead, "waiter");
    const [head = {}] = first;
    const also = alsoWords(head);
    const set = also === "" ? "" : ` ${claimWords(head)} wants it ${also}, and waits until it can have all.`;
    return `Behind ${who} in the queue, for ${permitsAhead} in all.${set}`;
  }
  if (cause.limit) {
    const { limit = {}, setAt, setBy } = cause.limit;
    const by = setBy ? `, by ${shown(setBy)}` : "";
    const when = setAt ? `, ${ageWords(nowMs - instantMs(setAt))} ago` : "";
    const why = limit.reason ? `: “${shown(limit.reason)}”` : "";
    return `The limit is ${limit.permits ?? 0}, ${sourceWords(limit)}${by}${when}${why}.`;
  }
  if (cause.rate) {
    const { rate: inForce = {}, until } = cause.rate;
    const { rate = {}, reason } = inForce;
    const why = reason ? `: “${shown(reason)}”` : "";
    const then = until
      ? `It allows the grant at ${at(until)}.`
      : "Its burst is too small for so many permits.";
    return `The rate is ${rateWords(rate)}, ${sourceWords(inForce)}${why}. ${then}`;
  }
  if (cause.pool) return poolWords(cause.pool, at);
  if (cause.notBefore) return `Not due before ${at(cause.notBefore)}.`;
  if (cause.exhausted) return "Its record has no attempts left.";
  if (cause.status !== undefined)
    return cause.status === ""
      ? "It has no status, and the request wants one."
      : `Its status is ${shown(cause.status)}, which the request does not want.`;
  if (cause.failedOverUntil)
    return `The database has failed over: nothing is granted before ${at(cause.failedOverUntil)}, as a lost lease may still be held.`;
  if (cause.rows) {
    const { user, connectionId, heldFor } = cause.rows;
    const who = user ? ` of the user ${shown(user)}` : "";
    const kill =
      connectionId && connectionId !== "0" ? ` To end it in the database: KILL ${connectionId}.` : "";
    const since = heldFor ? `, for ${timeWords(durationMs(heldFor))}` : "";
    return `Another transaction${who} holds its rows in the database${since}.${kill}`;
  }
  return "For a cause that this page does not know; a newer server may have named it.";
}

function poolWords(inTheWay: PoolInTheWayJson, at: (instant: string) => string): string {
  const { limit, rate, use = {}, waitsHere, ahead = 0, rateUntil } = inTheWay;
  const pattern = limit?.pattern || rate?.pattern;
  const reason = limit?.reason || rate?.reason;
  const which = pattern ? `the pool ${shown(pattern)}` : "a pool";
  const taken = limit
    ? `${which} has ${use.heldPermits ?? 0} of ${limit.permits ?? 0} permits taken`
    : `${which} has a rate`;
  const words = `${waitsHere ? "It has its lock, and" : "Then"} ${taken}`;
  const before = ahead === 0 ? "" : `, and ${counted(ahead, "claim")} before it`;
  const there = waitsHere ? before : before.replace("before it", "waiting there");
  const until =
    rate?.rate && rateUntil ? ` Its rate of ${rateWords(rate.rate)} allows it at ${at(rateUntil)}.` : "";
  return `${words}${there}${reason ? `: “${shown(reason)}”` : ""}.${until}`;
}

export function estimateWords({
  median = "0s",
  low = "0s",
  high = "0s",
  leases = 0,
}: WaitEstimateJson): string {
  const [most, least, middle] = [high, low, median].map((each) => timeWords(durationMs(each)));
  return `Likely about ${middle}; in 8 of 10 cases ${least} to ${most}, from ${counted(leases, "lease")}.`;
}
