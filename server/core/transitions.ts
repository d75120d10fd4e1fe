// The draft, and the only functions that change the state of a claim in it. Each keeps the counters of the guard row in
// step and records what happened. See the diagram in claim.ts. Also applies time: ends what is due. levels.ts grants to the
// head of the queue while it fits. Grants go strictly by ticket number, so nobody passes a heavy request at the head that waits
// for its permits.

import { CLOCK_JUMP_US_MIN, PLACE_US_MAX } from "./bounds.ts";
import { type Claim, type EndReason, inOrder, isEntering, isSpend } from "./claim.ts";
import type { Acquire, Caller, Event } from "./command.ts";
import type { Clock } from "./database-clock.ts";
import {
  type EffectiveLimit,
  type EffectiveRate,
  effectiveLimit,
  effectiveRate,
  fits,
  type LimitRule,
} from "./limit.ts";
import {
  afterGrant,
  afterLease,
  countEntering,
  countHolder,
  countWaiter,
  type FailOver,
  isDueNow,
  isOwnName,
  type Lock,
  nextNumber,
  type RunResult,
} from "./lock.ts";
import type { NotedChange } from "./noted-change.ts";
import { giveAllBack, leaveQueue, type Pools } from "./pools.ts";
import { afterTaking, allowedFromUs, correctedUntilUs } from "./rate.ts";
import type { Policy, Queue, Rows } from "./rows.ts";

/**
 * The working copy of one lock during one decision: what was read, and what has to be written. It owns its rows until the
 * transaction has committed.
 */
export interface Draft {
  readonly policy: Policy;
  readonly limitRules: readonly LimitRule[];
  readonly clock: Clock;
  readonly failOver: FailOver;
  readonly nowUs: number;
  readonly lock: Lock;
  limit: EffectiveLimit;
  rate: EffectiveRate | null;
  /** The pools that the transaction has read. */
  readonly pools: Pools;
  /** The ids of those over the lock, narrow to wide; null: nobody has asked yet. */
  over: readonly bigint[] | null;
  /** Rises when a claim that enters takes a level or comes back. */
  moves: number;
  /** The claim that has its own lock, and goes from level to level just now; null: none does. */
  passing: Claim | null;
  /** The known claims of the lock, each once: see `claimOf`. */
  readonly claims: Claim[];
  /** The known head of the queue, in order of ticket numbers. */
  readonly queue: Claim[];
  /** Whether `queue` is the whole queue. */
  readonly queueComplete: boolean;
  readonly added: Claim[];
  readonly changed: Claim[];
  readonly events: Event[];
  /** Changes for the history. */
  readonly noted: NotedChange[];
  /** All known waiters were granted or ended, and there are more: the decision has to go on with the next ones. */
  unfinished: boolean;
}

const EMPTY: Queue = { head: [], complete: true };

/**
 * `claims`: those read of this lock. The draft owns the rows and the list from here on. Most locks have one claim or none, and
 * a transaction has many locks, so a draft has lists, which are searched, and not maps and sets.
 */
export function openDraft(lock: Lock, claims: Claim[], rows: Rows, pools: Pools, policy: Policy): Draft {
  const { limitRules, failOver } = rows;
  const { head, complete } = lock.waiting > 0 ? (rows.queues.get(lock.id) ?? EMPTY) : EMPTY;
  const queue: Claim[] = [];
  const read = claims.length;
  for (const waiter of head) {
    // A waiter may have been read twice: by name, and at the head of the queue. The queue then takes the same object.
    const known = read > 0 && claims.find(({ ticketNumber }) => ticketNumber === waiter.ticketNumber);
    if (!known) claims.push(waiter);
    queue.push(known || waiter);
  }
  const rate = effectiveRate(lock, limitRules);
  if (rate) lock.rateUntilUs = correctedUntilUs(rate, lock.rateUntilUs, rows);
  return {
    policy,
    limitRules,
    clock: rows,
    failOver,
    nowUs: rows.nowUs,
    lock,
    limit: effectiveLimit(lock, limitRules),
    rate,
    pools,
    over: null,
    moves: 0,
    passing: null,
    claims,
    queue,
    queueComplete: complete,
    added: [],
    changed: [],
    events: [],
    noted: [],
    unfinished: false,
  };
}

