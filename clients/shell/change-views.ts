// What people see of changes that somebody made: of limits, records and policies, and of forced releases.

import type { ChangeView, Rate, RecordState, ReleasedClaim } from "../typescript/src/index.ts";
import { localTime } from "./past-times.ts";
import { columns, counted, type Paint, shown } from "./print.ts";
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

/** The limit, the rate or both, as far as they were changed. */
function limitsWords(change: Extract<ChangeView, { kind: "limit" }>): readonly [from: string, to: string] {
  const { from, to, rateFrom, rateTo } = change;
  const isOfRate = rateWords(rateFrom) !== rateWords(rateTo);
  const isOfLimit = from !== to || !isOfRate;
  const words = (limit: number | undefined, rate: Rate | undefined) =>
    [...(isOfLimit ? [limitWords(limit)] : []), ...(isOfRate ? [rateWords(rate)] : [])].join(", ");
  return [words(from, rateFrom), words(to, rateTo)];
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
