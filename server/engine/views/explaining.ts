// Why a claim waits, or why a request would have to: reads one lock with its first claims and a few rows of the history, and
// finds the causes in these rows, the most important first.

import { setTimeout as sleep } from "node:timers/promises";
import { SHOWN_BY_GET_MAX, SHOWN_BY_REFUSAL_MAX } from "../../core/bounds.ts";
import { type Claim, isEntering, roomOf, sameSecret } from "../../core/claim.ts";
import type { Caller, Place } from "../../core/command.ts";
import {
  type EffectiveLimit,
  type EffectiveRate,
  effectiveLimit,
  effectiveRate,
  fits,
  neverFits,
} from "../../core/limit.ts";
import {
  type Counters,
  isDraining,
  isExhausted,
  isInWantedStatus,
  type Lock,
  statusOf,
} from "../../core/lock.ts";
import { limitOf } from "../../core/noted-change.ts";
import { levelAt, waitsAt } from "../../core/pools.ts";
import { exceedsBurst, rateWaitUs } from "../../core/rate.ts";
import type { KeptChange, LockView, Store } from "../../storage/store.ts";
import type { Waiter } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import type { Explanation, WaitCause, WaitTarget } from "../history.ts";
import { estimate, heldTimesUs } from "./estimate.ts";
import { poolRowsOver, poolView } from "./pool-views.ts";
import { inOwnTick, type ListingTurns, viewOrUnused } from "./views.ts";

export interface ExplainingOptions {
  readonly store: Pick<
    Store,
    "view" | "views" | "claims" | "limitRules" | "changes" | "endedClaimsOf" | "rowHolder"
  >;
  readonly turns: ListingTurns;
  /** The latest time that the database's clock may show. */
  readonly nowUs: () => number;
  readonly subscribers: {
    /** The place of a waiter; null: it does not wait. */
    readonly places: { of(waiter: Waiter, caller: Caller | undefined): Promise<Place | null> };
  };
  /** Nothing is granted before this time, because of a fail-over. */
  readonly checked: { readonly grantsFromUs: number };
  /** How long commands of this server have waited for the lock's rows. */
  readonly lanes: { heldUpForMs(lockId: bigint): number };
}

type RowsHeld = Extract<WaitCause, { kind: "rows_held" }>;

/** null: the claim does not wait, or there is none with that id. Throws Faults. */
export async function explainWait(
  target: WaitTarget,
  caller: Caller | undefined,
  options: ExplainingOptions,
): Promise<Explanation | null> {
  const basis = await options.turns.run(() => read(target, caller, options), caller);
  return basis && inOwnTick(async () => explain(basis));
}

async function read(
  target: WaitTarget,
  caller: Caller | undefined,
  { store, nowUs, checked, subscribers, lanes }: ExplainingOptions,
): Promise<Basis | null> {
  const view = await inOwnTick(() => viewOf(target, store));
  if (!view) return null;
  const { lock, holders, waiters } = view;
  const claim = target.kind === "name" ? null : await waiterOf(target, lock.id, store);
  if (target.kind !== "name" && !claim) return null;
  const place = claim
    ? await subscribers.places.of(claim, caller)
    : { ahead: lock.waiting, permitsAhead: lock.waitingPermits };
  if (!place) return null;
  const rules = await inOwnTick(() => store.limitRules());
  const limit = effectiveLimit(lock, rules);
  return {
    ...{ lock, holders, waiters, claim, limit, rate: effectiveRate(lock, rules), place },
    pools: await inOwnTick(() => poolRowsOver(lock.name, rules, store)),
    limitSet: await limitSetOf(lock, limit, store),
    rowsHeld: await rowsHeldOf(lock, lanes.heldUpForMs(lock.id), store),
    recent: await recentOf(lock.id, store),
    grantsFromUs: checked.grantsFromUs,
    nowUs: nowUs(),
  };
}

type Source = ExplainingOptions["store"];

async function viewOf(target: WaitTarget, store: Source): Promise<LockView | undefined> {
  if (target.kind !== "ticket") return await viewOrUnused(store, target.name, SHOWN_BY_GET_MAX);
  return (await store.views([target.ref.lockId], SHOWN_BY_GET_MAX))[0];
}

