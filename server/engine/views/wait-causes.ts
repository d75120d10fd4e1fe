// The causes why a claim waits, found in what was read of its locks, the most important first. Pure.

import { SHOWN_BY_REFUSAL_MAX } from "../../core/bounds.ts";
import { type Claim, isEntering, roomOf } from "../../core/claim.ts";
import { type EffectiveRate, fits, neverFits } from "../../core/limit.ts";
import { type Counters, isDraining, isExhausted, isInWantedStatus, statusOf } from "../../core/lock.ts";
import { levelAt, waitsAt } from "../../core/pools.ts";
import { exceedsBurst, rateWaitUs } from "../../core/rate.ts";
import type { ExplainedLock, Explanation, WaitCause } from "../history.ts";
import { estimate } from "./estimate.ts";
import { permitsOf, poolView } from "./pool-views.ts";

/** What was read of one lock. */
export interface LockBasis extends Omit<ExplainedLock, "causes"> {
  /** The oldest holders, and the first waiters. */
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
  readonly rate: EffectiveRate | null;
  readonly rowsHeld: Extract<WaitCause, { kind: "rows_held" }> | null;
  /** Ended claims of the lock, newest first. */
  readonly recent: readonly Claim[];
  /** See WaitCause. */
  readonly firstWaitsFor?: readonly string[] | undefined;
}

/** What was read of the lock that was asked about, and of whatever else the claim waits for. */
export interface Basis extends LockBasis {
  readonly nowUs: number;
  /** Nothing is granted before this time, because of a fail-over. */
  readonly grantsFromUs: number;
  /** The guard rows of the pools over the claim's locks, narrow to wide. */
  readonly pools: readonly Counters[];
  /** All locks of a claim for several, in the order of the request; null: it is for one. */
  readonly each: readonly LockBasis[] | null;
  readonly isOwn: boolean;
}

const ONE_PERMIT = { mode: "permit", permits: 1, terms: null } as const;

export function explain(basis: Basis): Explanation {
  const { nowUs, isOwn } = basis;
  const each = basis.each?.map((at) => explainedLock(at, [...causesAt(at, nowUs)])) ?? null;
  const ofLock = each ? [] : causesAt(basis, nowUs);
  const causes = [...failedOver(basis), ...ofLock, ...poolsInTheWay(basis)];
  return { ...explainedLock(basis, causes), nowUs, each, isOwn, estimate: estimateOf(basis, causes, each) };
}

function explainedLock(at: LockBasis, causes: readonly WaitCause[]): ExplainedLock {
  const { lock, limit, limitSet, claim, place } = at;
  return { lock, limit, limitSet, claim, place, causes };
}

function* failedOver({ grantsFromUs, nowUs }: Basis): Generator<WaitCause, void, void> {
  if (grantsFromUs > nowUs) yield { kind: "failed_over", untilUs: grantsFromUs };
}

/** What is in the way at the lock itself. */
export function* causesAt(at: LockBasis, nowUs: number): Generator<WaitCause, void, void> {
  const { lock, limit: inForce, limitSet, claim, place, rowsHeld } = at;
  if (rowsHeld) yield rowsHeld;
  // It has its own lock: only the pool at which it waits is in its way.
  if (claim && isEntering(claim)) return;
  const { limit } = inForce;
  const asked = claim ?? ONE_PERMIT;
  const waitsForDrain = isDraining(lock, limit) && !fits(lock, limit, asked);
  if (limit === 0 || waitsForDrain || neverFits(limit, asked))
    yield { kind: "limit", limit: inForce, set: limitSet };
  const notBeforeUs = lock.record?.notBeforeUs ?? 0;
  if (notBeforeUs > nowUs) yield { kind: "not_before", untilUs: notBeforeUs };
  if (isExhausted(lock)) yield { kind: "exhausted" };
  if (!isInWantedStatus(lock, asked.terms)) yield { kind: "status", status: statusOf(lock) };
  // A limit of 0 is a cause of its own: who would be in the way of any limit is named, too.
  const isFull = lock.holders > 0 && !fits(lock, Math.max(1, limit), asked);
  if (isFull && lock.holders > lock.entering) yield heldBy(at);
  yield* rateInTheWay(at, asked.permits, nowUs);
  // Those that wait at a pool have the lock: where it has no room beside them, they are before this one.
  const ahead = place.ahead + (isFull ? lock.entering : 0);
  if (ahead === 0) return;
  const permitsAhead = place.permitsAhead + (isFull ? lock.enteringPermits : 0);
  const others = waitersAhead(at).filter((other) => isFull || !isEntering(other));
  // Where shares are fair, most of those that came before it may be granted after it.
  const before = lock.sharedBy ? others.filter(({ turn }) => turn !== null) : others;
  const first = before.slice(0, SHOWN_BY_REFUSAL_MAX);
  const { firstWaitsFor } = at;
  yield { kind: "queued", ahead, permitsAhead, first, ...(firstWaitsFor && { firstWaitsFor }) };
}

