// Locks, claims, limits and pools as the server reports them, as plain objects.

import type { Claim, Limit, Lock, PoolInForce, PoolUse as ProtoUse } from "#proto/rowlock/v1/lock_pb.js";
import { ClaimState, LimitSource } from "#proto/rowlock/v1/lock_pb.js";
import type { LimitSetting as ProtoLimitSetting } from "#proto/rowlock/v1/lock_service_pb.js";
import { type ClaimedLockView, claimedLockView } from "./also.ts";
import { type ClaimEndView, claimEndView } from "./claim-end.ts";
import { type Mode, modeOf } from "./mode.ts";
import {
  type QueueRulesView,
  queueRulesInForceView,
  queueRulesView,
  type SetQueueRules,
} from "./queue-rules.ts";
import { type Rate, type RateView, rateInForceView, rateView } from "./rates.ts";
import { type RecordView, recordView } from "./records.ts";
import { dateOf } from "./times.ts";

/** A holder or a waiter; in `listClaims` also one that has ended. */
export interface ClaimView {
  readonly lockName: string;
  /** Identifies the claim together with the lock's name, as in `forceRelease`. */
  readonly ticketNumber: bigint;
  readonly state: "waiting" | "held" | "ended";
  readonly mode: Mode;
  readonly permits: number;
  /** Who holds it or waits, as they say. */
  readonly owner: string;
  /** Who asked for it, as the server has verified; unset: the server asked nobody who they are. */
  readonly principal?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The fencing token; unset if it was never granted. */
  readonly token?: bigint;
  readonly requestedAt?: Date;
  readonly grantedAt?: Date;
  /** When the lease ends unless it is renewed, or the place unless its waiter gives a sign of life; unset: never. */
  readonly expiresAt?: Date;
  /** Set if nobody has come for the lease since its grant, so that perhaps nobody knows of it. */
  readonly provisional?: true;
  /** How it ended; unset for a live claim. */
  readonly end?: ClaimEndView;
  /** The server that kept its place in the queue; unset for a claim that did not wait. */
  readonly replica?: string;
  /** Set if it only spends: see `spend`. */
  readonly spendOnly?: true;
  /** The pattern of the pool at which it waits; set only in `getLock`. Unset: it waits at none that the caller may see. */
  readonly pool?: string;
  /** The other locks of a claim for several, as far as the caller may see them; unset: it is for this lock alone. */
  readonly also?: readonly ClaimedLockView[];
}

/** How many permits may be held at once, and which setting says so. */
export interface LimitView {
  readonly permits: number;
  readonly source: "default" | "pattern" | "pool" | "name";
  /** Of the pattern or the pool; "" if the caller may not see it. */
  readonly pattern?: string;
  /** For the `ifVersion` of the next change. */
  readonly version: bigint;
  readonly reason: string;
}

/** What is used of a pool. */
export interface PoolUse {
  /** Permits that are taken: by holders, and by claims that wait at a wider pool. */
  readonly heldPermits: number;
  /** Claims that have them. */
  readonly holderCount: number;
  /** Claims that wait there. */
  readonly waiterCount: number;
  /** More is taken than the limit allows, as somebody lowered it, or made the pool while others held. */
  readonly draining: boolean;
  /** The pool is new, and servers still count those who held before it was made. */
  readonly counting: boolean;
  /** Permits of its rate that may be taken now; 0 if it has none. */
  readonly available: number;
}

/** A pool: it counts all names under a pattern together. */
export interface PoolView {
  /** Such as `openai/*`; "" if the caller may not see it. */
  readonly pattern: string;
  /** How many permits all names under it may have at once; unset: any number. */
  readonly limit?: LimitView;
  /** How fast they may be granted, all together; unset: as fast as they become free. */
  readonly rate?: RateView;
  readonly use: PoolUse;
}

/** The current state of a lock. */
export interface LockView {
  readonly name: string;
  readonly limit: LimitView;
  /** How fast it may be granted; unset: as fast as it becomes free. */
  readonly rate?: RateView;
  /** Who may wait; unset: as many as the server allows, in order of arrival. */
  readonly queueRules?: QueueRulesView;
  readonly heldPermits: number;
  readonly holderCount: number;
  /** Those that wait for the lock, or for a pool over it. */
  readonly waiterCount: number;
  /** More permits are held than the limit allows, as somebody lowered it. */
  readonly draining: boolean;
  /** The fencing token given last; 0: none yet. */
  readonly lastToken: bigint;
  /** The oldest holders, oldest first; the server caps the list. */
  readonly holders: readonly ClaimView[];
  /** The first waiters, in order; the server caps the list. */
  readonly waiters: readonly ClaimView[];
  /** What the lock remembers beyond its claims; unset: it has no record. */
  readonly record?: RecordView;
  /** The pools over it that the caller may see, narrow to wide; unset: none, or it is not from `getLock`. */
  readonly pools?: readonly PoolView[];
}

