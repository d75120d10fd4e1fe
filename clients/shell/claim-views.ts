// What people see of claims beyond one lock's page: those of many locks, and those that have ended, in a table.

import type { ClaimView, EndName } from "../typescript/src/index.ts";
import { othersOf, spelled } from "./also.ts";
import { endWords, isUnfetched, ownerOf, taken } from "./lock-views.ts";
import { localTime } from "./past-times.ts";
import { columns, type Paint, shown, timeWords } from "./print.ts";

/** How a lease ends that its holder did not release. */
const LOST_ENDS: readonly EndName[] = ["EXPIRED", "FORCE_RELEASED"];
/** A run: a lease that was used. */
export const RUN_ENDS: readonly EndName[] = ["RELEASED", "FAILED", ...LOST_ENDS];

/** A claim as it is now, with how long it waited and held in milliseconds; `heldMs` is unset if it was never granted. */
export interface TimedClaim extends ClaimView {
  readonly waitedMs: number;
  readonly heldMs?: number;
}

export function timed(claim: ClaimView, nowMs: number): TimedClaim {
  const { requestedAt, grantedAt, end } = claim;
  const endMs = end?.endedAt?.getTime() ?? nowMs;
  const grantMs = grantedAt?.getTime();
  const waitedMs = Math.max(0, (grantMs ?? endMs) - (requestedAt?.getTime() ?? endMs));
  return { ...claim, waitedMs, ...(grantMs !== undefined && { heldMs: Math.max(0, endMs - grantMs) }) };
}

/** Whether it was a lease that its holder did not release, or a place that an operator took away. */
export function isLost({ end }: ClaimView): boolean {
  return end !== undefined && LOST_ENDS.includes(end.reason);
}

const TITLES = [
  ["NAME", "CLAIM", "REQUESTED", "WAITED", "HELD"],
  ["TAKES", "ALSO", "TOKEN", "OWNER", "PRINCIPAL", "STATE"],
].flat();
/** These columns are left out if no claim fills them, and the name if all claims are of one lock that was named. */
const RARE = ["ALSO", "TOKEN", "PRINCIPAL"];

/** @param isOfOne whether the claims are of one lock, which the person has named. */
export function claimTable(
  claims: readonly ClaimView[],
  { isOfOne, nowMs, paint }: { readonly isOfOne: boolean; readonly nowMs: number; readonly paint: Paint },
): string {
  const rows = claims.map((claim) => claimCells(timed(claim, nowMs), nowMs, paint));
  const isThere = TITLES.map((title, at) =>
    title === "NAME" ? !isOfOne : !RARE.includes(title) || rows.some((row) => row[at] !== ""),
  );
  const titles = TITLES.map((title) => paint("bold", title));
  return columns([titles, ...rows].map((row) => row.filter((_, at) => isThere[at])));
}

function claimCells(claim: TimedClaim, nowMs: number, paint: Paint): string[] {
  const { lockName, ticketNumber, requestedAt, waitedMs, heldMs, token, principal = "" } = claim;
  return [
    shown(lockName),
    `#${ticketNumber}`,
    requestedAt ? localTime(requestedAt) : "",
    timeWords(waitedMs),
    heldMs === undefined ? "" : timeWords(heldMs),
    taken(claim),
    othersOf(claim).map(spelled).map(shown).join(", "),
    `${token ?? ""}`,
    ownerOf(claim),
    shown(principal),
    stateWords(claim, nowMs, paint),
  ];
}

/** What it does, or how it ended, by whom and why. */
function stateWords(claim: ClaimView, nowMs: number, paint: Paint): string {
  const { state, end } = claim;
  if (state === "waiting") return paint("yellow", "waits now");
  if (state === "held")
    return paint("green", isUnfetched(claim, nowMs) ? "held now (granted, but not fetched yet)" : "held now");
  const how = endWords(end?.reason ?? "");
  const by = end?.endedBy === undefined ? "" : ` by ${shown(end.endedBy)}`;
  const note = end?.note ?? end?.status ?? "";
  const because = end?.lockName === undefined ? "" : ` at ${shown(end.lockName)}`;
  const why = note === "" ? because : `${because}: ${shown(note)}`;
  return `${isLost(claim) || end?.reason === "FAILED" ? paint("red", how) : how}${by}${why}`;
}
