// What the server shows of locks, claims and limits, as plain objects.

import type { Claim, Limit, Lock } from "#proto/rowlock/v1/lock_pb.js";
import { ClaimState, LimitSource } from "#proto/rowlock/v1/lock_pb.js";
import type { LimitSetting } from "#proto/rowlock/v1/lock_service_pb.js";
import { type Mode, modeOf } from "./modes.ts";
import { type RecordView, recordView } from "./records.ts";
import { dateOf } from "./times.ts";

/** One who holds or waits. */
export interface ClaimView {
  readonly lockName: string;
  /** With the lock's name it names the claim, in `forceRelease`. */
  readonly ticketNumber: bigint;
  readonly state: "waiting" | "held";
  readonly mode: Mode;
  readonly permits: number;
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of one who holds. */
  readonly token?: bigint;
  readonly requestedAt?: Date;
  readonly grantedAt?: Date;
  /** When the lease ends if it is not renewed, or the place if there is no sign of life; unset: without end. */
  readonly expiresAt?: Date;
  /** Set where nobody has come for the lease since it was granted: perhaps nobody knows of it. */
  readonly isUnclaimed?: true;
}

/** How many permits may be held at once, and why that many. */
export interface LimitView {
  readonly limit: number;
  readonly source: "default" | "pattern" | "name";
  readonly pattern?: string;
  /** For the `ifVersion` of the next change. */
  readonly version: bigint;
  readonly reason: string;
}

/** A lock as it stands. */
export interface LockView {
  readonly name: string;
  readonly limit: LimitView;
  readonly heldPermits: number;
  readonly holderCount: number;
  readonly waiting: number;
  /** More is held than the limit allows, as it was lowered. */
  readonly draining: boolean;
  /** Given last; 0 when none was. */
  readonly lastToken: bigint;
  /** Oldest first, and not all of many. */
  readonly holders: readonly ClaimView[];
  /** The first ones. */
  readonly waiters: readonly ClaimView[];
  /** What it remembers; unset: nothing. */
  readonly record?: RecordView;
}

/** A limit that was set, for one name or for a pattern. */
export interface LimitSettingView {
  readonly name?: string;
  readonly pattern?: string;
  readonly limit: number;
  readonly version: bigint;
  readonly reason: string;
}

export function claimView(claim: Claim): ClaimView {
  const { lockName, ticketNumber, permits, owner, labels, requestedAt, grantedAt, expiresAt } = claim;
  const isHeld = claim.state === ClaimState.HELD;
  return {
    lockName,
    ticketNumber,
    state: isHeld ? "held" : "waiting",
    mode: modeOf(claim.mode),
    permits,
    owner,
    labels,
    ...(isHeld && { token: claim.fencingToken }),
    ...(requestedAt && { requestedAt: dateOf(requestedAt) }),
    ...(grantedAt && { grantedAt: dateOf(grantedAt) }),
    ...(expiresAt && { expiresAt: dateOf(expiresAt) }),
    ...(claim.unclaimed && { isUnclaimed: true }),
  };
}

export function limitView({ limit, source, pattern, version, reason }: Limit): LimitView {
  if (source === LimitSource.PATTERN) return { limit, source: "pattern", pattern, version, reason };
  return { limit, source: source === LimitSource.NAME ? "name" : "default", version, reason };
}

export function lockView(lock: Lock): LockView {
  const { name, heldPermits, holderCount, waiting, draining, lastFencingToken, holders, waiters } = lock;
  return {
    name,
    // The server always sets it.
    limit: limitView(lock.limit as Limit),
    heldPermits: Number(heldPermits),
    holderCount,
    waiting,
    draining,
    lastToken: lastFencingToken,
    holders: holders.map(claimView),
    waiters: waiters.map(claimView),
    ...(lock.record && { record: recordView(lock.record) }),
  };
}

export function limitSettingView({ target, limit, version, reason }: LimitSetting): LimitSettingView {
  return { ...(target.case && { [target.case]: target.value }), limit, version, reason };
}