/** What was set for one name, for a pattern or for a pool. */
export interface LimitSetting {
  readonly name?: string;
  readonly pattern?: string;
  readonly pool?: string;
  /** Unset: this setting has no limit. */
  readonly limit?: number;
  /** Unset: this setting has no rate. */
  readonly rate?: Required<Rate>;
  /** Unset: this setting has no queue rules. */
  readonly queueRules?: SetQueueRules;
  readonly version: bigint;
  readonly reason: string;
  /** What is used of a pool; unset for names and patterns. */
  readonly use?: PoolUse;
}

const STATES: Readonly<Partial<Record<ClaimState, ClaimView["state"]>>> = {
  [ClaimState.HELD]: "held",
  [ClaimState.ENDED]: "ended",
};

export function claimView(claim: Claim): ClaimView {
  const { lockName, ticketNumber, permits, owner, principal, labels } = claim;
  const { requestedAt, grantedAt, expiresAt, end, replica, fencingToken } = claim;
  return {
    lockName,
    ticketNumber,
    state: STATES[claim.state] ?? "waiting",
    mode: modeOf(claim.mode),
    permits,
    owner,
    ...(principal !== "" && { principal }),
    labels,
    ...((claim.state === ClaimState.HELD || (end && fencingToken !== 0n)) && { token: fencingToken }),
    ...(requestedAt && { requestedAt: dateOf(requestedAt) }),
    ...(grantedAt && { grantedAt: dateOf(grantedAt) }),
    ...(expiresAt && { expiresAt: dateOf(expiresAt) }),
    ...(claim.provisional && { provisional: true }),
    ...(end && { end: claimEndView(end) }),
    ...(replica !== "" && { replica }),
    ...(claim.spendOnly && { spendOnly: true }),
    ...(claim.pool !== "" && { pool: claim.pool }),
    ...(claim.also.length > 0 && { also: claim.also.map(claimedLockView) }),
  };
}

export function limitView({ permits, source, pattern, version, reason }: Limit): LimitView {
  if (source === LimitSource.PATTERN) return { permits, source: "pattern", pattern, version, reason };
  if (source === LimitSource.POOL) return { permits, source: "pool", pattern, version, reason };
  return { permits, source: source === LimitSource.NAME ? "name" : "default", version, reason };
}

function poolUse({
  heldPermits,
  holderCount,
  waiterCount,
  draining,
  counting,
  available,
}: ProtoUse): PoolUse {
  return { heldPermits: Number(heldPermits), holderCount, waiterCount, draining, counting, available };
}

/** A pool in the way has no pattern of its own: that of its limit or its rate says which it is. */
export function poolView(
  pool: Omit<PoolInForce, "$typeName" | "pattern"> & { readonly pattern?: string },
): PoolView {
  const { limit, rate, use } = pool;
  return {
    pattern: pool.pattern ?? limit?.pattern ?? rate?.pattern ?? "",
    ...(limit && { limit: limitView(limit) }),
    ...(rate && { rate: rateInForceView(rate, true) }),
    // The server always sets it.
    use: poolUse(use as ProtoUse),
  };
}

export function lockView(lock: Lock): LockView {
  const { name, heldPermits, holderCount, waiterCount, draining, lastFencingToken, holders, waiters } = lock;
  return {
    name,
    // The server always sets it.
    limit: limitView(lock.limit as Limit),
    ...(lock.rate && { rate: rateInForceView(lock.rate, true) }),
    ...(lock.queueRules && { queueRules: queueRulesInForceView(lock.queueRules) }),
    heldPermits: Number(heldPermits),
    holderCount,
    waiterCount,
    draining,
    lastToken: lastFencingToken,
    holders: holders.map(claimView),
    waiters: waiters.map(claimView),
    ...(lock.record && { record: recordView(lock.record) }),
    ...(lock.pools.length > 0 && { pools: lock.pools.map(poolView) }),
  };
}

export function limitSettingView(setting: ProtoLimitSetting): LimitSetting {
  const { target, limit, rate, queueRules, rateOnly, version, reason, use } = setting;
  return {
    ...(target.case && { [target.case]: target.value }),
    ...(!rateOnly && { limit }),
    ...(rate && { rate: rateView(rate) }),
    ...(queueRules && { queueRules: queueRulesView(queueRules) }),
    version,
    reason,
    ...(use && { use: poolUse(use) }),
  };
}
