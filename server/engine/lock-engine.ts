// What the server can do, as its callers (grpc) see it. One verb is: load, decide, save, wake. Implemented by
// engine.ts; this file holds the contract only, so that a caller depends on nothing behind it.

import type { Claim, ClaimKey, ClaimRef } from "../core/claim.ts";
import type {
  Acquire,
  Caller,
  Command,
  Event,
  Outcome,
  OutcomeOf,
  Place,
  UpdateLock,
} from "../core/command.ts";
import type { EffectiveLimit } from "../core/limit.ts";
import type { Lock } from "../core/lock.ts";
import type { RunResult, Terms } from "../core/record.ts";

/** A request for a lock, before the engine gives it a secret and, where the caller chose none, a request id. */
export interface AcquireInput
  extends Pick<Acquire, "name" | "mode" | "permits" | "ttlUs" | "owner" | "labels" | "terms" | "maxWaitUs"> {
  /** The caller's; empty: the engine makes one. */
  readonly requestId: string;
  /** Whether it may take a place in the queue. */
  readonly mayWait: boolean;
}

/** An outcome with what is needed to tell a client about it. */
export interface Answer<Of extends Outcome = Outcome> {
  readonly outcome: Of;
  /** The database's clock in the deciding transaction: remaining times count from here. */
  readonly nowUs: number;
  readonly lockId: bigint;
  readonly lockName: string;
}

/** What a verb is answered. */
export type AnswerTo<Verb extends Command["verb"]> = Answer<OutcomeOf<Verb>>;

/**
 * Somebody who follows a claim: an open stream or a blocked call. It is registered with the answer `waiting`, `told` at
 * most once, and then forgotten. It may be told before the caller has taken up the answer, as one transaction may
 * enqueue a claim and grant it. Both methods are called synchronously and must not throw or wait.
 */
export interface Follower {
  /** The claim was granted (state held) or has ended. Committed. */
  told(claim: Claim, nowUs: number): void;
  /** The place may have changed. Coalesced. Leave it out for those who do not show places. */
  placed?(place: Place, nowUs: number): void;
}

/** A `caller` is who made the call: the log names it, and it is told at once which leases it holds. */
export interface LockEngine {
  /**
   * Asks for a lock. With a follower, a claim that has to wait is kept alive by this replica until `detach`, and the
   * follower is told; without one, it lives by its grace period.
   */
  acquire(input: AcquireInput, follower: Follower | null, caller?: Caller): Promise<AnswerTo<"acquire">>;
  /**
   * Takes leases on some of many locks: those that are free and due now. None: there is nothing to take. Throws a Fault where
   * nothing was taken and something may have been: a repeated call with the same request id tells.
   */
  capture(input: CaptureInput, caller?: CaptureCaller): Promise<Captured>;
  /**
   * The same, waiting until there is one; its leases are then provisional. When the signal ends the wait, an attempt that is
   * under way still decides: its leases are the answer. Otherwise rejects with the reason of the signal, or with a Fault where
   * something may have been taken.
   */
  captureWhenFree(input: CaptureInput, signal: AbortSignal, caller?: CaptureCaller): Promise<Captured>;
  /** Comes back to a claim by its id. */
  attach(ref: ClaimRef, follower: Follower, caller?: Caller): Promise<AnswerTo<"attach">>;
  /**
   * The follower does not listen any more, or (null) nobody heard the answer. If nobody else here follows the claim, its
   * place is kept for the grace period; with `canReturn` false (the client has neither the ticket id nor a request id of
   * its own) the claim is ended. Repeated in the background until the database knows.
   */
  detach(claim: Claim, follower: Follower | null, canReturn: boolean): void;
  /** Somebody has come for a lease that was granted after a wait: it is provisional no more. */
  confirm(ref: ClaimRef, caller?: Caller): Promise<AnswerTo<"attach">>;
  /**
   * Calls `listener` once when this replica ends the lease, in whatever way, synchronously; it must not throw. Returns what
   * takes the listener away.
   */
  onLost(lease: ClaimRef, listener: (ended: Claim) => void): () => void;
  /** `ttlUs` undefined: as last asked for. */
  renew(ref: ClaimRef, ttlUs: number | undefined, caller?: Caller): Promise<AnswerTo<"renew">>;
  /** `result`: what is written into the lock's record, if anything. With one, a ticket that waits is left alone. */
  release(ref: ClaimRef, result?: RunResult | null, caller?: Caller): Promise<AnswerTo<"release">>;
  /** Sets or (null) takes away the limit of one name. */
  setLimit(
    name: string,
    limit: number | null,
    expectedVersion: bigint | undefined,
    reason: string,
    caller?: Caller,
  ): Promise<AnswerTo<"set_limit">>;
  /** The same for all names with a prefix. */
  setLimitRule(
    prefix: string,
    limit: number | null,
    expectedVersion: bigint | undefined,
    reason: string,
    caller?: Caller,
  ): Promise<LimitRuleAnswer>;
  /** Ends one claim, or (`ticketNumber` null) the first FORCE_RELEASE_MAX holders. null: there is no such lock. */
  forceRelease(
    name: string,
    ticketNumber: bigint | null,
    reason: string,
    caller?: Caller,
  ): Promise<AnswerTo<"force_release"> | null>;
  /** Sets some of what a lock remembers; makes lock and record if need be. */
  updateLock(update: RecordUpdate, caller?: Caller): Promise<AnswerTo<"update_lock">>;
  /** Takes away what a lock remembers. null: there is no such lock. */
  deleteLock(
    name: string,
    expectedVersion: bigint | undefined,
    caller?: Caller,
  ): Promise<AnswerTo<"delete_lock"> | null>;

