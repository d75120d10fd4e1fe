// What callers ask of the engine, and what it answers and reports. engine.ts has the verbs.

import type { Claim, Terms, WantedLock } from "../core/claim.ts";
import type { Acquire, Caller, Command, Event, Outcome, OutcomeOf, Place } from "../core/command.ts";
import type {
  EffectiveLimit,
  EffectiveQueueRules,
  EffectiveRate,
  LockSettings,
  NewSettings,
} from "../core/limit.ts";
import type { Lock } from "../core/lock.ts";
import type { QueueRules } from "../core/queue-rules.ts";
import type { Rate } from "../core/rate.ts";
import type { Finding, RecordPosition, RecordSelector } from "../storage/store.ts";

/** A request for a lock, before the engine adds a secret and, if the caller sent none, a request id. */
export interface AcquireInput
  extends Pick<
    Acquire,
    "name" | "mode" | "permits" | "ttlUs" | "owner" | "labels" | "terms" | "maxWaitUs" | "headStartUs"
  > {
  /** The caller's request id; empty: the engine makes one. */
  readonly requestId: string;
  /** Whether the request may take a place in the queue. */
  readonly mayWait: boolean;
  /** Further locks, to have all or none; unset: none. */
  readonly also?: readonly WantedLock[];
}

/** An outcome, with what an answer to the client needs. */
export interface Answer<Of extends Outcome = Outcome> {
  readonly outcome: Of;
  /** The database's clock in the deciding transaction: remaining times count from here. */
  readonly nowUs: number;
  readonly lockId: bigint;
  readonly lockName: string;
}

/** The answer to a verb. */
export type AnswerTo<Verb extends Command["verb"]> = Answer<OutcomeOf<Verb>>;

/** Whoever asked. One of these is called, once, in the tick in which the outcome is known. They must not throw. */
export interface Asker<Given> {
  settle(answer: Given): void;
  fail(error: unknown): void;
}

/**
 * Follows a claim on behalf of an open stream or a blocked call. The engine registers the follower with the answer
 * `waiting`, calls `settled` at most once, and then forgets it. The engine may call `settled` before the caller has seen the
 * answer, because one transaction may enqueue a claim and grant it. The engine calls both methods synchronously; they
 * must not throw or wait.
 */
export interface Follower {
  /** The claim was granted (state held) or has ended. The change is committed. */
  settled(claim: Claim, nowUs: number): void;
  /** The place may have changed. Several changes may cause one call. Leave it out if places are not shown. */
  placed?(place: Place, nowUs: number): void;
}

/** A waiter as it was when somebody asked for its place. Of a claim for several locks, the lead. */
export type Waiter = Pick<Claim, "lockId" | "ticketNumber" | "levels"> & Partial<Pick<Claim, "members">>;

export interface LocksQuery {
  readonly prefix: string;
  /** Locks with other names are left out; null or unset: none are. */
  readonly isSeen?: ((name: string) => boolean) | null;
  /** Only with the order by name, in byte order. */
  readonly afterName: string | null;
  readonly max: number;
  readonly busyOnly: boolean;
  /** Only locks with records of these; null or unset: all locks. Only with the order by name, which it replaces. */
  readonly records?: Omit<RecordSelector, "prefix"> | null;
  /** Behind this lock; null or unset: from the first on. */
  readonly afterRecord?: RecordPosition | null;
  /** The orders by waiters list only locks with waiters, and cost more the more claims wait. */
  readonly order: "name" | "longest_wait" | "most_waiters";
}

export interface LimitsQuery {
  /** A prefix of names, and of patterns as they are written. */
  readonly prefix: string;
  /** As in LocksQuery. A pattern counts as a name. */
  readonly isSeen?: LocksQuery["isSeen"];
  readonly after: Pick<LimitSetting, "kind" | "target"> | null;
  /** At most this many names. */
  readonly max: number;
}

/** What was set for a name, a pattern or a pool. */
export interface LimitSetting extends LockSettings {
  readonly kind: "pattern" | "pool" | "name";
  /** The pattern with its star, or the name. */
  readonly target: string;
  /** What is used of a pool. */
  readonly use?: PoolUse;
  readonly version: bigint;
  readonly reason: string;
}

export type LimitRuleAnswer =
  | {
      readonly kind: "limit_rule";
      /** The limit of names that begin with the prefix, and to which no other setting applies. */
      readonly limit: number;
      /** Their rate; null: none. */
      readonly rate: Rate | null;
      /** Their queue rules; null: none. */
      readonly queueRules: QueueRules | null;
      readonly version: bigint;
      readonly heldPermits: number;
      readonly waiting: number;
      readonly draining: boolean;
      /** Servers that have not yet reported that they decide by it. */
      readonly serversBehind: number;
    }
  | { readonly kind: "version_mismatch"; readonly version: bigint };

/** What the change of a pool has led to. */
export type PoolAnswer =
  | {
      readonly kind: "pool";
      /** The pool's guard row. */
      readonly lock: Lock;
      readonly version: bigint;
      /** Servers that have not yet reported that they know of it, or that it is gone. */
      readonly serversBehind: number;
    }
  | { readonly kind: "version_mismatch"; readonly version: bigint }
  /** `over`: the pattern of names over which there would be more than POOLS_OVER_NAME_MAX. */
  | { readonly kind: "too_many_pools"; readonly over: string };

