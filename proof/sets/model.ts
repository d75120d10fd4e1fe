// The transactions of sets. Each has locked the guard rows of some names, moves the claims that have no other names, and leaves
// all others as they are. It is the design as a program, and no part of the server.
import type { Step } from "../exploration/transactions.ts";
import {
  type Claim,
  type ClaimRow,
  type GuardRow,
  isIn,
  isLive,
  isNew,
  isPast,
  isPool,
  isUnder,
  isWantedAt,
  mayGoOn,
  missingAt,
  namesOf,
  neverFits,
  newRow,
  permitsAt,
  poolsOver,
  queueOf,
  type State,
} from "./state.ts";

/** One transaction: the rows that it has locked, which it also writes. */
interface Draft {
  readonly state: State;
  readonly locks: readonly string[];
  readonly pools: Set<string>;
  /** By lock, who was first and wanted there before: it has been looked at since, unless the lock is due. */
  readonly known: ReadonlyMap<string, Claim | null>;
  /** Rises with each claim that moves. */
  moves: number;
}

/** Applies a step in place. Returns the guard rows that it has written. */
export function apply(state: State, [what, about, ...more]: Step): readonly string[] {
  const claim = state.claims[about as number] as Claim;
  switch (what) {
    case "ask":
      return decide(state, namesOf(claim), (draft) => isNew(claim) && ask(draft, claim));
    // A release, or a cancel.
    case "end":
      return decide(state, namesOf(claim), (draft) => isLive(claim) && end(draft, claim));
    // At one name. The server finds the others in the row there, and begins anew with all of them.
    case "force":
      return decide(state, namesOf(claim), (draft) => isLive(claim) && end(draft, claim));
    case "look":
      return decide(state, [about, ...more].map(String), () => {});
    case "count":
      return count(state, String(about), String(more[0]));
    case "time over":
      claim.isOver = true;
      state.lapses -= 1;
      return [];
    default:
      return setLimit(state, String(about), more[0] as number);
  }
}

/** Ends what is over, does what was asked, and lets the claims whose names it has all go on as far as they can. */
function decide(state: State, locks: readonly string[], asked: (draft: Draft) => unknown): readonly string[] {
  const known = new Map(
    locks.map((name) => [name, state.rows[name]?.isDue ? null : wantedFirst(state, name)]),
  );
  const draft: Draft = { state, locks, pools: new Set(), known, moves: 0 };
  for (const claim of state.claims) if (claim.isOver && hasAll(draft, claim)) end(draft, claim);
  asked(draft);
  settle(draft);
  return close(draft);
}

/** A set moves only in a transaction that has locked the guard rows of all its names. */
function hasAll({ locks }: Draft, claim: Claim): boolean {
  return namesOf(claim).every((name) => locks.includes(name));
}

/** What one claim gives back lets another go on, so it takes as many rounds as there are claims, at the most. */
function settle(draft: Draft): void {
  const { claims } = draft.state;
  let before = -1;
  for (let round = 0; round <= claims.length && before !== draft.moves; round++) {
    before = draft.moves;
    for (const claim of claims)
      if (isIn(claim, "waiting", "entering") && hasAll(draft, claim)) goOn(draft, claim);
  }
}

/**
 * Writes what the decision has found out about those whom it could not move: sets that have a name which it has not, if they are first
 * and wanted since this decision, and claims at its pools. The next look needs no memory of this one.
 */
function close(draft: Draft): readonly string[] {
  const { state, locks, pools } = draft;
  for (const name of locks) {
    const head = wantedFirst(state, name);
    const isLeft = head !== null && !hasAll(draft, head) && head !== draft.known.get(name);
    lockRow(draft, name).isDue = isLeft;
  }
  for (const name of pools) lockRow(draft, name).isDue = mayGoOn(state, name).length > 0;
  return [...locks, ...pools];
}

/** Who is first there, and fits or never fits; null: nobody is. */
function wantedFirst(state: State, name: string): Claim | null {
  const [head] = queueOf(state, name);
  return head !== undefined && isWantedAt(state, head, name) !== null ? head : null;
}

