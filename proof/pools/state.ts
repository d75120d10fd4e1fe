// The rows of a small world with pools, and what follows from them. A state is plain data: its JSON, with ranks counted anew,
// is its name in the exploration. A lock of the callers' own and a pool have the same kind of guard row here, because a pool is one
// more level of the same queue.
import type { Transacting } from "../exploration/transactions.ts";

/** What the world of one exploration has. */
export interface World {
  readonly name: string;
  /** Of callers' locks: the name, and its limit. */
  readonly locks: Readonly<Record<string, number>>;
  /** Of pools that exist from the beginning: the pattern, and its limit. */
  readonly pools: Readonly<Record<string, number>>;
  /** Pools with a rate: how many grants it allows at once. */
  readonly rates?: Readonly<Record<string, number>>;
  readonly claims: readonly {
    readonly lock: string;
    readonly permits?: number;
    /** Takes all levels at once or nothing: a try without waiting, or a capture. */
    readonly atOnce?: boolean;
  }[];
  /** What operators do, in this order, each at any time. */
  readonly changes?: readonly Change[];
  /** How many COMMITs have no answer. */
  readonly cuts?: number;
  /** How many claims run out of their time. */
  readonly lapses?: number;
  /** Whether servers decide from memory, and assert revisions as they write. */
  readonly optimistic?: boolean;
}

export type Change =
  | readonly ["set", name: string, limit: number]
  | readonly ["make", pool: string, limit: number]
  | readonly ["remove", pool: string];

/** Of a lock or of a pool. */
export interface GuardRow {
  limit: number;
  /** Permits given to claims that are there. */
  given: number;
  /** Claims that wait here. */
  waiting: number;
  /** The rank of the next claim that arrives. */
  nextRank: number;
  /** Whether somebody who waits here may go on, so that a server has to look at that claim's lock. */
  isDue: boolean;
  /**
   * A pool whose holders are being counted already limits those who arrive. Nobody waits at one that is leaving, and nobody
   * takes a permit of it.
   */
  phase: "counting" | "whole" | "leaving";
  /** How often the counting of holders was begun. */
  countings: number;
  /** Grants that the rate allows now; null: there is no rate. */
  allowed: number | null;
}

export interface Claim {
  readonly lock: string;
  readonly permits: number;
  readonly atOnce: boolean;
  /** Entering: it has a permit of its own lock, and waits at a pool. */
  state: "new" | "waiting" | "entering" | "held" | "ended";
  /** The levels of which it has permits. */
  has: string[];
  /** The level at which it waits; null: it waits nowhere. */
  at: string | null;
  /** Its rank at each level that it has reached. */
  ranks: Record<string, number>;
  /** Whether its time is over, and no decision has seen that yet. */
  isOver: boolean;
}

export interface State extends Transacting {
  claims: Claim[];
  rows: Record<string, GuardRow>;
  /** The pools that each server knows of: it may have read the rules before a change. */
  knows: string[][];
  /** How many of the changes were made. */
  changed: number;
  /** The counting of holders under way, and the locks that it has seen; null: none is. */
  walk: { pool: string; counting: number; seen: string[] } | null;
  lapses: number;
}

export const SERVERS = [0, 1] as const;

export function isPool(name: string): boolean {
  return name.endsWith("*");
}

/** The more characters a pattern has, the narrower is the pool. A lock is narrower than all of its pools. */
export function isWider(name: string, than: string): boolean {
  return isPool(name) && (!isPool(than) || name.length < than.length);
}

export function isUnder(lock: string, pool: string): boolean {
  return lock.startsWith(pool.slice(0, -1));
}

export function isLive({ state }: Claim): boolean {
  return state !== "new" && state !== "ended";
}

export function claimsOf({ claims }: State, lock: string): Claim[] {
  const live = claims.filter((claim) => claim.lock === lock && isLive(claim));
  return live.sort((a, b) => rankOf(a, lock) - rankOf(b, lock));
}

export function rankOf({ ranks }: Claim, name: string): number {
  return ranks[name] ?? Number.POSITIVE_INFINITY;
}

/** Who waits here, in order. */
export function queueOf({ claims }: State, name: string): Claim[] {
  return claims.filter(({ at }) => at === name).sort((a, b) => rankOf(a, name) - rankOf(b, name));
}

export function neverFits({ limit, phase }: GuardRow, { permits }: Claim): boolean {
  return phase !== "leaving" && limit > 0 && permits > limit;
}

/** Whether more is given than the limit allows. */
export function isOverLimit({ limit, given, phase }: GuardRow): boolean {
  return phase !== "leaving" && given > limit;
}

export function isRateReady({ allowed, phase }: GuardRow): boolean {
  return phase === "leaving" || allowed !== 0;
}

/**
 * Those who may go on from here by the limit: the first ones of the queue whose permits all fit into what is not given. So
 * nobody takes what somebody before needs, and they may go on in any order. One that never fits is the last of them: it ends.
 */
export function mayGoOn(state: State, name: string): Claim[] {
  const row = state.rows[name];
  const queue = queueOf(state, name);
  if (!row || row.phase === "leaving") return queue;
  const first: Claim[] = [];
  if (row.limit === 0) return first;
  let room = row.limit - row.given;
  for (const claim of queue) {
    room -= claim.permits;
    if (neverFits(row, claim)) return [...first, claim];
    if (room < 0) return first;
    first.push(claim);
  }
  return first;
}

/** The levels of a claim that a server knows of or that the claim lists, narrow to wide. */
export function levelsOf(state: State, { lock, has, at }: Claim, known: readonly string[]): string[] {
  const listed = at === null ? has : [...has, at];
  const all = new Set([lock, ...known.filter((pool) => isUnder(lock, pool)), ...listed]);
  return [...all].filter((name) => state.rows[name]).sort((a, b) => (isWider(a, b) ? 1 : -1));
}

export function firstState(world: World): State {
  const whole = { given: 0, waiting: 0, nextRank: 1, isDue: false, phase: "whole", countings: 0 } as const;
  const rows: Record<string, GuardRow> = {};
  for (const [name, limit] of Object.entries({ ...world.locks, ...world.pools }))
    rows[name] = { limit, ...whole, allowed: world.rates?.[name] ?? null };
  const knows = SERVERS.map(() => Object.keys(world.pools));
  const claims = world.claims.map(({ lock, permits = 1, atOnce = false }): Claim => {
    return { lock, permits, atOnce, state: "new", has: [], at: null, ranks: {}, isOver: false };
  });
  const { cuts = 0, lapses = 0 } = world;
  return {
    claims,
    rows,
    knows,
    changed: 0,
    walk: null,
    repeats: [],
    cuts,
    lapses,
    remembered: SERVERS.map(() => null),
  };
}

/** Only the order of ranks matters, so they are counted anew: states that go on alike have the same name. */
export function nameOf(state: State): string {
  for (const [name, row] of Object.entries(state.rows)) {
    const ranked = state.claims.filter(({ ranks }) => name in ranks);
    ranked.sort((a, b) => rankOf(a, name) - rankOf(b, name));
    for (const [index, claim] of ranked.entries()) claim.ranks[name] = index + 1;
    row.nextRank = ranked.length + 1;
  }
  return JSON.stringify(state);
}
