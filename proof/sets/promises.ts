// What must be true of each state, and of each step. Judges the rows by what the claims have, and shares with the transactions only
// the order of a queue.
import type { Step } from "../exploration/transactions.ts";
import {
  type Claim,
  type ClaimRow,
  type GuardRow,
  isIn,
  isLive,
  isPast,
  isPool,
  namesOf,
  permitsAt,
  poolsOver,
  queueOf,
  rankOf,
  type State,
} from "./state.ts";

/** The first promise that the step has broken; null: none. */
export function brokenBy(before: State, after: State, [what]: Step): string | null {
  for (const [name, row] of Object.entries(after.rows)) {
    const broken = rowBroken(after, name, row);
    if (broken) return `${broken}: ${name}`;
  }
  for (const [index, claim] of after.claims.entries()) {
    const broken = claimBroken(after, claim) ?? (what === "count" ? null : grantBroken(before, index, after));
    if (broken) return `${broken}: claim ${index}`;
  }
  return null;
}

function rowBroken(state: State, name: string, { limit, given, waiting, isDue }: GuardRow): string | null {
  const queue = queueOf(state, name);
  let sum = 0;
  for (const claim of state.claims) sum += hasAt(claim, name);
  if (given !== sum || waiting !== queue.length) return "counters are not what the claims have";
  const [first] = queue;
  if (!first || limit === 0) return null;
  if (isPool(name)) return !isDue && mayMove(state, first, name) ? "a look is lost" : null;
  const names = namesOf(first);
  if (names.some((other) => queueOf(state, other)[0] !== first)) return null;
  if (!names.every((other) => mayMove(state, first, other))) return null;
  // The transaction that makes room at a lock gives it to a claim for this one alone.
  if (names.length === 1) return "a waiter of one lock was left behind";
  return names.every((other) => !state.rows[other]?.isDue) ? "a look is lost" : null;
}

/** Whether it would be given what it wants here, or would end because it never fits. */
function mayMove({ rows }: State, claim: Claim, name: string): boolean {
  const { limit, given } = rows[name] as GuardRow;
  const permits = permitsAt(claim, name);
  return limit > 0 && (permits > limit || given + permits <= limit);
}

function hasAt(claim: Claim, name: string): number {
  if (isPool(name)) return claim.levels[name] ?? 0;
  return isTaken(claim.rows[name]) ? permitsAt(claim, name) : 0;
}

function isTaken(row: ClaimRow | undefined): boolean {
  return row?.state === "entering" || row?.state === "held";
}

function claimBroken(state: State, claim: Claim): string | null {
  const { at, levels, rows } = claim;
  const states = new Set(Object.values(rows).map((row) => row.state));
  if (states.size > 1) return "it has some of its names and not others";
  const isEntering = isIn(claim, "entering");
  if (isEntering !== (at !== null)) return "it waits at a pool and holds, or neither";
  if (!isEntering && !isIn(claim, "held") && Object.keys(levels).length > 0)
    return "it has something and waits, or has ended";
  const whole = poolsOver(state, claim).filter((pool) => state.rows[pool]?.uncounted.length === 0);
  if (whole.some((pool) => isPast(state, claim, pool) && levels[pool] !== permitsAt(claim, pool)))
    return "it has passed a pool without its permits";
  if (claim.atOnce && isIn(claim, "waiting", "entering")) return "it waits, and must not";
  return state.claims.some((other) => areCrossed(claim, other))
    ? "two sets stand in another order at another lock"
    : null;
}

/** If they were, each would wait for the other one. */
function areCrossed(one: Claim, other: Claim): boolean {
  const both = namesOf(one).filter(
    (name) => (one.rows[name]?.ticket ?? 0) > 0 && (other.rows[name]?.ticket ?? 0) > 0,
  );
  return new Set(both.map((name) => rankOf(one, name) < rankOf(other, name))).size > 1;
}

function grantBroken(before: State, index: number, after: State): string | null {
  const was = before.claims[index] as Claim;
  const is = after.claims[index] as Claim;
  const isGranted = isIn(is, "held") && !isIn(was, "held");
  const names = isLive(is) ? [...namesOf(is), ...Object.keys(is.levels)] : [];
  for (const name of names) {
    const { limit, given } = after.rows[name] as GuardRow;
    if (isGranted && given > limit) return `it was granted beyond a limit (${name})`;
    if (hasAt(is, name) <= hasAt(was, name)) continue;
    if (given > limit) return `more was given than the limit allows (${name})`;
    // Of a pool, those behind the first may go on if what is before them fits, too. Of a lock, nobody passes anybody.
    let needed = isPool(name) ? given : Number.POSITIVE_INFINITY;
    // The place with which it came: it must not lose it by what it takes.
    const place = Math.min(rankOf(was, name), rankOf(is, name));
    for (const waiter of queueOf(after, name)) {
      if (rankOf(waiter, name) > place) break;
      // One that has come back here since has its old place, and was not there to be overtaken.
      if (!waitedAt(before.claims[after.claims.indexOf(waiter)] as Claim, name)) continue;
      needed += permitsAt(waiter, name);
      if (needed > limit) return `it has overtaken somebody (${name})`;
    }
  }
  return null;
}

function waitedAt(claim: Claim, name: string): boolean {
  return isPool(name) ? claim.at === name : claim.rows[name]?.state === "waiting";
}