function ask(draft: Draft, claim: Claim): void {
  const { state } = draft;
  // Those who wait already go first. Then all is tried: either the claim gets all, or the rows stay as they were.
  if (claim.atOnce) settle(draft);
  const before = structuredClone(state);
  for (const name of namesOf(claim)) place(draft, claim, name);
  const levels = [...namesOf(claim), ...poolsOver(state, claim)];
  if (levels.some((name) => neverFits(lockRow(draft, name), permitsAt(claim, name)))) end(draft, claim);
  if (!claim.atOnce || !isLive(claim)) return;
  goOn(draft, claim);
  if (isIn(claim, "held")) return;
  state.rows = before.rows;
  const rows = namesOf(claim).map((name) => [name, { state: "ended", ticket: 0 }]);
  Object.assign(claim, before.claims[state.claims.indexOf(claim)], { rows: Object.fromEntries(rows) });
}

/** All places of a set are taken in one transaction. */
function place(draft: Draft, claim: Claim, name: string): void {
  const row = lockRow(draft, name);
  row.waiting += 1;
  claim.rows[name] = { state: "waiting", ticket: row.next++ };
  draft.moves += 1;
}

/**
 * Takes all of its names at once, and then pool after pool, until it has to wait. At each step, whatever it has must still be within
 * its limit. At the first one that is not it comes back.
 */
function goOn(draft: Draft, claim: Claim): void {
  const { state } = draft;
  const names = namesOf(claim);
  if (isIn(claim, "waiting")) {
    const wanted = names.map((name) => isWantedAt(state, claim, name));
    if (wanted.includes("ends")) end(draft, claim);
    if (wanted.some((how) => how !== "fits")) return;
    for (const name of names) takeName(draft, claim, name);
  }
  if (names.some((name) => isOverLimit(lockRow(draft, name)))) {
    comeBackToQueues(draft, claim);
    return;
  }
  for (const pool of poolsOver(state, claim)) if (!passes(draft, claim, pool)) return;
  waitAt(draft, claim, null);
  for (const name of names) rowAt(claim, name).state = "held";
  draft.moves += 1;
}

/** Whether the claim has the pool. If not, it waits there now, or has ended. */
function passes(draft: Draft, claim: Claim, pool: string): boolean {
  const row = lockRow(draft, pool);
  // Whoever counts the holders of a new pool counts it, too.
  if (!(pool in claim.levels) && isPast(draft.state, claim, pool)) return true;
  while (missingAt(claim, pool) > 0) {
    if (neverFits(row, missingAt(claim, pool))) {
      end(draft, claim);
      return false;
    }
    waitAt(draft, claim, pool);
    if (!mayGoOn(draft.state, pool).includes(claim)) return false;
    takePool(draft, claim, pool);
  }
  const isStill = !isOverLimit(row);
  if (!isStill) comeBack(draft, claim, pool);
  return isStill;
}

function isOverLimit({ limit, given }: GuardRow): boolean {
  return given > limit;
}

/** Pools after the locks, so that a lock whose row is held elsewhere keeps no pool's row waiting. */
function lockRow({ state, locks, pools }: Draft, name: string): GuardRow {
  if (isPool(name)) pools.add(name);
  else if (!locks.includes(name)) throw new Error(`The transaction has not locked ${name}.`);
  return state.rows[name] as GuardRow;
}

function rowAt(claim: Claim, name: string): ClaimRow {
  return claim.rows[name] as ClaimRow;
}

function takeName(draft: Draft, claim: Claim, name: string): void {
  const row = lockRow(draft, name);
  row.waiting -= 1;
  row.given += permitsAt(claim, name);
  rowAt(claim, name).state = "entering";
  draft.moves += 1;
}

function takePool(draft: Draft, claim: Claim, pool: string): void {
  const permits = missingAt(claim, pool);
  lockRow(draft, pool).given += permits;
  claim.levels[pool] = (claim.levels[pool] ?? 0) + permits;
  draft.moves += 1;
}

function giveBackPool(draft: Draft, claim: Claim, pool: string): void {
  lockRow(draft, pool).given -= claim.levels[pool] ?? 0;
  delete claim.levels[pool];
  draft.moves += 1;
}