async function waiterOf(
  target: Exclude<WaitTarget, { kind: "name" }>,
  lockId: bigint,
  store: Source,
): Promise<Claim | null> {
  const { ticketNumber } = target.kind === "ticket" ? target.ref : target;
  const { claims } = await inOwnTick(() => store.claims([{ lockId, ticketNumber }]));
  const [claim] = claims;
  if (claim?.state !== "waiting") return null;
  return target.kind === "claim" || sameSecret(claim.secret, target.ref.secret) ? claim : null;
}

/** How the limit in force was set: a change of the rate beside it says nothing of that. */
async function limitSetOf(
  { name }: Lock,
  { limit, source, pattern }: EffectiveLimit,
  store: Source,
): Promise<KeptChange | null> {
  if (source === "default") return null;
  const target = source === "name" ? name : pattern;
  const changes = await inOwnTick(() => store.changes([target], null, bounds.LIMIT_CHANGES_READ));
  const isOfPattern = source === "pattern";
  const last = changes.find(
    ({ kind, isPattern, from, to }) =>
      kind === "limit" &&
      isPattern === isOfPattern &&
      (from === to || limitOf(from).limit !== limitOf(to).limit),
  );
  return last && limitOf(last.to).limit === limit ? last : null;
}

/** A transaction that holds the rows now and for longer than decisions do. `forMs`: how long commands have waited. */
async function rowsHeldOf({ id, revision }: Lock, forMs: number, store: Source): Promise<RowsHeld | null> {
  const first = await inOwnTick(() => store.rowHolder(id));
  if (forMs >= bounds.ROWS_HELD_MS_MIN) return { kind: "rows_held", holder: first, forUs: forMs * 1_000 };
  if (!first) return null;
  // It may be a decision of another server, which is over soon and writes the lock.
  await sleep(bounds.ROWS_LOOKED_AGAIN_MS);
  const again = await inOwnTick(() => store.rowHolder(id));
  if (again?.connectionId !== first.connectionId) return null;
  const [now] = await inOwnTick(() => store.views([id], 0));
  return now?.lock.revision === revision ? { kind: "rows_held", holder: again, forUs: null } : null;
}

/** Recent ended claims, as many as make an estimate. */
async function recentOf(lockId: bigint, store: Source): Promise<readonly Claim[]> {
  const atOnce = bounds.ESTIMATED_FROM_MAX;
  const found: Claim[] = [];
  while (found.length < bounds.RECENT_CLAIMS_READ && heldTimesUs(found).length < atOnce) {
    const below = found.at(-1)?.ticketNumber ?? null;
    const step = await inOwnTick(() => store.endedClaimsOf(lockId, below, atOnce));
    found.push(...step);
    if (step.length < atOnce) break;
  }
  return found;
}

export interface Basis extends Omit<Explanation, "causes" | "estimate"> {
  /** The oldest holders, and the first waiters. */
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
  /** Nothing is granted before this time, because of a fail-over. */
  readonly grantsFromUs: number;
  readonly rate: EffectiveRate | null;
  /** The guard rows of the pools over the lock, narrow to wide. */
  readonly pools: readonly Counters[];
  readonly rowsHeld: RowsHeld | null;
  /** Ended claims of the lock, newest first. */
  readonly recent: readonly Claim[];
}

const ONE_PERMIT = { mode: "permit", permits: 1, terms: null } as const;

export function explain(basis: Basis): Explanation {
  const { nowUs, lock, limit, limitSet, claim, place } = basis;
  const causes = [...causesOf(basis)];
  return { nowUs, lock, limit, limitSet, claim, place, causes, estimate: estimateOf(basis, causes) };
}