/** What is used of a pool. */
export interface PoolUse {
  readonly heldPermits: bigint;
  readonly holderCount: number;
  readonly waiterCount: number;
  readonly draining: boolean;
  readonly counting: boolean;
  /** Permits that may be taken of its rate now. */
  readonly available: number;
}

/** A pool as it is shown. */
export interface PoolView {
  readonly limit: EffectiveLimit;
  readonly rate: EffectiveRate | null;
  readonly use: PoolUse;
}

/** A lock as listings show it. */
export interface ViewedLock {
  readonly lock: Lock;
  readonly limit: EffectiveLimit;
  /** The rate in force, and how much of it may be taken now; null: none. */
  readonly rate: (EffectiveRate & { readonly available: number }) | null;
  readonly queueRules: EffectiveQueueRules | null;
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
  /** The pools over it, narrow to wide, where a single lock is shown. */
  readonly pools?: readonly PoolView[];
  /** The patterns of the pools at which its claims wait, by the pools' ids. */
  readonly poolPatterns?: ReadonlyMap<bigint, string>;
  /** Of a listing by status: where it stood. */
  readonly at?: RecordPosition;
}

/** The locks that a Capture asks for. */
export type CaptureTarget =
  /** Locks with records whose names begin with the prefix. */
  | { readonly kind: "prefix"; readonly prefix: string }
  | { readonly kind: "names"; readonly names: readonly string[] };

export interface CaptureInput extends Pick<Acquire, "ttlUs" | "owner" | "labels"> {
  readonly target: CaptureTarget;
  /** At most this many leases. */
  readonly max: number;
  readonly terms: Terms | null;
  /** The caller's request id; empty: the caller cannot repeat the call. */
  readonly requestId: string;
}

export interface CapturedLease {
  readonly claim: Claim;
  readonly lockName: string;
  /** Remaining times count from here. */
  readonly nowUs: number;
}

export interface Captured {
  /** Longest due first. */
  readonly leases: readonly CapturedLease[];
  /** If there are no leases: in how long there may be one, if known. */
  readonly retryAfterUs: number | null;
  /** The request id had leases before. It never gets others, even if those have ended. */
  readonly isRepeated?: boolean;
  /** The caller had left when this was taken. */
  readonly isUnheard?: true;
  /** If there are no leases: the search stopped early, and the next capture continues from there. */
  readonly isCutShort?: boolean;
  /** The caller may hold no more leases now, so the attempt did not look. */
  readonly isWithoutRoom?: true;
}

/** The result of one attempt at a Capture, and how many candidates were refused. */
export interface CaptureEvent {
  readonly kind: "captured";
  readonly outcome: "all" | "some" | "none" | "repeated";
  readonly refused: number;
}

/** The next report of a watch. */
export interface WatchUpdate {
  /** This update begins a snapshot, which replaces everything reported before. */
  readonly beganAnew: boolean;
  readonly locks: readonly ViewedLock[];
  /** Names of locks that are gone. */
  readonly deleted: readonly string[];
  /** This update completes the snapshot. */
  readonly complete: boolean;
}

/** Collects updates that are not yet read, up to a bound; beyond it, the watch begins anew. */
export interface LockWatch {
  /**
   * Resolves with the next update; call again only after the last call has settled. Rejects with a Fault if the first
   * snapshot cannot be read or too many locks are watched, and with the error that `close` was given.
   */
  next(): Promise<WatchUpdate>;
  /** Safe to call twice; the first call counts. */
  close(why: Error): void;
}

/** What happens to watches of locks. */
export type WatchEvent =
  | { readonly kind: "watch_opened" }
  | { readonly kind: "watch_closed" }
  | { readonly kind: "watch_sent"; readonly locks: number; readonly deleted: number }
  | {
      readonly kind: "watch_began_anew";
      readonly cause: "slow_reader" | "outage" | "failed_over" | "clock";
    };

/** What the clean-up deletes. */
export type DeletedRows = "ended_claims" | "idle_locks";

/** A check of the rows of live claims: what is damaged, or why this server has not checked. */
export type CheckEvent =
  | { readonly kind: "checked"; readonly findings: readonly Finding[] }
  | { readonly kind: "not_checked"; readonly why: "other_server" | "too_much" | "failed" };

/** What happens in an engine, for metrics and the log. */
export type EngineEvent =
  /** A transaction with this many commands for this many locks was committed. */
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
  /** A limit rule or a pool was changed. */
  | {
      readonly kind: "limit_rule_set";
      readonly prefix: string;
      readonly isPool: boolean;
      readonly set: NewSettings;
      readonly version: bigint;
      readonly reason: string;
      /** Servers that have not yet reported that they decide by it. */
      readonly serversBehind: number;
      readonly caller: Caller | undefined;
    }
  /** A transaction was repeated; the cause is StoreError.reason. */
  | { readonly kind: "retried"; readonly cause: string }
  /** Between two readings, the database's clock went ahead of (positive) or behind this process's clock by `byUs`. */
  | { readonly kind: "clock_jumped"; readonly byUs: number }
  /** The database has become another server, or an older copy of itself: nothing is granted for `pauseUs`. */
  | { readonly kind: "failed_over"; readonly pauseUs: number }
  | WatchEvent
  | CaptureEvent
  | CheckEvent
  | { readonly kind: "deleted"; readonly what: DeletedRows; readonly rows: number }
  /** A background loop failed once; it continues. */
  | { readonly kind: "loop_failed"; readonly loop: string; readonly error: unknown };

/** Receives everything that happens; what a transaction did, after its commit. Must not throw. */
export type EngineObserver = (event: EngineEvent) => void;
