// Claims for several locks: one is granted, held and ended at all of its locks together, or at none.

import type { History, Listed, Unserved } from "../history/history.ts";
import type { Breach } from "./breach.ts";

const RULE = "several locks are taken and given back together";

export function sets(history: History): Breach[] {
  return [...answers(history), ...leases(history), ...waiters(history)];
}

/** One answer is about all locks. */
function answers(history: History): Breach[] {
  const calls = history.of("acquire").filter(({ set }) => set !== undefined);
  return [...Map.groupBy(calls, ({ who, requestId }) => `${who} ${requestId}`)].flatMap(([whose, all]) => {
    const told = new Set(all.map(({ outcome }) => outcome));
    const what = `${whose}: ${all.map(({ lock, outcome }) => `${lock} ${outcome}`).join(", ")}`;
    return told.size > 1 ? { rule: RULE, what } : [];
  });
}

/** A lease is listed at all of its locks, with one state and one end. */
function leases(history: History): Breach[] {
  const byToken = new Map(history.of("list").map((row) => [`${row.lock}/${row.token}`, row]));
  const forgetful = forgetfulIn(history);
  const isClockEven = history.of("step").length === 0;
  return history.of("list").flatMap((row) =>
    (row.also ?? []).flatMap(({ lock, token }) => {
      const other = byToken.get(`${lock}/${token}`);
      if (!other)
        return forgetful.has(lock) ? [] : { rule: RULE, what: `${named(row)} is not listed at ${lock}` };
      const wrong =
        differenceOf(row, other, isClockEven) ??
        (other.also?.some((each) => each.lock === row.lock && each.token === row.token)
          ? null
          : "lists other locks");
      return wrong === null ? [] : { rule: RULE, what: `${named(row)} ${wrong} at ${lock}` };
    }),
  );
}

function differenceOf(a: Listed, b: Listed, isClockEven: boolean): string | null {
  if (a.owner !== b.owner) return `is of ${a.owner}, and of ${b.owner}`;
  if (a.state !== b.state) return `is ${a.state}, and ${b.state}`;
  if (a.endReason !== b.endReason) return `ended as ${a.endReason}, and as ${b.endReason}`;
  if (a.endedUs !== b.endedUs) return "ended at another time";
  // The servers change the times of claims after the clock was set back.
  return isClockEven && a.grantedUs !== b.grantedUs ? "was granted at another time" : null;
}

/** A place is given up at all locks at once, for one reason. */
function waiters(history: History): Breach[] {
  const all = history.of("unserved");
  const forgetful = forgetfulIn(history);
  const sameEnd = (a: Unserved, b: Unserved) =>
    a.owner === b.owner && a.endReason === b.endReason && a.endedUs === b.endedUs;
  return all.flatMap((row) =>
    (row.also ?? []).flatMap((lock) => {
      if (forgetful.has(lock)) return [];
      const isThere = all.some(
        (other) => other.lock === lock && sameEnd(row, other) && other.also?.includes(row.lock),
      );
      const what = `${row.lock}: ticket ${row.ticket} of ${row.owner} ended as ${row.endReason}, and not at ${lock}`;
      return isThere ? [] : { rule: RULE, what };
    }),
  );
}

/** Their ended claims are not kept. */
function forgetfulIn(history: History): Set<string> {
  return new Set(history.of("final").flatMap(({ lock, isForgetful }) => (isForgetful ? lock : [])));
}

const named = ({ lock, token, owner }: Listed) => `${lock}: ${token} of ${owner}`;
