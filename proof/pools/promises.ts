// What must be true of each state, and of each step. Judges the rows by what the claims list, and shares with the transactions
// only the order of a queue.
import type { Step } from "../exploration/transactions.ts";
import {
  type Claim,
  type GuardRow,
  isLive,
  isPool,
  isUnder,
  isWider,
  queueOf,
  rankOf,
  type State,
} from "./state.ts";

/** The first promise that the step has broken; null: none. */
export function brokenBy(before: State, after: State, step: Step): string | null {
  for (const [name, row] of Object.entries(after.rows)) {
    const broken = rowBroken(after, name, row);
    if (broken) return `${broken}: ${name}`;
  }
  for (const [index, claim] of after.claims.entries()) {
    const broken = claimBroken(after, claim) ?? stepBroken(before, index, step, after);
    if (broken) return `${broken}: claim ${index}`;
  }
  return null;
}

function rowBroken(state: State, name: string, row: GuardRow): string | null {
  const queue = queueOf(state, name);
  let given = 0;
  for (const { has, permits } of state.claims) if (has.includes(name)) given += permits;
  if (row.given !== given || row.waiting !== queue.length) return "counters are not what the claims list";
  if (row.allowed !== null && row.allowed < 0) return "more was granted than the rate allows";
  const first = queue[0];
  const isWaitedFor = first !== undefined && mayTakeAStep(row, given, first);
  if (isWaitedFor && !row.isDue) return "a look is lost";
  // The transaction that makes room at a lock of the callers' own also gives it.
  return isWaitedFor && !isPool(name) ? "a waiter of the lock itself was left behind" : null;
}

function mayTakeAStep({ limit, phase }: GuardRow, given: number, { permits }: Claim): boolean {
  if (phase === "leaving") return true;
  return limit > 0 && (permits > limit || given + permits <= limit);
}

function claimBroken(state: State, claim: Claim): string | null {
  const { at, has, lock } = claim;
  if (!isLive(claim)) return at !== null || has.length > 0 ? "an ended claim has something" : null;
  if ((claim.state === "held") !== (at === null)) return "it is held and waits, or neither";
  for (const [pool, { phase }] of Object.entries(state.rows)) {
    if (phase !== "whole" || !isPool(pool) || !isUnder(lock, pool) || has.includes(pool)) continue;
    if (at === null || isWider(at, pool)) return `a pool has forgotten a holder (${pool})`;
  }
  return null;
}

function stepBroken(before: State, index: number, [what]: Step, after: State): string | null {
  const was = before.claims[index] as Claim;
  const is = after.claims[index] as Claim;
  const isGranted = is.state === "held" && was.state !== "held";
  for (const name of is.has) {
    const row = after.rows[name] as GuardRow;
    if (isGranted && row.phase !== "leaving" && (row.limit === 0 || row.given > row.limit))
      return `a token was given beyond a limit (${name})`;
    if (what === "count" || was.has.includes(name)) continue;
    if (row.given > row.limit) return `more permits were given than the limit allows (${name})`;
    let needed = row.given;
    for (const waiter of queueOf(after, name)) {
      if (rankOf(waiter, name) > rankOf(is, name)) break;
      // One that has come back to this level since has its old rank, and was not there to be overtaken.
      if (before.claims[after.claims.indexOf(waiter)]?.at !== name) continue;
      needed += waiter.permits;
      if (needed > row.limit) return `it has overtaken somebody (${name})`;
    }
  }
  for (const [name, rank] of Object.entries(is.ranks)) {
    if (name in was.ranks) continue;
    const isLater = ({ ranks }: Claim, at: number) =>
      name in (before.claims[at] as Claim).ranks && (ranks[name] ?? 0) > rank;
    if (after.claims.some(isLater)) return `it has come last and not got the last rank (${name})`;
  }
  if (is.atOnce && (is.state === "waiting" || is.state === "entering")) return "it waits, and must not";
  return null;
}