/** The claim with this number, if it is known. */
export function claimOf({ claims }: Draft, ticketNumber: bigint): Claim | undefined {
  for (const claim of claims) if (claim.ticketNumber === ticketNumber) return claim;
  return undefined;
}

/** Marks a claim for writing. */
export function touch({ added, changed }: Draft, claim: Claim): void {
  if (!changed.includes(claim) && !added.includes(claim)) changed.push(claim);
}

/** A copy of the claim as it is now, which later commands of the same batch do not change. */
export function snapshot(claim: Claim): Claim {
  return { ...claim };
}

/** The limit or the rate in force for the lock has changed. */
export function setInForce(draft: Draft): void {
  const { lock, limitRules, clock } = draft;
  draft.limit = effectiveLimit(lock, limitRules);
  draft.rate = effectiveRate(lock, limitRules);
  if (draft.rate) lock.rateUntilUs = correctedUntilUs(draft.rate, lock.rateUntilUs, clock);
}

/** The first waiter has its own lock from now on. */
export function occupy(draft: Draft, claim: Claim): void {
  const { lock, queue } = draft;
  queue.shift();
  countWaiter(lock, claim, -1);
  countAsEntering(draft, claim);
}

/** A new claim, which has its own lock from the beginning. */
export function occupyAtOnce(draft: Draft, claim: Claim): void {
  draft.added.push(claim);
  draft.claims.push(claim);
  countAsEntering(draft, claim);
}

function countAsEntering(draft: Draft, claim: Claim): void {
  countHolder(draft.lock, claim);
  countEntering(draft.lock, claim);
}

/**
 * Gives the lease to a claim that has its own lock. A waiter gets it for the grace period at most until somebody comes for
 * it: a waiter that was there a moment ago may be dead or cut off by now. To a new request the answer itself delivers it,
 * unless the caller has waited. A spend ends with that.
 */
export function grant(
  draft: Draft,
  claim: Claim,
  atOnce: Pick<Acquire, "afterWait" | "caller"> | null,
): void {
  countEntering(draft.lock, claim, -1);
  takeLevels(draft, claim);
  if (!atOnce || atOnce.afterWait) holdForGrace(draft, claim);
  else {
    hold(draft, claim, wholeEnd(claim, draft.nowUs));
    claim.provisional = claim.deadlineUs === null;
  }
  touch(draft, claim);
  recordGrant(draft, claim, atOnce === null, atOnce?.caller);
  if (isSpend(claim)) end(draft, claim, "spent", { caller: atOnce?.caller });
}

/** The claim keeps the pools that it has, and takes their rates: in this transaction, which gives the token. */
function takeLevels({ pools, clock }: Draft, claim: Claim): void {
  if (claim.levels === null) return;
  leaveQueue(pools, claim);
  const kept = claim.levels.filter(({ state }) => state === "has");
  for (const { poolId } of kept) {
    const lock = pools.get(poolId)?.lock;
    if (lock?.rate) lock.rateUntilUs = afterTaking(lock.rate, lock.rateUntilUs, claim.permits, clock);
  }
  claim.levels = kept.length > 0 ? kept : null;
}

/** Puts a new claim at the end of the queue. */
export function enqueue(draft: Draft, claim: Claim, caller: Caller | undefined): Claim {
  draft.added.push(claim);
  draft.claims.push(claim);
  countWaiter(draft.lock, claim);
  keepAlive(draft, claim, claim.replica);
  // Behind waiters that were not read, the claim is not part of the known head.
  if (draft.queueComplete) draft.queue.push(claim);
  return recordWait(draft, claim, caller);
}

/** A new claim waits, in the lock's own queue or at a pool. */
export function recordWait(draft: Draft, claim: Claim, caller: Caller | undefined): Claim {
  const enqueued = snapshot(claim);
  draft.events.push({ kind: "enqueued", claim: enqueued, caller });
  return enqueued;
}

