// The rows of a small world with claims for several locks, and what follows from them. A state is plain data: its JSON, with
// tickets and ranks counted anew, is its name in the exploration. A claim for one lock is a set of one name.
import type { Transacting } from "../exploration/transactions.ts";

/** What the world of one exploration has. */
export interface World {
  readonly name: string;
  /** The name, and its limit. */
  readonly locks: Readonly<Record<string, number>>;
  /** The pattern, and its limit, in the order of the ids of their guard rows. */
  readonly pools?: Readonly<Record<string, number>>;
  readonly claims: readonly {
    /** The names in the order in which the caller names them, and the permits of each. */
    readonly wants: Readonly<Record<string, number>>;
    /** Takes all names and pools at once or nothing: a try without waiting. */
    readonly atOnce?: boolean;
  }[];
  /** The limits that operators set, in this order, each at any time. A pool that is not there is made. */
  readonly changes?: readonly (readonly [name: string, limit: number])[];
  /** How many COMMITs have no answer. */
  readonly cuts?: number;
  /** How many claims run out of their time. */
  readonly lapses?: number;
  /** Whether servers decide from memory, and assert revisions as they write. */
  readonly optimistic?: boolean;
}

/** Of a lock or of a pool. */
export interface GuardRow {
  limit: number;
  /** Permits given to claims that are there. */
  given: number;
  /** Claims that wait here. */
  waiting: number;
  /** The ticket or the rank of the next claim that arrives. */
  next: number;
  /** The mark `wakes_at`: a server has to look at a claim that is here, with all of its names. */
  isDue: boolean;
  /** Of a pool that was made while claims hold: the locks under it whose claims are still to be counted. */
  uncounted: string[];
}

/** The row of a claim at one of its names. */
export interface ClaimRow {
  /** Entering: the claim has all of its names, and waits at a pool. */
  state: "waiting" | "entering" | "held" | "ended";
  ticket: number;
}

export interface Claim {
  /** The first name is that of the lead. */
  readonly wants: Readonly<Record<string, number>>;
  readonly atOnce: boolean;
  /** None before it has its places. */
  rows: Record<string, ClaimRow>;
  /** The pool at which it waits; null: it waits at none. */
  at: string | null;
  /** The pools of which it has permits, and how many. */
  levels: Record<string, number>;
  /** Its rank at each pool that it has reached. */
  ranks: Record<string, number>;
  /** Whether its time is over, and no decision has seen that yet. */
  isOver: boolean;
}

export interface State extends Transacting {
  claims: Claim[];
  rows: Record<string, GuardRow>;
  /** How many of the changes were made. */
  changed: number;
  lapses: number;
}

export const SERVERS = [0, 1] as const;

export function isPool(name: string): boolean {
  return name.endsWith("*");
}

export function namesOf({ wants }: Claim): string[] {
  return Object.keys(wants);
}

export function isNew({ wants, rows }: Claim): boolean {
  return Object.keys(rows).length < Object.keys(wants).length;
}

/** Of the claim as a whole, which is what the lead's row says. */
export function isIn(claim: Claim, ...states: readonly ClaimRow["state"][]): boolean {
  const lead = claim.rows[namesOf(claim)[0] as string];
  return lead !== undefined && !isNew(claim) && states.includes(lead.state);
}

export function isLive(claim: Claim): boolean {
  return isIn(claim, "waiting", "entering", "held");
}

/** Of a pool: the sum of the names that are under it. */
export function permitsAt({ wants }: Claim, name: string): number {
  if (!isPool(name)) return wants[name] ?? 0;
  let sum = 0;
  for (const [lock, permits] of Object.entries(wants)) if (isUnder(lock, name)) sum += permits;
  return sum;
}

export function isUnder(lock: string, pool: string): boolean {
  return lock.startsWith(pool.slice(0, -1));
}

