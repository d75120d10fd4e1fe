// How the claims of a lock go from the queue to the lease: grants to the first waiters while they fit. Under pools, a claim
// that has its own lock takes one pool after the other, narrow to wide, and waits where there is no room: it enters. As it takes
// a level, and as it becomes held, each level that it has must be within its limit, and ready. At the first one that is not it
// comes back: it gives back that level and all wider ones, and waits there, at its old rank.

import { type Claim, isEntering, isSpend } from "./claim.ts";
import type { Acquire } from "./command.ts";
import { fits, neverFits } from "./limit.ts";
import { isDraining, isExhausted, isInWantedStatus, statusOf } from "./lock.ts";
import { giveBack, leaveQueue, levelAt, type Pool, poolsOver, setLevel, waitsAt } from "./pools.ts";
import { exceedsBurst, isAllowed } from "./rate.ts";
import { comeBackToQueue, type Draft, end, grant, mayGrant, occupy, touch } from "./transitions.ts";

/** Who is granted in the same call in which it asks; null: a waiter. */
export type AtOnce = Pick<Acquire, "afterWait" | "caller"> | null;

/** The pools over the lock, narrow to wide, by the rules of this decision. */
export function poolIdsOver(draft: Draft): readonly bigint[] {
  draft.over ??= poolsOver(draft.lock.name, draft.limitRules);
  return draft.over;
}

const NO_POOLS: readonly Pool[] = [];

/** These pools, as far as they exist. Throws PoolsNeeded if they were not read. */
export function poolsOverLock(draft: Draft): readonly Pool[] {
  const ids = poolIdsOver(draft);
  return ids.length === 0 ? NO_POOLS : draft.pools.of(ids);
}

/** Grants to the first waiters while they fit, and lets those go on that enter. */
export function grantWaiters(draft: Draft): void {
  grantQueue(draft);
  // What one of them gives back lets others go on, those in the queue, too.
  let before = -1;
  for (let round = 0; round <= draft.claims.length && before !== draft.moves; round++) {
    before = draft.moves;
    for (const claim of draft.claims) if (isEntering(claim)) goOn(draft, claim, null);
    if (before !== draft.moves) grantQueue(draft);
  }
}

function grantQueue(draft: Draft): void {
  const { lock, queue } = draft;
  while (lock.waiting > 0) {
    const head = queue[0];
    if (!head) {
      draft.unfinished = !draft.queueComplete && draft.limit.limit > 0;
      return;
    }
    if (neverFits(draft.limit.limit, head) || exceedsBurst(draft.rate, head.permits)) {
      end(draft, head, "never_fits");
      continue;
    }
    if (!fits(lock, draft.limit.limit, head)) return;
    if (isExhausted(lock)) {
      end(draft, head, "exhausted");
      continue;
    }
    if (!mayGrant(draft)) return;
    if (!isInWantedStatus(lock, head.terms)) {
      end(draft, head, "status_mismatch", { note: statusOf(lock) });
      continue;
    }
    if (!isAllowed(draft.rate, lock.rateUntilUs, head.permits, draft.clock)) return;
    occupy(draft, head);
    enter(draft, head, null);
    // It has come back at once, and waits for what a later decision finds.
    if (queue[0] === head) return;
  }
}

/** The claim has its own lock. It is granted now, if there are no pools over it, or if it passes them. */
export function enter(draft: Draft, claim: Claim, atOnce: AtOnce): void {
  if (poolIdsOver(draft).length === 0 && claim.levels === null) grant(draft, claim, atOnce);
  else goOn(draft, claim, atOnce);
}

function goOn(draft: Draft, claim: Claim, atOnce: AtOnce): void {
  draft.passing = claim;
  goFromLevelToLevel(draft, claim, atOnce);
  draft.passing = null;
}

function goFromLevelToLevel(draft: Draft, claim: Claim, atOnce: AtOnce): void {
  // A spend needs no room of its lock, so it would be granted its place again at once.
  const { limit } = draft.limit;
  if (isSpend(claim) ? limit === 0 : isDraining(draft.lock, limit)) {
    comeBackToQueue(draft, claim);
    return;
  }
  const levels = levelsOf(draft, claim);
  for (const pool of levels) if (!passes(draft, claim, pool)) return;
  if (mustWaitForOwn(draft, claim)) return;
  const slow = levels.find((pool) => has(claim, pool) && !pool.isRateReady(claim));
  if (slow) comeBack(draft, claim, slow);
  else grant(draft, claim, atOnce);
}