/** A claim that enters gives back all that it has, and waits in the lock's own queue again, at its old place. */
export function comeBackToQueue(draft: Draft, claim: Claim): void {
  const { lock, queue } = draft;
  const levels = claim.levels?.map((level) => ({ ...level, state: "left" as const })) ?? null;
  giveAllBack(draft.pools, claim);
  claim.levels = levels;
  countEntering(lock, claim, -1);
  countHolder(lock, claim, -1);
  countWaiter(lock, claim);
  const at = queue.findIndex(({ ticketNumber }) => ticketNumber > claim.ticketNumber);
  if (at >= 0 || draft.queueComplete) queue.splice(at < 0 ? queue.length : at, 0, claim);
  touch(draft, claim);
}

/**
 * A sign of life. With a replica, its heartbeats keep the place from now on. Without one (a client that polls), the
 * place is kept for the grace period, or for as long as a replica with a stream for it has already promised.
 */
export function keepAlive(draft: Draft, claim: Claim, replica: bigint | null): void {
  const { nowUs, policy } = draft;
  if (replica !== null) {
    claim.replica = replica;
    keepUntil(claim, nowUs + policy.attachedForUs);
  } else {
    keepUntil(claim, Math.max(nowUs + policy.graceUs, claim.deadlineUs ?? 0));
  }
  touch(draft, claim);
}

/** The waiter's stream is lost: the grace period runs from now on. */
export function startGrace(draft: Draft, claim: Claim): void {
  claim.replica = null;
  keepUntil(claim, draft.nowUs + draft.policy.graceUs);
  touch(draft, claim);
}

/** Somebody came for the lease: its whole time to live runs from the grant, or from a jump of the clock since then. */
export function confirm(draft: Draft, claim: Claim): void {
  if (!claim.provisional) return;
  claim.provisional = false;
  const grantedAtUs = claim.grantedAtUs ?? draft.nowUs;
  claim.deadlineUs = wholeEnd(claim, Math.max(grantedAtUs, draft.clock.jumpedAtUs ?? 0));
  touch(draft, claim);
}

/** Sets the end of a lease to now + ttl, and confirms it. */
export function prolong(draft: Draft, claim: Claim, ttlUs: number | null): void {
  claim.ttlUs = ttlUs;
  claim.provisional = false;
  claim.deadlineUs = wholeEnd(claim, draft.nowUs);
  showRenewal(claim);
  touch(draft, claim);
}

/** Whether no renewal has changed the end that its grant gave the lease. */
export function isAsGranted(claim: Claim): boolean {
  const { provisional, grantedAtUs, deadlineUs } = claim;
  if (provisional) return true;
  return grantedAtUs !== null && deadlineUs !== null && deadlineUs === wholeEnd(claim, grantedAtUs);
}

/**
 * Makes the end of a renewed lease differ from the one of its grant. Both are the same if the renewal comes in the
 * microsecond of the grant, or if the clock was set back and the grant has moved to now.
 */
function showRenewal(claim: Claim): void {
  if (isAsGranted(claim) && claim.deadlineUs !== null) claim.deadlineUs += 1;
}

/** Who ends a claim, and what they say about it. */
interface End {
  readonly note?: string;
  /** Who forced the end. */
  readonly by?: string;
  /** What its Release says about the lock's record. */
  readonly result?: RunResult | null;
  readonly caller?: Caller | undefined;
}

