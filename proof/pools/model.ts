// The transactions of pools. Each decides about one lock: it has the rows of that lock and of its claims, then those of the pools
// that it needs, and writes nothing else. It is the design as a program, and no part of the server.
import type { Step } from "../exploration/transactions.ts";
import {
  type Change,
  type Claim,
  claimsOf,
  type GuardRow,
  isOverLimit,
  isPool,
  isRateReady,
  isUnder,
  isWider,
  levelsOf,
  mayGoOn,
  neverFits,
  type State,
} from "./state.ts";

/** One transaction: the rows that it has locked, which it also writes. */
interface Draft {
  readonly state: State;
  readonly lock: string;
  readonly known: readonly string[];
  readonly locked: Set<string>;
  /** Rises with each permit that is taken or given back. */
  moves: number;
}

/** Applies a step in place. Returns the guard rows that it has written. */
export function apply(state: State, step: Step): readonly string[] {
  const [what, about = "", server = 0] = step as [string, string | number, number?];
  const name = String(about);
  switch (what) {
    case "ask":
    case "end":
    case "look": {
      const lock = what === "look" ? name : (state.claims[about as number] as Claim).lock;
      return decide(state, lock, state.knows[server] ?? [], step);
    }
    case "time over": {
      (state.claims[about as number] as Claim).isOver = true;
      state.lapses -= 1;
      return [];
    }
    case "rate back": {
      const row = state.rows[name] as GuardRow;
      row.allowed = (row.allowed ?? 0) + 1;
      return [];
    }
    case "learn rules":
      state.knows[about as number] = Object.keys(state.rows).filter(isPool).sort();
      return [];
    case "begin counting": {
      const { countings } = state.rows[name] as GuardRow;
      state.walk = { pool: name, counting: countings, seen: [] };
      return [];
    }
    case "count":
      return countHolders(state, name);
    case "end counting":
      return endCounting(state);
    case "forget walk":
      state.walk = null;
      return [];
    case "drop":
      return drop(state, name);
    default:
      return change(state, step as unknown as Change);
  }
}

/** A decision: ends what is over, does what was asked, and lets the claims of the lock go on as far as they can. */
function decide(
  state: State,
  lock: string,
  known: readonly string[],
  [what, about]: Step,
): readonly string[] {
  const draft: Draft = { state, lock, known, locked: new Set([lock]), moves: 0 };
  for (const claim of claimsOf(state, lock)) if (claim.isOver) end(draft, claim);
  const claim = state.claims[about as number];
  if (what === "ask" && claim?.state === "new") ask(draft, claim);
  if (what === "end" && claim && claim.state !== "ended") end(draft, claim);
  settle(draft);
  return close(draft);
}

/** What one claim gives back lets another go on, so it takes as many rounds as there are claims, at the most. */
function settle(draft: Draft): void {
  const { state, lock } = draft;
  let before = -1;
  for (let round = 0; round <= state.claims.length && before !== draft.moves; round++) {
    before = draft.moves;
    for (const claim of claimsOf(state, lock)) if (claim.state !== "held") goOn(draft, claim);
  }
}

/** Writes what the decision has found out about those who wait at its pools. The next look needs no memory of this one. */
function close({ state, locked }: Draft): readonly string[] {
  for (const name of locked) {
    const row = state.rows[name];
    if (row) row.isDue = mayGoOn(state, name).length > 0;
  }
  return [...locked];
}

function ask(draft: Draft, claim: Claim): void {
  const { state } = draft;
  if (!claim.atOnce) {
    goOn(draft, claim);
    return;
  }
  // The claims of this lock go first. Then all levels are tried: either all are taken, or the rows stay as they were.
  settle(draft);
  const before = structuredClone(state);
  goOn(draft, claim);
  if (claim.state === "held") return;
  state.rows = before.rows;
  Object.assign(claim, before.claims[state.claims.indexOf(claim)], { state: "ended" });
}

/**
 * Takes level after level, narrow to wide, until it has to wait. At each step, and as it becomes held, every level that it
 * has must still be within its limit. At a level that is not, it waits again, at its old rank, without any wider permit.
 */
function goOn(draft: Draft, claim: Claim): void {
  for (const name of levelsOf(draft.state, claim, draft.known)) if (!isThrough(draft, claim, name)) return;
  const slow = claim.has.find((name) => !isRateReady(lockRow(draft, name)));
  if (slow) comeBack(draft, claim, slow);
  else hold(draft, claim);
}

/** Whether the claim has the level, or need not have it. If not, it waits there now, or has ended. */
function isThrough(draft: Draft, claim: Claim, name: string): boolean {
  const row = lockRow(draft, name);
  if (claim.has.includes(name)) {
    const isStill = !isOverLimit(row);
    if (!isStill) comeBack(draft, claim, name);
    return isStill;
  }
  // It came past before the pool was made. Whoever counts the holders counts it, too.
  if (isPast(claim, name)) return true;
  if (row.phase === "leaving") return true;
  if (neverFits(row, claim)) {
    end(draft, claim);
    return false;
  }
  waitAt(draft, claim, name);
  if (!mayGoOn(draft.state, name).includes(claim) || !isRateReady(row)) return false;
  take(draft, claim, name);
  return true;
}