  /** The latest that the database's clock may show now. */
  nowUs(): number;
  /** The place of a waiter; null if it does not wait (any more). Many calls for one lock share one read. */
  place(key: ClaimKey, caller?: Caller): Promise<Place | null>;
  /** First holders of a lock, for a refusal. Many calls for one lock share one read. */
  holders(
    lockId: bigint,
    caller?: Caller,
  ): Promise<{ readonly nowUs: number; readonly claims: readonly Claim[] }>;
  /** The limit in force for a name, for a refusal. */
  limit(name: string, caller?: Caller): Promise<EffectiveLimit>;
  /** One lock, or what would hold for it if nobody has used the name. */
  view(name: string, caller?: Caller): Promise<ViewedLock>;
  /** Locks by prefix. Reads as it is iterated; few listings are read at a time, so do not pause in between. */
  views(query: LocksQuery, caller?: Caller): AsyncIterable<ViewedLock>;
  /**
   * The locks under the prefix, and then what changes of them; to be closed. Where there are too many watches, or too many
   * locks are watched, one of those ends whose callers have most: this one, which throws a Fault, or another.
   */
  watchLocks(prefix: string, caller?: Caller): LockWatch;
  /** Limits that were set: of patterns, then of names, each in byte order. Likewise. */
  limits(query: LimitsQuery, caller?: Caller): AsyncIterable<LimitSetting>;
}

/** What to set of a lock's record. */
export type RecordUpdate = Pick<
  UpdateLock,
  "name" | "notBefore" | "attemptsLeft" | "status" | "expectedVersion"
>;

export interface LocksQuery {
  readonly prefix: string;
  /** Only with the order by name, in byte order. */
  readonly afterName: string | null;
  readonly max: number;
  readonly busyOnly: boolean;
  /** The orders by waiters have only locks with waiters, and cost more the more claims wait. */
  readonly order: "name" | "longest_wait" | "most_waiters";
}

export interface LimitsQuery {
  /** Of names, and of patterns as they are written. */
  readonly prefix: string;
  readonly after: Pick<LimitSetting, "kind" | "target"> | null;
  /** Names at the most. */
  readonly max: number;
}

/** A limit that was set. */
export interface LimitSetting {
  readonly kind: "pattern" | "name";
  /** The pattern with its star, or the name. */
  readonly target: string;
  readonly limit: number;
  readonly version: bigint;
  readonly reason: string;
}

export type LimitRuleAnswer =
  | {
      readonly kind: "limit_rule";
      /** null: taken away. */
      readonly limit: number | null;
      readonly version: bigint;
      readonly heldPermits: number;
      readonly waiting: number;
      readonly draining: boolean;
      /** Servers that have not said yet that they decide by it. */
      readonly serversBehind: number;
    }
  | { readonly kind: "version_mismatch"; readonly version: bigint };

/** A lock as listings show it. */
export interface ViewedLock {
  readonly lock: Lock;
  readonly limit: EffectiveLimit;
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
}

