// Who uses locks: claims of now and of the last minutes, counted by name, owner, principal or class of names.

import type { ClaimView } from "../typescript/src/index.ts";
import { isLost } from "./claim-views.ts";
import { isUnfetched } from "./lock-views.ts";
import { columns, type Paint, shown, timeWords } from "./print.ts";

/** What the claims are counted by. */
export const GROUPINGS = ["name", "owner", "principal", "class"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** The class of names that no class has, as in the metrics. */
const OTHER = "other";
const NOBODY = "(nobody asked)";

/** What one group uses. */
export interface Usage {
  readonly group: string;
  /** Leases and waiters of now. */
  readonly held: number;
  readonly waiting: number;
  /** How long the oldest of these leases has been held. */
  readonly longestHoldMs: number;
  /** Those of these leases that have no end, or that nobody has fetched. */
  readonly leaks: number;
  /** How long all leases together were held since `sinceMs`. */
  readonly heldMs: number;
  /** Leases that have ended since then, and those of them that expired or were force-released. */
  readonly ended: number;
  readonly lost: number;
}

/** What the groups can be sorted by, most first. */
export const ORDERS = {
  held: ({ held }: Usage) => held,
  waiting: ({ waiting }: Usage) => waiting,
  longest: ({ longestHoldMs }: Usage) => longestHoldMs,
  leaks: ({ leaks }: Usage) => leaks,
  time: ({ heldMs }: Usage) => heldMs,
  ended: ({ ended }: Usage) => ended,
  lost: lostShare,
} as const;
export type Order = keyof typeof ORDERS;

/** Returns what a claim is counted under. @param classes names, and patterns such as `etl/*`; none: folders of names. */
export function groupOf(by: Grouping, classes: readonly string[]): (claim: ClaimView) => string {
  if (by === "name") return ({ lockName }) => lockName;
  if (by === "owner") return ({ owner }) => owner;
  if (by === "principal") return ({ principal = NOBODY }) => principal;
  if (classes.length === 0) return ({ lockName }) => folderOf(lockName);
  // An exact name comes first, and then the longest pattern.
  const longestFirst = [...classes].sort(
    (one, other) => Number(one.endsWith("*")) - Number(other.endsWith("*")) || other.length - one.length,
  );
  return ({ lockName }) => longestFirst.find((each) => matches(each, lockName)) ?? OTHER;
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function folderOf(name: string): string {
  const at = name.indexOf("/");
  return at < 0 ? OTHER : `${name.slice(0, at)}/*`;
}

/** @param claims live ones, and those that have ended since `sinceMs`. */
export function usageOf(
  claims: readonly ClaimView[],
  groupFor: (claim: ClaimView) => string,
  { sinceMs, nowMs, order }: { readonly sinceMs: number; readonly nowMs: number; readonly order: Order },
): Usage[] {
  const groups = Map.groupBy(claims, groupFor);
  const usages = Array.from(groups, ([group, members]) => usageIn(group, members, sinceMs, nowMs));
  const most = ORDERS[order];
  return usages.sort((one, other) => most(other) - most(one) || (one.group < other.group ? -1 : 1));
}

function usageIn(group: string, claims: readonly ClaimView[], sinceMs: number, nowMs: number): Usage {
  const held = claims.filter(({ state }) => state === "held");
  const ended = claims.filter(
    ({ state, grantedAt, spendOnly }) => state === "ended" && grantedAt && !spendOnly,
  );
  const msSince = (ms: number, { grantedAt, end }: ClaimView) =>
    Math.max(0, (end?.endedAt?.getTime() ?? nowMs) - Math.max(ms, grantedAt?.getTime() ?? nowMs));
  return {
    group,
    held: held.length,
    waiting: claims.filter(({ state }) => state === "waiting").length,
    longestHoldMs: held.reduce((longest, claim) => Math.max(longest, msSince(0, claim)), 0),
    leaks: held.filter((claim) => !claim.expiresAt || isUnfetched(claim, nowMs)).length,
    heldMs: [...held, ...ended].reduce((sum, claim) => sum + msSince(sinceMs, claim), 0),
    ended: ended.length,
    lost: ended.filter(isLost).length,
  };
}

function lostShare({ ended, lost }: Usage): number {
  return ended === 0 ? 0 : lost / ended;
}

export function usageTable(
  usages: readonly Usage[],
  { by, overMs, paint }: { readonly by: Grouping; readonly overMs: number; readonly paint: Paint },
): string {
  if (usages.length === 0) return "No lock is held or waited for, and no lease has ended lately.\n";
  const over = `IN ${timeWords(overMs).toUpperCase()}`;
  const titles = [by.toUpperCase(), "HELD", "WAITING", "LONGEST", "LEAKS", `TIME ${over}`, "ENDED", "LOST"];
  const rows = usages.map((usage) => {
    const { group, held, waiting, longestHoldMs, leaks, heldMs, ended } = usage;
    const share = Math.round(lostShare(usage) * 100);
    return [
      shown(group),
      `${held}`,
      waiting > 0 ? paint("yellow", `${waiting}`) : "0",
      held === 0 ? "" : timeWords(longestHoldMs),
      leaks > 0 ? paint("red", `${leaks}`) : "0",
      timeWords(heldMs),
      `${ended}`,
      ended === 0 ? "" : usage.lost > 0 ? paint("red", `${share} %`) : "0 %",
    ];
  });
  return columns([titles.map((title) => paint("bold", title)), ...rows]);
}