function* causesOf(basis: Basis): Generator<WaitCause, void, void> {
  const { nowUs, lock, limit: inForce, limitSet, claim, place, grantsFromUs, rowsHeld } = basis;
  // It has its own lock: only the pool at which it waits is in its way.
  if (claim && isEntering(claim)) {
    if (grantsFromUs > nowUs) yield { kind: "failed_over", untilUs: grantsFromUs };
    if (rowsHeld) yield rowsHeld;
    yield* poolsInTheWay(basis, claim);
    return;
  }
  const { limit } = inForce;
  const asked = claim ?? ONE_PERMIT;
  if (grantsFromUs > nowUs) yield { kind: "failed_over", untilUs: grantsFromUs };
  if (rowsHeld) yield rowsHeld;
  const waitsForDrain = isDraining(lock, limit) && !fits(lock, limit, asked);
  if (limit === 0 || waitsForDrain || neverFits(limit, asked))
    yield { kind: "limit", limit: inForce, set: limitSet };
  const notBeforeUs = lock.record?.notBeforeUs ?? 0;
  if (notBeforeUs > nowUs) yield { kind: "not_before", untilUs: notBeforeUs };
  if (isExhausted(lock)) yield { kind: "exhausted" };
  if (!isInWantedStatus(lock, asked.terms)) yield { kind: "status", status: statusOf(lock) };
  // A limit of 0 is a cause of its own: who would be in the way of any limit is named, too.
  const isFull = lock.holders > 0 && !fits(lock, Math.max(1, limit), asked);
  if (isFull && lock.holders > lock.entering) yield heldBy(basis);
  yield* rateInTheWay(basis, asked.permits);
  // Those that wait at a pool have the lock: where it has no room beside them, they are before this one.
  const ahead = place.ahead + (isFull ? lock.entering : 0);
  const permitsAhead = place.permitsAhead + (isFull ? lock.enteringPermits : 0);
  const others = waitersAhead(basis).filter((other) => isFull || !isEntering(other));
  if (ahead > 0) yield { kind: "queued", ahead, permitsAhead, first: others.slice(0, SHOWN_BY_REFUSAL_MAX) };
  yield* poolsInTheWay(basis, claim);
}

/** The pool at which it waits, and the pools without room now that it still has to pass. */
function* poolsInTheWay(
  { pools, place, nowUs }: Basis,
  claim: Claim | null,
): Generator<WaitCause, void, void> {
  const asked = claim ?? { permits: 1, ttlUs: null };
  const at = claim && waitsAt(claim);
  for (const row of pools) {
    const isHere = row.id === at;
    if (claim && levelAt(claim, row.id)?.state === "has") continue;
    const { ahead, permitsAhead } = isHere ? place : { ahead: row.waiting, permitsAhead: row.waitingPermits };
    const pool = poolView(row, nowUs);
    const waitUs = row.rate && rateWaitUs(row.rate, row.rateUntilUs, permitsAhead + asked.permits, nowUs);
    const hasRoom = row.heldPermits + permitsAhead + roomOf(asked) <= pool.limit.limit;
    if (!isHere && hasRoom && pool.limit.limit > 0 && !waitUs) continue;
    const rateUntilUs = waitUs ? nowUs + waitUs : null;
    yield { kind: "pool", pool, isHere, ahead, permitsAhead, rateUntilUs };
  }
}

function* rateInTheWay(
  { rate, lock, place, nowUs }: Basis,
  permits: number,
): Generator<WaitCause, void, void> {
  if (!rate) return;
  if (exceedsBurst(rate, permits)) yield { kind: "rate", rate, untilUs: null };
  else {
    const waitUs = rateWaitUs(rate, lock.rateUntilUs, place.permitsAhead + permits, nowUs);
    if (waitUs > 0) yield { kind: "rate", rate, untilUs: nowUs + waitUs };
  }
}

function heldBy({ lock, holders }: Basis): WaitCause {
  const ends = holders.flatMap(({ deadlineUs }) => (deadlineUs === null ? [] : [deadlineUs]));
  return {
    kind: "held",
    holders: holders.slice(0, SHOWN_BY_REFUSAL_MAX),
    holderCount: lock.holders - lock.entering,
    firstEndsAtUs: ends.length === 0 ? null : Math.min(...ends),
  };
}

function waitersAhead({ waiters, claim }: Basis): readonly Claim[] {
  return claim ? waiters.filter(({ ticketNumber }) => ticketNumber < claim.ticketNumber) : waiters;
}

/** Recent leases say how long those last that hold the lock or wait for it, and nothing about other causes. */
function estimateOf(basis: Basis, causes: readonly WaitCause[]): Explanation["estimate"] {
  const { limit, claim, place } = basis;
  const asked = claim ?? ONE_PERMIT;
  const isOnlyOthers = causes.every(({ kind }) => kind === "held" || kind === "queued" || kind === "limit");
  if (causes.length === 0 || !isOnlyOthers || limit.limit === 0 || neverFits(limit.limit, asked)) return null;
  const { ahead } = place;
  return estimate({ ...basis, limit: limit.limit, waiters: waitersAhead(basis), ahead, asked });
}
