// What people see of changes that somebody made: of limits, records and policies, and of forced releases.

import type { ChangeView, QueueRules, Rate, RecordState, ReleasedClaim } from "../typescript/src/index.ts";
import { localTime } from "./past-times.ts";
import { columns, counted, type Paint, shown } from "./print.ts";
import { queueRulesText } from "./queue-rules.ts";
import { rateText } from "./rates.ts";

const TITLES = ["WHEN", "WHAT", "OF", "BY", "FROM", "TO", "WHY"];
/** As much of a policy's hash as distinguishes two. */
const HASH_CHARS = 12;

export function changeTable(changes: readonly ChangeView[], paint: Paint): string {
  const titles = TITLES.map((title) => paint("bold", title));
  return columns([titles, ...changes.map(changeCells)]);
}

function changeCells(change: ChangeView): string[] {
  const { changedAt, kind, name, pattern, pool, changedBy, reason } = change;
  const [from, to] = fromTo(change);
  return [
    changedAt ? localTime(changedAt) : "",
    kind,
    pool === undefined ? shown(name ?? pattern ?? "") : `${shown(pool)} (pool)`,
    shown(changedBy),
    shown(from),
    shown(to),
    shown(reason),
  ];
}

function fromTo(change: ChangeView): readonly [from: string, to: string] {
  switch (change.kind) {
    case "limit":
      return limitsWords(change);
    case "record":
      return [recordWords(change.from), recordWords(change.to)];
    case "forced release":
      return [claimWords(change.claim), "ended"];
    case "policy":
      return [change.from.slice(0, HASH_CHARS), change.to.slice(0, HASH_CHARS)];
    case "unknown":
      return ["", ""];
  }
}

/** What was changed of the limit, the rate and the queue rules; the limit if nothing was. */
function limitsWords(change: Extract<ChangeView, { kind: "limit" }>): readonly [from: string, to: string] {
  const all = [
    [limitWords(change.from), limitWords(change.to)],
    [rateWords(change.rateFrom), rateWords(change.rateTo)],
    [rulesWords(change.queueRulesFrom), rulesWords(change.queueRulesTo)],
  ];
  const changed = all.filter(([from, to]) => from !== to);
  const shown = changed.length > 0 ? changed : all.slice(0, 1);
  return [shown.map(([from]) => from).join(", "), shown.map(([, to]) => to).join(", ")];
}

function rulesWords(rules: QueueRules | undefined): string {
  return rules ? queueRulesText(rules) : "no queue rules";
}

function rateWords(rate: Rate | undefined): string {
  return rate ? `rate ${rateText(rate)}` : "no rate";
}

function limitWords(limit: number | undefined): string {
  return limit === undefined ? "not set" : String(limit);
}

function recordWords(record: RecordState | undefined): string {
  if (!record) return "none";
  const { status, attemptsLeft, notBefore } = record;
  const words = [
    ...(status === "" ? [] : [`status ${status}`]),
    ...(attemptsLeft === undefined ? [] : [`${counted(attemptsLeft, "attempt")} left`]),
    ...(notBefore === undefined ? [] : [`not before ${localTime(notBefore)}`]),
  ];
  return words.length === 0 ? "empty" : words.join(", ");
}

function claimWords({ ticketNumber, state, owner, principal }: ReleasedClaim): string {
  const who = principal ? `${owner} (${principal})` : owner;
  return `#${ticketNumber} of ${who}, which ${state === "held" ? "held it" : "waited"}`;
}