/** Which locks a Capture is after. */
export type CaptureTarget =
  /** Locks with records whose names begin so. */
  | { readonly kind: "prefix"; readonly prefix: string }
  | { readonly kind: "names"; readonly names: readonly string[] };

export interface CaptureInput extends Pick<Acquire, "ttlUs" | "owner" | "labels"> {
  readonly target: CaptureTarget;
  /** Leases at the most. */
  readonly max: number;
  readonly terms: Terms | null;
  /** The caller's; empty: it cannot ask again. */
  readonly requestId: string;
}

/** Who asks for a Capture. What was not begun when the call is cancelled is not begun any more. */
export interface CaptureCaller extends Caller {
  /** Whether nobody waits for its answer any more. */
  readonly cancelled: boolean;
  /** Whether that is so because the client has said so: it does not come back. */
  readonly isGivenUp?: boolean;
}

export interface CapturedLease {
  readonly claim: Claim;
  readonly lockName: string;
  /** Remaining times count from here. */
  readonly nowUs: number;
}

export interface Captured {
  /** Those longest due first. */
  readonly leases: readonly CapturedLease[];
  /** Where there are none: in how long there may be one, if that is known. */
  readonly retryAfterUs: number | null;
  /** The request id had leases before: there are never any others, also where these have ended. */
  readonly isRepeated?: boolean;
  /** Where there are none: it has not looked at all that there is, and the next one goes on from there. */
  readonly isCutShort?: boolean;
}

/** What became of one attempt at a Capture, and how many candidates were refused it. */
export interface CaptureEvent {
  readonly kind: "captured";
  readonly outcome: "all" | "some" | "none" | "repeated";
  readonly refused: number;
}

/** What a watch has to tell next. */
export interface WatchUpdate {
  /** A snapshot begins with it that takes the place of all that was told before. */
  readonly beganAnew: boolean;
  readonly locks: readonly ViewedLock[];
  /** Names of locks that are gone. */
  readonly deleted: readonly string[];
  /** The snapshot is complete with it. */
  readonly complete: boolean;
}

/** What is not taken is gathered up to a bound, beyond which the watch begins anew. */
export interface LockWatch {
  /**
   * The next update, as soon as there is one; one call at a time. Rejects with a Fault where the first snapshot cannot be
   * read or too many locks are watched, and with what `close` was given.
   */
  next(): Promise<WatchUpdate>;
  /** Can be called twice; the first time counts. */
  close(why: Error): void;
}

/** What happens to watches of locks. */
export type WatchEvent =
  | { readonly kind: "watch_opened" }
  | { readonly kind: "watch_closed" }
  | { readonly kind: "watch_told"; readonly locks: number; readonly deleted: number }
  | {
      readonly kind: "watch_began_anew";
      readonly cause: "slow_reader" | "outage" | "failed_over" | "clock";
    };

/** What happens in an engine, for metrics and the log. */
export type EngineEvent =
  /** A transaction of so many commands for so many locks was committed. */
  | { readonly kind: "batch"; readonly commands: number; readonly locks: number }
  /** A command was answered, `seconds` after it was submitted. */
  | {
      readonly kind: "answered";
      readonly command: Command;
      readonly outcome: Outcome;
      readonly lockName: string;
      readonly seconds: number;
    }
  /** Something happened to a claim or a limit. */
  | { readonly kind: "event"; readonly event: Event; readonly lockName: string }
  /** A limit rule was changed. */
  | {
      readonly kind: "limit_rule_set";
      readonly prefix: string;
      readonly limit: number | null;
      readonly version: bigint;
      readonly reason: string;
      /** Servers that have not said yet that they decide by it. */
      readonly serversBehind: number;
      readonly caller: Caller | undefined;
    }
  /** A transaction was repeated; the cause is StoreError.reason. */
  | { readonly kind: "retried"; readonly cause: string }
  /** The database's clock went ahead of (positive) or behind this process's own by so much between two readings. */
  | { readonly kind: "clock_jumped"; readonly byUs: number }
  /** The database has become another server, or an older copy of itself: nothing is granted for so long. */
  | { readonly kind: "failed_over"; readonly pauseUs: number }
  | WatchEvent
  | CaptureEvent
  /** A background loop failed once; it goes on. */
  | { readonly kind: "loop_failed"; readonly loop: string; readonly error: unknown };

/** Is told of all that happens; of what a transaction did, after its commit. Must not throw. */
export type EngineObserver = (event: EngineEvent) => void;