/** The pool at which it waits, and the pools without room now that it still has to pass. */
function* poolsInTheWay({ pools, place, nowUs, claim }: Basis): Generator<WaitCause, void, void> {
  const at = claim && waitsAt(claim);
  for (const row of pools) {
    const isHere = row.id === at;
    if (claim && levelAt(claim, row.id)?.state === "has") continue;
    const { ahead, permitsAhead } = isHere ? place : { ahead: row.waiting, permitsAhead: row.waitingPermits };
    const pool = poolView(row, nowUs);
    const permits = permitsOf(claim ?? ONE_PERMIT, row);
    const waitUs = row.rate && rateWaitUs(row.rate, row.rateUntilUs, permitsAhead + permits, nowUs);
    const room = roomOf({ permits, ttlUs: claim?.ttlUs ?? null });
    const hasRoom = row.heldPermits + permitsAhead + room <= pool.limit.limit;
    if (!isHere && hasRoom && pool.limit.limit > 0 && !waitUs) continue;
    const rateUntilUs = waitUs ? nowUs + waitUs : null;
    yield { kind: "pool", pool, isHere, ahead, permitsAhead, rateUntilUs };
  }
}

function* rateInTheWay(
  { rate, lock, place }: LockBasis,
  permits: number,
  nowUs: number,
): Generator<WaitCause, void, void> {
  if (!rate) return;
  if (exceedsBurst(rate, permits)) yield { kind: "rate", rate, untilUs: null };
  else {
    const waitUs = rateWaitUs(rate, lock.rateUntilUs, place.permitsAhead + permits, nowUs);
    if (waitUs > 0) yield { kind: "rate", rate, untilUs: nowUs + waitUs };
  }
}

function heldBy({ lock, holders }: LockBasis): WaitCause {
  const ends = holders.flatMap(({ deadlineUs }) => (deadlineUs === null ? [] : [deadlineUs]));
  return {
    kind: "held",
    holders: holders.slice(0, SHOWN_BY_REFUSAL_MAX),
    holderCount: lock.holders - lock.entering,
    firstEndsAtUs: ends.length === 0 ? null : Math.min(...ends),
  };
}

function waitersAhead({ waiters, claim }: LockBasis): readonly Claim[] {
  return claim ? waiters.filter(({ ticketNumber }) => ticketNumber < claim.ticketNumber) : waiters;
}

/** Of a claim for several locks only where one of them alone is in its way. */
function estimateOf(
  basis: Basis,
  causes: readonly WaitCause[],
  each: readonly ExplainedLock[] | null,
): Explanation["estimate"] {
  if (!basis.each || !each) return estimateAt(basis, causes, basis.nowUs);
  const [one, ...others] = [...each.entries()].filter(([, explained]) => explained.causes.length > 0);
  if (!one || others.length > 0 || causes.length > 0) return null;
  const [at, explained] = one;
  return estimateAt(basis.each[at] as LockBasis, explained.causes, basis.nowUs);
}

/** Recent leases say how long those last that hold the lock or wait for it, and nothing about other causes. */
function estimateAt(at: LockBasis, causes: readonly WaitCause[], nowUs: number): Explanation["estimate"] {
  const { limit, claim, place } = at;
  const asked = claim ?? ONE_PERMIT;
  const isOnlyOthers = causes.every(isOfOthersHere);
  if (causes.length === 0 || !isOnlyOthers || limit.limit === 0 || neverFits(limit.limit, asked)) return null;
  const { ahead } = place;
  return estimate({ ...at, nowUs, limit: limit.limit, waiters: waitersAhead(at), ahead, asked });
}

function isOfOthersHere(cause: WaitCause): boolean {
  if (cause.kind === "queued") return cause.firstWaitsFor === undefined;
  return cause.kind === "held" || cause.kind === "limit";
}
