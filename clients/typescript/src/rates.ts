// Rates: how fast a lock may be granted, and what a request that only spends has taken. All times are milliseconds.

import {
  LimitSource,
  type Rate as ProtoRate,
  type Spent as ProtoSpent,
  type RateInForce,
} from "#proto/rowlock/v1/lock_pb.js";
import type { LockOptions } from "./options.ts";
import { dateOf, durationOf, msOf } from "./times.ts";

/** How fast a lock may be granted. Each grant takes as many permits of the rate as it has; they come back with time. */
export interface Rate {
  /** Permits for each `per`. */
  readonly permits: number;
  /** 1,000 or more, at most 24 days. */
  readonly per: number;
  /** Permits that may be taken at once after a pause; 1 spaces grants evenly. As many as `permits` by default. */
  readonly burst?: number;
}

/** A rate in force, and which setting says so. */
export interface RateView extends Required<Rate> {
  readonly source: "pattern" | "pool" | "name";
  /** Of the pattern or the pool; "" if the caller may not see it. */
  readonly pattern?: string;
  /** For the `ifVersion` of the next change; a limit and a rate of one setting share it. */
  readonly version: bigint;
  readonly reason: string;
  /** Permits that may be taken now; set only in `getLock`, in listings, and for a pool that is in the way. */
  readonly available?: number;
}

/** The options of a request that only spends. They mean the same as for a lock. */
export type SpendOptions = Pick<
  LockOptions,
  | "wait"
  | "permits"
  | "headStart"
  | "signal"
  | "onPosition"
  | "positionInterval"
  | "onWaiting"
  | "owner"
  | "labels"
  | "ifStatus"
  | "requestId"
>;

/** What a request has spent. It has ended: there is nothing to renew or release. */
export interface Spent {
  /** The lock. */
  readonly name: string;
  /** The permits that it took of the rate. */
  readonly permits: number;
  /** The fencing token, as of a lock. */
  readonly token: bigint;
  /** When it was granted, by the database's clock. */
  readonly spentAt: Date;
  /** Another `spend` with this request id returns the same, and takes nothing. */
  readonly requestId: string;
}

export function rateView({ permits, per, burst }: ProtoRate): Required<Rate> {
  return { permits, per: per ? msOf(per) : 0, burst: burst || permits };
}

/** @param isShown the message says how many permits may be taken now. */
export function rateInForceView(inForce: RateInForce, isShown = false): RateView {
  const { rate, source, pattern, version, reason, available } = inForce;
  return {
    // The server always sets it.
    ...rateView(rate as ProtoRate),
    ...(source === LimitSource.PATTERN
      ? { source: "pattern", pattern }
      : source === LimitSource.POOL
        ? { source: "pool", pattern }
        : { source: "name" }),
    version,
    reason,
    ...(isShown && { available }),
  };
}

/** Returns the fields of a message. */
export function rateFields({ permits, per, burst = 0 }: Rate) {
  return { permits, per: durationOf(per), burst };
}

export function spentView({ lockName, permits, fencingToken, spentAt, requestId }: ProtoSpent): Spent {
  // The server always sets the instant.
  return {
    name: lockName,
    permits,
    token: fencingToken,
    spentAt: dateOf(spentAt as NonNullable<typeof spentAt>),
    requestId,
  };
}
