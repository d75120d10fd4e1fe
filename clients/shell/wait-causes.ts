// Says why a request waits: each cause in words, with what an operator can do about it, and about how long it may last.

import type {
  ClaimView,
  LimitView,
  RateView,
  WaitCause,
  WaitEstimateView,
  WaitExplanation,
} from "../typescript/src/index.ts";
import { alsoWords, othersOf } from "./also.ts";
import { inLocalTime, localTime } from "./past-times.ts";
import { type PausedLimit, pausedBy } from "./paused-limits.ts";
import { type Paint, shown, timeWords } from "./print.ts";
import { rateText } from "./rates.ts";

/** The server's summary, a line for each cause, and the estimate. */
export function explanationPage(explanation: WaitExplanation, nowMs: number, paint: Paint): string {
  const { lock, claim, causes, summary, estimate } = explanation;
  const which = `${shown(lock.name)}${claim ? `#${claim.ticketNumber}` : ""}`;
  const also = claim ? alsoWords(othersOf(claim)) : "";
  const lines = causes.map((cause) => {
    const { lockName } = cause;
    const [words, todo] = causeWords(cause, lockName ?? lock.name, nowMs);
    return `  - ${lockName === undefined ? "" : `${shown(lockName)}: `}${words}: ${todo}`;
  });
  const last = estimate ? [`  ${estimateWords(estimate)}`] : [];
  return [
    `${paint("bold", which)}${also}: ${shown(inLocalTime(summary, new Date(nowMs)))}`,
    ...lines,
    ...last,
    "",
  ].join("\n");
}

/** Why in words, and what to do, both without a full stop. */
function causeWords(cause: WaitCause, name: string, nowMs: number): [words: string, todo: string] {
  const lock = shellWord(name);
  const ago = (date: Date) => `${timeWords(Math.max(0, nowMs - date.getTime()))} ago`;
  const ahead = (date: Date) => `${localTime(date)}, in ${timeWords(Math.max(0, date.getTime() - nowMs))}`;
  switch (cause.kind) {
    case "held": {
      const { holders, holderCount, firstEndsAt } = cause;
      const end = firstEndsAt
        ? `unless it is renewed, the first lease ends at ${ahead(firstEndsAt)}`
        : "no lease has an end";
      const [first] = holders;
      const which = holderCount === 1 && first ? ` --ticket ${first.ticketNumber}` : "";
      return [
        `${claimsWords(holders, holderCount, "held")}; ${end}`,
        `rowlock release ${lock} --force${which} --reason WHY`,
      ];
    }
    case "queued":
      return [
        `${claimsWords(cause.first, cause.ahead, "waiting")} before it, for ${cause.permitsAhead} in all`,
        `rowlock show ${lock}`,
      ];
    case "limit": {
      const { limit, setAt, setBy } = cause;
      const { from, target, why } = settingWords(limit, lock);
      const by = setBy === undefined ? "" : ` by ${shown(setBy)}`;
      const set = setAt || by ? `, set${by}${setAt ? ` ${ago(setAt)}` : ""}` : "";
      const paused = pausedBy(limit);
      return [
        `the limit is ${limit.permits}${from}${set}${why}`,
        paused ? resumeWords(paused) : `rowlock limit ${target} PERMITS`,
      ];
    }
    case "rate": {
      const { rate, until } = cause;
      const { from, target, why } = settingWords(rate, lock);
      const words = `the rate is ${rateText(rate)}${from}${why}`;
      return until
        ? [
            `${words}, and allows it at ${ahead(until)}`,
            `wait, or rowlock limit ${target} --rate PERMITS/TIME`,
          ]
        : [
            `${words}, and the request asks for more at once`,
            `rowlock limit ${target} --rate PERMITS/TIME --burst COUNT`,
          ];
    }
    case "pool":
      return poolWords(cause, lock, ahead);
    case "not before":
      return [`it is not due before ${ahead(cause.notBefore)}`, `rowlock update ${lock} --not-before none`];
    case "exhausted":
      return ["its record has no attempts left", `rowlock update ${lock} --attempts COUNT`];
    case "status":
      return [
        cause.status === ""
          ? "it has no status, and the request wants one"
          : `it has the status ${shown(cause.status)}, which the request does not want`,
        `rowlock update ${lock} --status WORD`,
      ];
    case "failed over":
      return [
        `the database has failed over, and nothing is granted before ${ahead(cause.until)}`,
        "wait, as a lost lease may still be held until then",
      ];
    case "rows held":
      return rowsHeldWords(cause);
  }
}