export function end(
  draft: Draft,
  claim: Claim,
  reason: EndReason,
  { note = "", by = "", result = null, caller }: End = {},
): void {
  const { lock, nowUs, policy } = draft;
  const was = claim.state === "held" ? "held" : "waiting";
  if (was === "held") countHolder(lock, claim, -1);
  else if (draft.passing === claim || isEntering(claim)) {
    countHolder(lock, claim, -1);
    countEntering(lock, claim, -1);
  } else {
    countWaiter(lock, claim, -1);
    const place = draft.queue.indexOf(claim);
    if (place >= 0) draft.queue.splice(place, 1);
  }
  giveAllBack(draft.pools, claim);
  // Somebody may have relied on a lease without end, so it counts as a run.
  if (claim.deadlineUs === null) claim.provisional = false;
  claim.state = "ended";
  claim.endReason = reason;
  claim.endNote = note;
  claim.endedBy = by;
  claim.endedAtUs = nowUs;
  // Nobody comes back to a claim on one of the servers' own locks.
  claim.deadlineUs = nowUs + (isOwnName(lock.name) ? 0 : policy.keptForUs(lock.name));
  const record = was === "held" ? afterLease(lock, claim, result, draft.failOver) : null;
  const isNewRecord = record !== null && lock.record === null;
  if (was === "held") lock.record = record;
  touch(draft, claim);
  draft.events.push({ kind: "ended", claim: snapshot(claim), was, record, isNewRecord, caller });
}

function holdForGrace(draft: Draft, claim: Claim): void {
  const graceEndUs = draft.nowUs + draft.policy.graceUs;
  hold(draft, claim, Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs));
  // Nobody comes for a spend.
  claim.provisional = !isSpend(claim);
}

function hold(draft: Draft, claim: Claim, deadlineUs: number | null): void {
  const { lock, rate, clock } = draft;
  if (rate) lock.rateUntilUs = afterTaking(rate, lock.rateUntilUs, claim.permits, clock);
  lock.lastToken = nextNumber(lock.lastToken, draft.failOver);
  claim.state = "held";
  claim.fencingToken = lock.lastToken;
  claim.grantedAtUs = draft.nowUs;
  claim.deadlineUs = deadlineUs;
  lock.record = afterGrant(lock, draft.failOver);
}

function recordGrant(draft: Draft, claim: Claim, queued: boolean, caller?: Caller): Claim {
  const waitedUs = Math.max(0, draft.nowUs - claim.requestedAtUs);
  const granted = snapshot(claim);
  draft.events.push({ kind: "granted", claim: granted, waitedUs, queued, caller });
  return granted;
}

function keepUntil(claim: Claim, untilUs: number): void {
  claim.deadlineUs = claim.waitUntilUs === null ? untilUs : Math.min(untilUs, claim.waitUntilUs);
}

/** The end of a lease that runs for its whole time to live; null: without end. */
export function wholeEnd(claim: Pick<Claim, "ttlUs">, fromUs: number): number | null {
  return claim.ttlUs === null ? null : fromUs + claim.ttlUs;
}

/**
 * Brings back times from a clock that was ahead, and ends all loaded claims whose time has run out, oldest first, because the
 * last one to end leaves its mark in the lock's record. Called once, as the time of a decision does not change.
 */
export function endDue(draft: Draft): void {
  let due: Claim[] | null = null;
  for (const claim of draft.claims) {
    bringBack(draft, claim);
    if (claim.state !== "ended" && isDue(draft, claim)) {
      due ??= [];
      due.push(claim);
    }
  }
  if (due) for (const claim of inOrder(due)) end(draft, claim, dueReason(claim));
}

/**
 * When the server has to look at the lock, because its first waiter may be granted from then on, although nobody asks for
 * anything; null: never. A waiter that does not fit is granted by the end of a claim.
 */
export function wakeOf({ lock, clock, limit, rate, queue }: Draft): number | null {
  if (lock.waiting === 0) return null;
  if (!isDueNow(lock, clock)) return lock.record?.notBeforeUs ?? null;
  const head = queue[0];
  if (!rate || !head || !fits(lock, limit.limit, head)) return null;
  const fromUs = allowedFromUs(rate, lock.rateUntilUs, head.permits);
  return fromUs > clock.atLeastUs ? fromUs : null;
}

/** Nothing is granted while a lease that a fail-over lost may still be held, nor before the lock is due. */
export function mayGrant({ clock, failOver, lock }: Draft): boolean {
  return failOver.grantsFromUs <= clock.atLeastUs && isDueNow(lock, clock);
}

