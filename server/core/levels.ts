// How the claims of a lock go from the queue to the lease: grants to the first waiters while they fit. Under pools, a claim
// that has its own lock takes one pool after the other, narrow to wide, and waits where there is no room: it enters. As it takes
// a level, and as it becomes held, each level that it has must be within its limit, and ready. At the first one that is not it
// comes back: it gives back that level and all wider ones, and waits there, at its old rank.

import { type Claim, type EndReason, isEntering, isLead, isSpend, type Level } from "./claim.ts";
import type { Acquire } from "./command.ts";
import { type Draft, touch } from "./draft.ts";
import { fits, neverFits } from "./limit.ts";
import { isDraining, isExhausted, isInWantedStatus, statusOf } from "./lock.ts";
import { giveBack, leaveQueue, levelAt, type Pool, poolsOver, setLevel, waitsAt } from "./pools.ts";
import { exceedsBurst, isAllowed } from "./rate.ts";
import { leave, type Part, wholeOf, wholeOrThrow } from "./sets.ts";
import { nextOf } from "./shares.ts";
import { comeBackToQueue, end, grant, mayGrant, occupy } from "./transitions.ts";

/** Who is granted in the same call in which it asks; null: a waiter. */
export type AtOnce = Pick<Acquire, "afterWait" | "caller"> | null;

/** The pools over the lock, narrow to wide, by the rules of this decision. */
export function poolIdsOver(draft: Draft): readonly bigint[] {
  draft.over ??= poolsOver(draft.lock.name, draft.limitRules);
  return draft.over;
}

const NO_POOLS: readonly Pool[] = [];

/** These pools, as far as they exist. Throws RowsNeeded if they were not read. */
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
    for (const claim of draft.claims) if (isEntering(claim)) goOnIfWhole(draft, claim);
    if (before !== draft.moves) grantQueue(draft);
  }
}

/** A claim for several locks goes on where its lead is, if all of its locks are here. */
function goOnIfWhole(draft: Draft, claim: Claim): void {
  if (!isLead(claim)) return;
  const parts = wholeOf(draft, claim);
  if (parts) goOn(parts, null);
}

function grantQueue(draft: Draft): void {
  const { lock } = draft;
  while (lock.waiting > 0) {
    const head = nextOf(draft);
    if (!head) {
      draft.unfinished = !draft.queueComplete && draft.limit.limit > 0;
      return;
    }
    const fate = fateOf(draft, head);
    if (fate === "waits") return;
    if (head.members !== null && !isWholeAndReady(draft, head, fate)) return;
    if (fate !== "ready") {
      end(draft, head, fate, fate === "status_mismatch" ? { note: statusOf(lock) } : {});
      continue;
    }
    occupyAll(draft, head);
    enter(draft, head, null);
    // It has come back at once, and waits for what a later decision finds.
    if (head.state === "waiting" && draft.queue.includes(head)) return;
  }
}

function occupyAll(draft: Draft, head: Claim): void {
  if (head.members === null) {
    occupy(draft, head);
    return;
  }
  for (const part of wholeOrThrow(draft, head)) occupy(part.draft, part.claim);
  draft.batch.setsMoved = true;
}

/** What becomes of the first waiter, as far as its lock says. */
function fateOf(draft: Draft, head: Claim): "ready" | "waits" | EndReason {
  const { lock, limit, rate, clock } = draft;
  if (neverFits(limit.limit, head) || exceedsBurst(rate, head.permits)) return "never_fits";
  if (!fits(lock, limit.limit, head)) return "waits";
  if (isExhausted(lock)) return "exhausted";
  if (!mayGrant(draft)) return "waits";
  if (!isInWantedStatus(lock, head.terms)) return "status_mismatch";
  return isAllowed(rate, lock.rateUntilUs, head.permits, clock) ? "ready" : "waits";
}

/** Whether a claim for several locks, the first waiter here, ends or is first and fits at all of them. */
function isWholeAndReady(draft: Draft, head: Claim, fate: ReturnType<typeof fateOf>): boolean {
  const parts = wholeOf(draft, head);
  if (!parts) {
    if (head !== draft.known || hasMoved(draft)) leave(draft, head);
    return false;
  }
  return fate !== "ready" || parts.every(isReady);
}

/** Whether something has ended, was granted or went from level to level in this decision. */
function hasMoved({ events, moves }: Draft): boolean {
  return moves > 0 || events.some(({ kind }) => kind === "ended" || kind === "granted");
}

function isReady({ draft, claim }: Part): boolean {
  return nextOf(draft) === claim && fateOf(draft, claim) === "ready";
}