/** Its place in the queue of a lock or of a pool. */
export function rankOf({ rows, ranks }: Claim, name: string): number {
  return (isPool(name) ? ranks[name] : rows[name]?.ticket) ?? Number.POSITIVE_INFINITY;
}

/** Permits of a pool that the claim does not have yet: it takes the whole sum or nothing. */
export function missingAt(claim: Claim, pool: string): number {
  return permitsAt(claim, pool) - (claim.levels[pool] ?? 0);
}

/** The pools over its names in the one order that all claims have: narrow to wide, of equal width the lower id. */
export function poolsOver({ rows }: State, claim: Claim): string[] {
  const over = Object.keys(rows).filter((name) => isPool(name) && permitsAt(claim, name) > 0);
  return over.sort((a, b) => b.length - a.length);
}

/** Whether it came past before the pool was made, so that it does not go back for it. */
export function isPast(state: State, claim: Claim, pool: string): boolean {
  if (isIn(claim, "held")) return true;
  const order = poolsOver(state, claim);
  return claim.at !== null && order.indexOf(claim.at) > order.indexOf(pool);
}

/** Who waits here, in order. */
export function queueOf({ claims }: State, name: string): Claim[] {
  const waits = (claim: Claim) => (isPool(name) ? claim.at === name : claim.rows[name]?.state === "waiting");
  return claims.filter(waits).sort((a, b) => rankOf(a, name) - rankOf(b, name));
}

export function neverFits({ limit }: GuardRow, permits: number): boolean {
  return limit > 0 && permits > limit;
}

/**
 * Those who may go on from a pool: the first ones of the queue whose permits all fit into what is not given. One that never
 * fits is the last of them: it ends.
 */
export function mayGoOn(state: State, pool: string): Claim[] {
  const row = state.rows[pool] as GuardRow;
  const first: Claim[] = [];
  if (row.limit === 0) return first;
  let room = row.limit - row.given;
  for (const claim of queueOf(state, pool)) {
    const permits = missingAt(claim, pool);
    if (neverFits(row, permits)) return [...first, claim];
    room -= permits;
    if (room < 0) return first;
    first.push(claim);
  }
  return first;
}

/** Whether the claim is first in the queue of this lock, and fits there; or never fits there, and has to end. */
export function isWantedAt(state: State, claim: Claim, lock: string): "fits" | "ends" | null {
  if (queueOf(state, lock)[0] !== claim) return null;
  const row = state.rows[lock] as GuardRow;
  const permits = permitsAt(claim, lock);
  if (neverFits(row, permits)) return "ends";
  return row.given + permits <= row.limit ? "fits" : null;
}

export function newRow(limit: number): GuardRow {
  return { limit, given: 0, waiting: 0, next: 1, isDue: false, uncounted: [] };
}

export function firstState({ locks, pools, claims, cuts = 0, lapses = 0 }: World): State {
  const rows: Record<string, GuardRow> = {};
  for (const [name, limit] of Object.entries({ ...locks, ...pools })) rows[name] = newRow(limit);
  return {
    claims: claims.map(({ wants, atOnce = false }) => {
      return { wants, atOnce, rows: {}, at: null, levels: {}, ranks: {}, isOver: false };
    }),
    rows,
    changed: 0,
    lapses,
    cuts,
    repeats: [],
    remembered: SERVERS.map(() => null),
  };
}

/** Only the order of tickets and ranks matters, so they are counted anew: states that go on alike have the same name. */
export function nameOf(state: State): string {
  for (const [name, row] of Object.entries(state.rows)) {
    const ranked = state.claims.filter(
      (claim) => Number.isFinite(rankOf(claim, name)) && rankOf(claim, name) > 0,
    );
    ranked.sort((a, b) => rankOf(a, name) - rankOf(b, name));
    for (const [index, claim] of ranked.entries()) {
      const place = claim.rows[name];
      if (place) place.ticket = index + 1;
      else claim.ranks[name] = index + 1;
    }
    row.next = ranked.length + 1;
  }
  return JSON.stringify(state);
}