/** Where a limit or a rate comes from and why, and what `rowlock limit` calls that. */
function settingWords({ source, pattern = "", reason }: LimitView | RateView, lock: string) {
  // The server hides a pattern from callers who may not read all names under it.
  const isPattern = source === "pattern" && pattern !== "";
  return {
    from: isPattern ? ` by ${shown(pattern)}` : "",
    target: isPattern ? `--pattern ${shellWord(pattern, true)}` : lock,
    why: reason === "" ? "" : ` (${shown(reason)})`,
  };
}

/** The command for each pause that holds the limit. */
export function resumeWords({ by }: PausedLimit): string {
  return by.map((each) => `rowlock resume ${shellWord(each)}`).join("; ");
}

/** The pool with what is used of it, and how to make more room. */
function poolWords(
  { pool, waitsHere, ahead, rateUntil }: Extract<WaitCause, { kind: "pool" }>,
  lock: string,
  when: (date: Date) => string,
): [words: string, todo: string] {
  const { pattern, limit, rate, use } = pool;
  const which = pattern === "" ? "a pool" : `the pool ${shown(pattern)}`;
  const reason = limit?.reason ?? rate?.reason ?? "";
  const words = [
    ...(limit ? [`has ${use.heldPermits} of ${limit.permits} permits taken`] : []),
    ...(ahead === 0
      ? []
      : [`${ahead} ${ahead === 1 ? "waits" : "wait"} there${waitsHere ? " before it" : ""}`]),
    ...(rate && rateUntil ? [`has a rate of ${rateText(rate)} that allows it at ${when(rateUntil)}`] : []),
  ];
  const why = reason === "" ? "" : ` (${shown(reason)})`;
  const target = `--pool ${shellWord(pattern, true)}`;
  const change = rateUntil
    ? `wait, or rowlock limit ${target} --rate PERMITS/TIME`
    : `rowlock limit ${target} PERMITS`;
  // The server hides the pattern from callers who may not read all names under it.
  return [`${which} ${words.join(", and ")}${why}`, pattern === "" ? `rowlock show ${lock}` : change];
}

function rowsHeldWords(cause: Extract<WaitCause, { kind: "rows held" }>): [words: string, todo: string] {
  const { connectionId, user, heldForMs } = cause;
  const by = user === undefined ? "" : ` of the user ${shown(user)}`;
  const since = heldForMs === undefined ? "" : `, for ${timeWords(heldForMs)}`;
  return [
    `another transaction${by} holds its rows in the database${since}`,
    connectionId === undefined
      ? "end it in the database, which says which one it is if Rowlock's user has the right PROCESS"
      : `KILL ${connectionId} (in the database)`,
  ];
}

function claimsWords(first: readonly ClaimView[], count: number, state: "held" | "waiting"): string {
  const named = first.slice(0, 3).map(({ owner, ticketNumber }) => `${shown(owner)} (#${ticketNumber})`);
  const more = count - named.length;
  const others = more > 0 ? [named.length === 0 ? `${more}` : `${more} more`] : [];
  const who = [...named, ...others].join(", ");
  const verb =
    count === 1 ? (state === "held" ? "holds it" : "waits") : state === "held" ? "hold it" : "wait";
  return `${who} ${verb}`;
}

/** about 4 min; between 1 and 12 min in 8 of 10 cases; from 57 leases */
export function estimateWords({ medianMs, lowMs, highMs, leases }: WaitEstimateView): string {
  const [low, high] = [timeWords(lowMs), timeWords(highMs)];
  const [lowNumber, lowUnit] = low.split(" ");
  const isOneUnit = lowUnit === high.split(" ")[1];
  const between = low === high ? `${low}` : `between ${isOneUnit ? lowNumber : low} and ${high}`;
  return `about ${timeWords(medianMs)}; ${between} in 8 of 10 cases; from ${leases} leases`;
}

/** A word as a person can paste it into a shell. */
function shellWord(text: string, isQuoted = !/^[\w./:@%+,=-]+$/.test(text)): string {
  return isQuoted ? `'${shown(text).replaceAll("'", "'\\''")}'` : text;
}