/** The claim has its own locks. It is granted now, if there are no pools over them, or if it passes these. */
export function enter(draft: Draft, claim: Claim, atOnce: AtOnce): void {
  const isFree = claim.members === null && poolIdsOver(draft).length === 0 && claim.levels === null;
  if (isFree) grant(draft, claim, atOnce);
  else goOn(wholeOrThrow(draft, claim), atOnce);
}

function goOn(parts: readonly Part[], atOnce: AtOnce): void {
  const [{ draft, claim: lead }, ...others] = parts as [Part, ...Part[]];
  for (const part of parts) part.draft.passing = part.claim;
  goFromLevelToLevel(draft, lead, parts, atOnce);
  for (const part of parts) part.draft.passing = null;
  // Its other rows show where it waits, too.
  for (const part of others) {
    if (part.claim.state !== "waiting" || part.claim.levels === lead.levels) continue;
    part.claim.levels = lead.levels;
    touch(part.draft, part.claim);
  }
}

function goFromLevelToLevel(draft: Draft, claim: Claim, parts: readonly Part[], atOnce: AtOnce): void {
  if (parts.some((part) => mustLeaveOwn(part))) {
    comeBackToQueue(draft, claim);
    return;
  }
  const levels = levelsOf(parts);
  for (const pool of levels) if (!passes(draft, claim, pool)) return;
  for (const part of parts) if (mustWaitForOwn(part)) return;
  const slow = levels.find((pool) => has(claim, pool) && !pool.isRateReady(pool.takenBy(claim)));
  if (slow) comeBack(draft, claim, slow);
  else grant(draft, claim, atOnce);
}

/** A spend needs no room of its lock, so it would be granted its place again at once. */
function mustLeaveOwn({ draft: { lock, limit }, claim }: Part): boolean {
  return isSpend(claim) ? limit.limit === 0 : isDraining(lock, limit.limit);
}

/** What the lock's own record and rate ask for must still be true as the claim becomes held. */
function mustWaitForOwn({ draft, claim }: Part): boolean {
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

/** The pools over the locks and those that the claim lists, in the one order in which all claims take pools: narrow to wide. */
function levelsOf(parts: readonly Part[]): Pool[] {
  const [{ draft, claim }] = parts as [Part];
  const listed = claim.levels?.map(({ poolId }) => poolId) ?? [];
  const ids = new Set([...parts.flatMap((part) => poolIdsOver(part.draft)), ...listed]);
  return draft.pools.of([...ids]).sort(inOrderOfPools);
}

function inOrderOfPools(a: Pool, b: Pool): number {
  return b.width - a.width || (a.id < b.id ? -1 : 1);
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
  if (pool.neverFits(pool.takenBy(claim))) {
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
function isPast({ pools }: Draft, claim: Claim, pool: Pool): boolean {
  if (claim.state === "held") return true;
  const at = waitsAt(claim);
  const waitedAt = at === null ? null : pools.get(at);
  return waitedAt !== null && waitedAt !== pool && inOrderOfPools(pool, waitedAt) < 0;
}

function waitAt(draft: Draft, claim: Claim, pool: Pool): void {
  const known = levelAt(claim, pool.id);
  if (known?.state === "waits") return;
  leaveQueue(draft.pools, claim);
  const rank = known?.rank ?? pool.lock.nextTicket++;
  setLevel(claim, levelOf(claim, pool, rank, "waits"));
  pool.add(claim, rank);
  touch(draft, claim);
}

function take(draft: Draft, claim: Claim, pool: Pool): void {
  leaveQueue(draft.pools, claim);
  const { rank } = levelAt(claim, pool.id) as { rank: bigint };
  setLevel(claim, levelOf(claim, pool, rank, "has"));
  pool.give(claim, 1);
  touch(draft, claim);
  draft.moves += 1;
}

function levelOf(claim: Claim, pool: Pool, rank: bigint, state: Level["state"]): Level {
  const { permits } = pool.takenBy(claim);
  return { poolId: pool.id, rank, state, ...(claim.members !== null && { permits }) };
}

function comeBack(draft: Draft, claim: Claim, pool: Pool): void {
  for (const level of claim.levels ?? []) {
    const other = draft.pools.get(level.poolId);
    if (other === null || other === pool || inOrderOfPools(pool, other) < 0)
      giveBack(draft.pools, claim, level);
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
    for (const known of draft.claims) {
      const isLive = known.state === "held" || isEntering(known);
      if (!isLive || isSpend(known)) continue;
      const parts = wholeOf(draft, known);
      if (parts) countAt(pool, parts);
    }
  }
}

function countAt(pool: Pool, parts: readonly Part[]): void {
  const [{ draft, claim }] = parts as [Part];
  if (levelAt(claim, pool.id) || !isPast(draft, claim, pool)) return;
  setLevel(claim, levelOf(claim, pool, pool.lock.nextTicket++, "has"));
  pool.give(claim, 1);
  touch(draft, claim);
}