/** It waits at this pool from now on, and no longer where it did. */
function waitAt(draft: Draft, claim: Claim, pool: string | null): void {
  if (claim.at === pool) return;
  if (claim.at !== null) lockRow(draft, claim.at).waiting -= 1;
  claim.at = pool;
  if (pool === null) return;
  const row = lockRow(draft, pool);
  row.waiting += 1;
  claim.ranks[pool] ??= row.next++;
}

/** It gives back this pool and all after it, and waits here at its old rank. */
function comeBack(draft: Draft, claim: Claim, pool: string): void {
  const order = poolsOver(draft.state, claim);
  for (const level of order.slice(order.indexOf(pool)))
    if (level in claim.levels) giveBackPool(draft, claim, level);
  waitAt(draft, claim, pool);
}

/** It gives back everything, and waits for all of its names with its old tickets. */
function comeBackToQueues(draft: Draft, claim: Claim): void {
  for (const pool of Object.keys(claim.levels)) giveBackPool(draft, claim, pool);
  waitAt(draft, claim, null);
  for (const name of namesOf(claim)) {
    const row = lockRow(draft, name);
    row.given -= permitsAt(claim, name);
    row.waiting += 1;
    rowAt(claim, name).state = "waiting";
  }
  draft.moves += 1;
}

/** Of whatever kind the end is: it is that of all names. */
function end(draft: Draft, claim: Claim): void {
  for (const pool of Object.keys(claim.levels)) giveBackPool(draft, claim, pool);
  waitAt(draft, claim, null);
  for (const name of namesOf(claim)) endAt(draft, claim, name);
  Object.assign(claim, { ranks: {}, isOver: false });
}

function endAt(draft: Draft, claim: Claim, name: string): void {
  const row = lockRow(draft, name);
  if (rowAt(claim, name).state === "waiting") row.waiting -= 1;
  else row.given -= permitsAt(claim, name);
  claim.rows[name] = { state: "ended", ticket: 0 };
  draft.moves += 1;
}

/** Of a lock, or of a pool: the limit of both is in the guard row. */
function setLimit(state: State, name: string, limit: number): readonly string[] {
  state.changed += 1;
  if (!state.rows[name]) {
    const uncounted = Object.keys(state.rows).filter((lock) => !isPool(lock) && isUnder(lock, name));
    state.rows[name] = { ...newRow(limit), uncounted };
  }
  return decide(state, isPool(name) ? [] : [name], (draft) => {
    lockRow(draft, name).limit = limit;
  });
}

/**
 * One step of the walk through the locks under a pool that was made while claims hold: each lists the pool, over its limit, too. The
 * lead of a set may be no lock under the pool, and several of its names may be. So it is counted with all of its rows, once.
 */
function count(state: State, pool: string, lock: string): readonly string[] {
  const here = state.claims.filter((claim) => isLive(claim) && lock in claim.wants);
  return decide(state, [...new Set([lock, ...here.flatMap(namesOf)])], (draft) => {
    const row = lockRow(draft, pool);
    for (const claim of here) {
      if (!isPast(state, claim, pool) || missingAt(claim, pool) === 0) continue;
      claim.ranks[pool] ??= row.next++;
      takePool(draft, claim, pool);
    }
    row.uncounted = row.uncounted.filter((name) => name !== lock);
  });
}

/** Writes a decision from memory, whose assertions hold. What it has not written stays as others have left it. */
export function write(
  state: State,
  { from, to, written }: { readonly from: State; readonly to: State; readonly written: readonly string[] },
): void {
  for (const name of written) state.rows[name] = to.rows[name] as GuardRow;
  for (const [index, claim] of to.claims.entries()) {
    if (JSON.stringify(claim) === JSON.stringify(from.claims[index])) continue;
    const { rows, ranks } = state.claims[index] as Claim;
    const kept = <Value>(values: Record<string, Value>) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => !written.includes(name)));
    Object.assign(claim.ranks, kept(ranks));
    Object.assign(claim.rows, kept(rows));
    state.claims[index] = claim;
  }
}