/** What the lock's own record and rate ask for must still be true as the claim becomes held. */
function mustWaitForOwn(draft: Draft, claim: Claim): boolean {
  const { lock, rate, clock } = draft;
  if (isExhausted(lock)) {
    end(draft, claim, "exhausted");
    return true;
  }
  if (mayGrant(draft) && !isInWantedStatus(lock, claim.terms)) {
    end(draft, claim, "status_mismatch", { note: statusOf(lock) });
    return true;
  }
  if (mayGrant(draft) && isAllowed(rate, lock.rateUntilUs, claim.permits, clock)) return false;
  comeBackToQueue(draft, claim);
  return true;
}

/** The pools over the lock and those that the claim lists, narrow to wide. */
function levelsOf(draft: Draft, { levels }: Claim): Pool[] {
  const listed = levels?.map(({ poolId }) => poolId) ?? [];
  const ids = new Set([...poolIdsOver(draft), ...listed]);
  return draft.pools.of([...ids]).sort((a, b) => b.width - a.width);
}

/** Whether the claim has the level, or need not have it. If not, it waits there now, or has ended. */
function passes(draft: Draft, claim: Claim, pool: Pool): boolean {
  if (has(claim, pool)) {
    if (!pool.isOverLimit) return true;
    comeBack(draft, claim, pool);
    return false;
  }
  // It came past before the pool was made. Whoever counts the holders counts it, too.
  if (pool.isLeaving || isPast(draft, claim, pool)) return true;
  if (pool.neverFits(claim)) {
    end(draft, claim, "never_fits");
    return false;
  }
  waitAt(draft, claim, pool);
  if (!pool.letsGoOn(claim)) return false;
  take(draft, claim, pool);
  return true;
}

function has(claim: Claim, { id }: Pool): boolean {
  return levelAt(claim, id)?.state === "has";
}

/** Whether the claim is held, or waits at a wider pool. */
function isPast({ pools }: Draft, claim: Claim, { width }: Pool): boolean {
  if (claim.state === "held") return true;
  const at = waitsAt(claim);
  return at !== null && (pools.get(at)?.width ?? width) < width;
}

function waitAt(draft: Draft, claim: Claim, pool: Pool): void {
  const known = levelAt(claim, pool.id);
  if (known?.state === "waits") return;
  leaveQueue(draft.pools, claim);
  const rank = known?.rank ?? pool.lock.nextTicket++;
  setLevel(claim, { poolId: pool.id, rank, state: "waits" });
  pool.add(claim, rank);
  touch(draft, claim);
}

function take(draft: Draft, claim: Claim, pool: Pool): void {
  leaveQueue(draft.pools, claim);
  const { rank } = levelAt(claim, pool.id) as { rank: bigint };
  setLevel(claim, { poolId: pool.id, rank, state: "has" });
  pool.give(claim, 1);
  touch(draft, claim);
  draft.moves += 1;
}

function comeBack(draft: Draft, claim: Claim, pool: Pool): void {
  for (const level of claim.levels ?? []) {
    const width = draft.pools.get(level.poolId)?.width ?? 0;
    if (width <= pool.width) giveBack(draft.pools, claim, level);
  }
  waitAt(draft, claim, pool);
  draft.moves += 1;
}

/**
 * Counts the loaded claims that are past a pool which was made meanwhile, over its limit, too: see `Lock.counting`.
 */
export function countPast(draft: Draft): void {
  for (const pool of poolsOverLock(draft)) {
    if (pool.lock.counting === null || pool.isLeaving) continue;
    for (const claim of draft.claims) {
      const isLive = claim.state === "held" || isEntering(claim);
      if (!isLive || isSpend(claim) || levelAt(claim, pool.id) || !isPast(draft, claim, pool)) continue;
      setLevel(claim, { poolId: pool.id, rank: pool.lock.nextTicket++, state: "has" });
      pool.give(claim, 1);
      touch(draft, claim);
    }
  }
}