/** The rates of all levels are taken here, in the transaction that gives the token. */
function hold(draft: Draft, claim: Claim): void {
  for (const name of claim.has) {
    const row = lockRow(draft, name);
    if (row.allowed !== null && row.phase !== "leaving") row.allowed -= 1;
  }
  waitAt(draft, claim, null);
  claim.state = "held";
}

function isPast({ state, at }: Claim, name: string): boolean {
  return state === "held" || (at !== null && isWider(at, name));
}

/** Pools after the lock, so that a lock whose row is held elsewhere keeps no pool's row waiting. */
function lockRow({ state, locked }: Draft, name: string): GuardRow {
  locked.add(name);
  return state.rows[name] as GuardRow;
}

/** It waits at this level from now on, and no longer where it did. */
function waitAt(draft: Draft, claim: Claim, name: string | null): void {
  if (claim.at === name) return;
  if (claim.at !== null) lockRow(draft, claim.at).waiting -= 1;
  claim.at = name;
  if (name === null) return;
  const row = lockRow(draft, name);
  row.waiting += 1;
  claim.ranks[name] ??= row.nextRank++;
  claim.state = isPool(name) ? "entering" : "waiting";
}

function take(draft: Draft, claim: Claim, name: string): void {
  lockRow(draft, name).given += claim.permits;
  claim.has.push(name);
  draft.moves += 1;
}

function giveBack(draft: Draft, claim: Claim, name: string): void {
  lockRow(draft, name).given -= claim.permits;
  claim.has = claim.has.filter((other) => other !== name);
  draft.moves += 1;
}

function comeBack(draft: Draft, claim: Claim, name: string): void {
  for (const level of [...claim.has]) if (!isWider(name, level)) giveBack(draft, claim, level);
  waitAt(draft, claim, name);
}

/** Of whatever kind the end is. Gives back what the claim lists, and not what the server takes for its levels. */
function end(draft: Draft, claim: Claim): void {
  for (const name of [...claim.has]) giveBack(draft, claim, name);
  waitAt(draft, claim, null);
  Object.assign(claim, { state: "ended", has: [], ranks: {}, isOver: false });
}

/** One step of the walk through the locks under a pool that was made while claims hold: each lists the pool, and is counted. */
function countHolders(state: State, lock: string): readonly string[] {
  const { walk } = state;
  if (!walk) return [];
  const { pool } = walk;
  const draft: Draft = { state, lock, known: [], locked: new Set([lock]), moves: 0 };
  const row = lockRow(draft, pool);
  for (const claim of claimsOf(state, lock)) {
    if (claim.has.includes(pool) || !isPast(claim, pool)) continue;
    claim.ranks[pool] ??= row.nextRank++;
    take(draft, claim, pool);
  }
  walk.seen.push(lock);
  walk.seen.sort();
  return close(draft);
}

/** Only if it is still the counting that the walk has begun with: in between the pool may have been removed and made again. */
function endCounting(state: State): readonly string[] {
  const { walk } = state;
  const row = walk && state.rows[walk.pool];
  state.walk = null;
  if (!row) return [];
  if (row.phase === "counting" && row.countings === walk.counting) row.phase = "whole";
  return [walk.pool];
}

/** An operator's change. The limit of a pool is in its guard row, so that no decision uses an older one. */
function change(state: State, [what, name, limit = 0]: Change): readonly string[] {
  const fresh = { given: 0, waiting: 0, nextRank: 1, isDue: false, countings: 0, allowed: null };
  state.changed += 1;
  if (what === "make") {
    const row = state.rows[name] ?? { ...fresh, limit, phase: "counting" };
    state.rows[name] = { ...row, limit, phase: "counting", countings: row.countings + 1 };
  }
  const row = state.rows[name];
  if (!row) return [];
  const draft: Draft = { state, lock: name, known: state.knows[0] ?? [], locked: new Set([name]), moves: 0 };
  if (what === "remove") row.phase = "leaving";
  if (what === "set") {
    row.limit = limit;
    if (!isPool(name)) settle(draft);
  }
  return close(draft);
}

/** A pool that is leaving, and of which nobody has or wants anything. If it is made again, it has another guard row. */
function drop(state: State, pool: string): readonly string[] {
  delete state.rows[pool];
  for (const claim of state.claims) delete claim.ranks[pool];
  state.knows = state.knows.map((known) => known.filter((name) => name !== pool));
  if (state.walk?.pool === pool) state.walk = null;
  return [pool];
}

/** The locks that the walk still has to see. */
export function leftToCount({ rows, walk }: State): string[] {
  if (!walk) return [];
  return Object.keys(rows).filter(
    (name) => !isPool(name) && isUnder(name, walk.pool) && !walk.seen.includes(name),
  );
}

/** Writes a decision from memory, whose assertions hold. What it has not written stays as others have left it. */
export function write(
  state: State,
  { from, to, written }: { readonly from: State; readonly to: State; readonly written: readonly string[] },
): void {
  for (const name of written) {
    const row = to.rows[name];
    if (row) state.rows[name] = row;
  }
  for (const [index, claim] of to.claims.entries()) {
    if (JSON.stringify(claim) === JSON.stringify(from.claims[index])) continue;
    const others = Object.entries((state.claims[index] as Claim).ranks).filter(
      ([name]) => !written.includes(name),
    );
    state.claims[index] = { ...claim, ranks: { ...claim.ranks, ...Object.fromEntries(others) } };
  }
}