function isDue(draft: Draft, claim: Claim): boolean {
  const { clock, failOver, policy } = draft;
  if (claim.deadlineUs === null || claim.deadlineUs > clock.atLeastUs - clock.skippedUs) return false;
  if (claim.state === "waiting" && isKept(draft, claim)) return false;
  // A fail-over may have lost signs of life and renewals, and a jump of the clock makes them look old. So the claim
  // gets its whole time again, counted from that moment.
  const doubtedAtUs = Math.max(clock.jumpedAtUs ?? 0, failOver.atUs);
  const wholeUs = claim.state === "held" ? heldForUs(claim, policy) : policy.attachedForUs;
  return doubtedAtUs + wholeUs <= clock.atLeastUs;
}

/** Whether a place without a sign of life is kept, because signs of life may not have reached the database. */
function isKept({ clock, policy }: Draft, claim: Claim): boolean {
  const waitOver = claim.waitUntilUs !== null && claim.waitUntilUs <= clock.atLeastUs;
  return !waitOver && clock.backAtUs !== null && clock.atLeastUs < clock.backAtUs + policy.graceUs;
}

function dueReason(claim: Claim): EndReason {
  // Nobody came for a provisional lease, so it lapses, however short its time to live is.
  if (claim.state === "held") return claim.provisional ? "lapsed" : "expired";
  const waitOver = claim.waitUntilUs !== null && claim.waitUntilUs <= (claim.deadlineUs as number);
  return waitOver ? "timed_out" : "lapsed";
}

// Claims that got their times while the database's clock was ahead. After the clock is set back, these times are too late:
// if the holder of such a lease is gone, the lease would block its lock for as long as the clock had been ahead. So a
// decision that reads such a claim counts its times from now. Nobody loses by that: a confirmed lease still lasts for its
// whole ttl from now. Leases without end keep no end.

export type ClaimTimes = Pick<
  Claim,
  "lockId" | "ticketNumber" | "state" | "requestedAtUs" | "grantedAtUs" | "ttlUs" | "deadlineUs"
>;

/** Whether the claim has a time that the clock, as it is now, cannot have given. */
export function isFromAhead(claim: ClaimTimes, nowUs: number): boolean {
  const latestUs = nowUs + CLOCK_JUMP_US_MIN;
  if (claim.state === "ended") return false;
  if (claim.requestedAtUs > latestUs || (claim.grantedAtUs ?? 0) > latestUs) return true;
  const longestUs = claim.state === "held" ? claim.ttlUs : PLACE_US_MAX;
  // The lease of a waiter that wants one without end runs for the grace period until it comes for it.
  return (claim.deadlineUs ?? 0) > latestUs + (longestUs ?? PLACE_US_MAX);
}

/** Gives the claim its times again, if the clock has been set back since it got them. */
export function bringBack(draft: Draft, claim: Claim): void {
  const { nowUs, policy } = draft;
  if (!isFromAhead(claim, nowUs)) return;
  const wasRenewed = claim.state === "held" && !isAsGranted(claim);
  if (claim.waitUntilUs !== null && claim.requestedAtUs > nowUs)
    claim.waitUntilUs -= claim.requestedAtUs - nowUs;
  claim.requestedAtUs = Math.min(claim.requestedAtUs, nowUs);
  if (claim.grantedAtUs !== null) claim.grantedAtUs = Math.min(claim.grantedAtUs, nowUs);
  const latestUs = claim.state === "held" ? nowUs + heldForUs(claim, policy) : placeEnd(claim, draft);
  if (claim.deadlineUs !== null) claim.deadlineUs = Math.min(claim.deadlineUs, latestUs);
  if (wasRenewed) showRenewal(claim);
  touch(draft, claim);
}

/** How long the lease lasts from its grant, or from its last renewal. */
export function heldForUs({ ttlUs, provisional }: Claim, { graceUs }: Policy): number {
  const wholeUs = ttlUs ?? graceUs;
  return provisional ? Math.min(wholeUs, graceUs) : wholeUs;
}

function placeEnd({ waitUntilUs }: Claim, { nowUs, policy }: Draft): number {
  return Math.min(nowUs + policy.attachedForUs, waitUntilUs ?? Number.POSITIVE_INFINITY);
}
