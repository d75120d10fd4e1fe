// How the page writes what the server says: names without harm, times, counts, and the words for modes and ends.

import type {
  ClaimJson,
  EndReasonJson,
  LimitJson,
  ModeJson,
  QueueRulesInForceJson,
  QueueRulesJson,
  RateInForceJson,
  RateJson,
} from "#proto/rowlock/v1/lock_pb.js";

/**
 * Makes the characters visible that a browser would obey or hide: control, bidirectional and other formatting ones. The
 * shell escapes them in the same way.
 */
export function shown(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

/** 1 lock, 2 locks. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

/** A duration for a person: 250 ms, 12 s, 3 min, 5 h, 2 d. */
export function timeWords(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.floor(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.floor(ms / 3_600_000)} h` : `${Math.floor(ms / 86_400_000)} d`;
}

/** The same for a time that grows while somebody looks: without milliseconds, which would flicker. */
export function ageWords(ms: number): string {
  return ms < 1_000 ? "0 s" : timeWords(ms);
}

/** A duration of the protocol's JSON, such as `3.5s`. */
export function durationMs(duration: string): number {
  return Number.parseFloat(duration) * 1_000;
}

/** An instant of the protocol's JSON. */
export function instantMs(instant: string): number {
  return Date.parse(instant);
}

/** 2030-01-31 03:12:05, as the shell writes it, also today: in the time zone of the browser, which the foot names. */
export function clockWords(ms: number): string {
  const date = new Date(ms);
  return `${day(date)} ${clock(date)}`;
}

/** Europe/Berlin (UTC+02:00) */
export function zoneWords(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const utc = `UTC${minutes < 0 ? "-" : "+"}${two(hours)}:${two(rest)}`;
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return timeZone && timeZone !== "UTC" ? `${timeZone} (${utc})` : utc;
}

export function day(date: Date): string {
  return [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
}

export function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

/** MODE_SHARED as "reader", and permits with their count. */
export function modeWords({
  mode,
  permits = 1,
  spendOnly,
}: {
  mode?: ModeJson;
  permits?: number;
  spendOnly?: boolean;
}): string {
  if (spendOnly) return `a spend of ${counted(permits, "permit")}`;
  if (mode === "MODE_SHARED") return "reader";
  return mode === "MODE_EXCLUSIVE" ? "writer" : counted(permits, "permit");
}

/** END_REASON_FORCE_RELEASED as "force released". */
export function endReasonWords(reason: EndReasonJson | undefined): string {
  return (reason ?? "").replace("END_REASON_", "").toLowerCase().replaceAll("_", " ");
}

/** How a claim ended, by whom and why; empty: it has not. */
export function endWords({ end = {} }: ClaimJson): string {
  const by = end.endedBy ? ` by ${shown(end.endedBy)}` : "";
  const note = end.note || end.status;
  return `${endReasonWords(end.reason)}${by}${note ? ` (${shown(note)})` : ""}`;
}

/** `anna`, or `#12` if nobody is named. */
export function whoWords({ owner, ticketNumber = "0" }: ClaimJson): string {
  return owner ? shown(owner) : `#${ticketNumber}`;
}

/** `anna (#12)` */
export function claimWords(claim: ClaimJson): string {
  return claim.owner ? `${shown(claim.owner)} (#${claim.ticketNumber})` : `#${claim.ticketNumber}`;
}

/** `together with etl/b, web/c`: the other locks of a claim for several; empty: it is for one, or the caller may read no other. */
export function alsoWords({ also = [] }: ClaimJson): string {
  return also.length === 0
    ? ""
    : `together with ${also.map(({ lockName = "" }) => shown(lockName)).join(", ")}`;
}

/** The units in which people say the span of a rate, in seconds. */
export const RATE_UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** `500 per minute, burst 20`; the burst only if it is another number. */
export function rateWords(rate: RateJson): string {
  const { permits = 0, burst } = rate;
  const { count, unit } = spanOf(rate);
  const per = count === 1 ? unit : counted(count, unit);
  const text = `${permits.toLocaleString("en")} per ${per}`;
  return !burst || burst === permits ? text : `${text}, burst ${burst.toLocaleString("en")}`;
}

/** The span of a rate, in the largest unit that fits a whole number of times. */
export function spanOf({ per = "0s" }: RateJson): { readonly count: number; readonly unit: string } {
  const seconds = durationMs(per) / 1_000;
  const [unit, length] = RATE_UNITS.find(([, each]) => seconds % each === 0) ?? ["second", 1];
  return { count: seconds / length, unit };
}

/** `at most 1 waits, and the newest wins`, or `shares are fair, by label tenant` */
export function queueRulesWords(rules: QueueRulesJson): string {
  const { waitingMax = 0, whenFull, shareBy = "", headStartMax } = rules;
  const parts: string[] = [];
  if (waitingMax > 0)
    parts.push(`at most ${waitingMax.toLocaleString("en")} ${waitingMax === 1 ? "waits" : "wait"}`);
  if (whenFull === "WHEN_FULL_END_LONGEST_WAITING") parts.push("the newest wins");
  if (shareBy !== "") parts.push(`shares are fair, by ${shareBy.replace("label:", "label ")}`);
  if (headStartMax) parts.push(`head starts of at most ${timeWords(durationMs(headStartMax))}`);
  return parts.join(", and ");
}

/** How many of the patterns before each one are over it. In byte order, all that are stand before it. */
export function depthsOf(patterns: readonly string[]): number[] {
  return patterns.map(
    (pattern, at) => patterns.slice(0, at).filter((over) => pattern.startsWith(over.slice(0, -1))).length,
  );
}

/** Where a limit, a rate or queue rules come from. */
export function sourceWords({
  source,
  pattern = "",
}: LimitJson | RateInForceJson | QueueRulesInForceJson): string {
  if (source === "LIMIT_SOURCE_POOL") return pattern ? `by the pool ${shown(pattern)}` : "by a pool";
  if (source === "LIMIT_SOURCE_PATTERN") return `by the pattern ${shown(pattern)}`;
  return source === "LIMIT_SOURCE_NAME" ? "set for this name" : "the default, as nothing was set";
}

/** The first few of many, and how many more there are. */
export function someOf(words: readonly string[], count: number, most = 3): string {
  const first = words.slice(0, most);
  const more = count - first.length;
  return [...first, ...(more > 0 ? [`${more.toLocaleString("en")} more`] : [])].join(", ");
}

/** Where the history begins, if that is after the time that was asked for; servers of earlier versions do not say it. */
export function beginWords(completeFrom: string | undefined, askedFromMs: number): string {
  if (completeFrom === undefined || instantMs(completeFrom) <= askedFromMs) return "";
  return `The history is complete from ${clockWords(instantMs(completeFrom))} on; earlier claims may be forgotten.`;
}
