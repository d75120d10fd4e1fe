// Commands for one lock, and their outcomes. An expected refusal is an outcome, never an exception.

import type { Claim, ClaimKey, ClaimRef, Mode, Terms, WantedLock } from "./claim.ts";
import type {
  EffectiveLimit,
  EffectiveQueueRules,
  EffectiveRate,
  LockSettings,
  NewSettings,
} from "./limit.ts";
import type { Lock, LockRecord, RunResult } from "./lock.ts";
import type { CallSpan } from "./span.ts";

/** Who made a call. */
export interface Caller {
  /** The address of the other end of the connection. */
  getPeer(): string;
  /** Who it is, as the server has verified; empty or unset if it asks nobody. */
  readonly principal?: string;
  /** Asked before a new name of a lock is made for it; false: it has made too many lately. */
  mayMakeName?(): boolean;
  /** Whether it may end the wait of another principal at this lock, where queue rules say so; unset: it may. */
  maySupersede?(lockName: string): boolean;
  /**
   * Keeps room for so many more leases in its quota, until the function that it returns is called. null: it has no
   * room; undefined or unset: nothing bounds it.
   */
  roomForLeases?(leases: number): (() => void) | null | undefined;
  /** Aborted when nobody waits for the answer any more; the reason is a ClientGone. */
  readonly signal?: AbortSignal;
  /** Shared by all calls of a session, and by no others; unset: the connection's address takes its role. */
  readonly source?: object;
  /** Unset: nobody traces the call. */
  readonly span?: CallSpan | undefined;
  /** Called with each lease that the call was granted or has kept, in the tick of the commit. Must not throw. */
  holds?(lease: Claim): void;
}

interface Called {
  readonly caller?: Caller | undefined;
}

/** A further lock of an Acquire for several. The engine finds its id before the decision. */
export interface FurtherLock extends WantedLock {
  lockId: bigint;
}

/** `secret` and `requestId` are made before the decision, so that the command can be repeated. */
export interface Acquire extends Called {
  readonly verb: "acquire";
  readonly name: string;
  readonly mode: Mode;
  readonly permits: number;
  /** Further locks: all or none. Unset: none. */
  readonly also?: readonly FurtherLock[] | undefined;
  /** null: without end; SPENDS: the claim ends with its grant. */
  readonly ttlUs: number | null;
  readonly requestId: string;
  readonly secret: string;
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What the claim wants of the lock's record. */
  readonly terms?: Terms | null;
  /** Whether the request may take a place in the queue. */
  readonly mayWait: boolean;
  /** By how much the claim is queued as if it had come earlier, as far as the queue rules of the lock allow it. Unset: not. */
  readonly headStartUs?: number | undefined;
  readonly maxWaitUs: number | null;
  /** One of several locks that would do. If another transaction holds the lock's rows, the server refuses at once. */
  readonly isOneOfMany?: boolean;
  /** The caller has waited for this and may be gone, so a grant at once is as provisional as one after a wait. */
  readonly afterWait?: boolean;
  /** The replica whose stream or blocked call will keep the place alive; null for a caller that polls. */
  readonly replica: bigint | null;
}

/** A sign of life of a waiter. If its claim was granted meanwhile, the waiter has come for the lease. */
export interface Attach extends Called {
  readonly verb: "attach";
  readonly ref: ClaimRef;
  readonly replica: bigint | null;
}

/**
 * The replica's last stream for this waiter is gone, without a final answer: the grace period begins. A lease that was
 * granted meanwhile lasts only for the grace period anyway.
 */
export interface Detach {
  readonly verb: "detach";
  readonly ref: ClaimRef;
  readonly replica: bigint;
}

export interface Renew extends Called {
  readonly verb: "renew";
  readonly ref: ClaimRef;
  /** undefined: as last requested. */
  readonly ttlUs: number | undefined;
}

/** Ends a lease, or gives up a place. */
export interface Release extends Called {
  readonly verb: "release";
  readonly ref: ClaimRef;
  /** What is written into the lock's record. */
  readonly result?: RunResult | null;
  /** The work has failed. Unset: it has not. */
  readonly failed?: boolean;
  /** An earlier attempt of this call ended the claim, so the end counts as this call's. */
  readonly repeated?: boolean;
}

/**
 * Ends the claim of this request, if there is one: its caller got no answer. If the caller has chosen the request id,
 * it may have repeated the request, so this ends only the claim with this secret, and only until somebody comes for it.
 */
export interface Withdraw {
  readonly verb: "withdraw";
  readonly requestId: string;
  readonly secret: string;
}

/** Sets the limit, the rate, the queue rules or several of them of exactly this name. */
export interface SetLimit extends Called, NewSettings {
  readonly verb: "set_limit";
  readonly name: string;
  readonly expectedVersion: bigint | undefined;
  readonly reason: string;
}

/** An operator ends one claim, or all holders. */
export interface ForceRelease extends Called {
  readonly verb: "force_release";
  readonly name: string;
  /** null: all loaded holders. */
  readonly ticketNumber: bigint | null;
  readonly reason: string;
  /** For a repeated call: what the first attempt chose. Holders that came later were not meant. */
  readonly chosen?: { readonly ticketNumbers: ReadonlySet<bigint>; readonly holdersLeft: number };
}

/** Sets the named parts of the lock's record, and creates the record if there is none. */
export interface UpdateRecord extends Called {
  readonly verb: "update_record";
  readonly name: string;
  /** An instant, or a time from now; null removes it, undefined keeps it. */
  readonly notBefore: { readonly atUs: number } | { readonly inUs: number } | null | undefined;
  /** null: any number; undefined keeps them. */
  readonly attemptsLeft: number | null | undefined;
  /** undefined keeps it. */
  readonly status: string | undefined;
  /** 0: there is no record. */
  readonly expectedVersion: bigint | undefined;
  /** For people; unset: none. */
  readonly reason?: string;
  /** false: the lock must have a record already; unset: the command makes it if necessary. */
  readonly mayMakeRecord?: boolean;
}

/** Removes the record of a lock that nobody holds or waits for. */
export interface DeleteRecord extends Called {
  readonly verb: "delete_record";
  readonly name: string;
  readonly expectedVersion: bigint | undefined;
  /** For people; unset: none. */
  readonly reason?: string;
}

/**
 * The walk with this number has been at all who held before the pool was made. It has no effect if the pool was made again in
 * between.
 */
export interface EndCounting {
  readonly verb: "end_counting";
  readonly counting: bigint;
}

/** Ends what is due and grants what fits, as every command does: time may have passed. */
export interface Advance {
  readonly verb: "advance";
  /** Claims of the lock that the decision must read; unset: those that are due. */
  readonly claims?: readonly ClaimKey[];
  /** Waits while another transaction holds the lock's rows; unset: it is refused then, because its sender repeats it anyway. */
  readonly waits?: boolean;
  /** Counts those of these claims that are past a pool which was made meanwhile; unset: it does not. */
  readonly countsPast?: boolean;
}

/** The commands whose changes must not be made twice: see `Marks`. */
export type Change = SetLimit | ForceRelease | UpdateRecord | DeleteRecord;

export type Command = Acquire | Attach | Detach | Renew | Release | Withdraw | Change | EndCounting | Advance;

/** The commands that clients ask for in full. The engine completes an Acquire and an Attach. */
export type Asked = Renew | Release | Change;

/** Why an Acquire was refused without leaving a claim. */
export type Refused =
  | "busy"
  | "paused"
  | "failed_over"
  | "queue_full"
  | "never_fits"
  | "not_before"
  | "rate"
  | "exhausted"
  | "status_mismatch";

export type Outcome =
  | {
      readonly kind: "held";
      readonly claim: Claim;
      /**
       * Of a renewal: how long the lease has run since its grant or its last renewal; null: nobody had come for it yet;
       * unset: unknown.
       */
      readonly ranUs?: number | null;
    }
  /** The claim waits. Later commands of the same transaction may still make room for it. */
  | {
      readonly kind: "waiting";
      readonly claim: Claim;
      /** Known without a further read only for a claim that was just put at the end of the queue. */
      readonly place: Place | null;
    }
  | {
      readonly kind: "refused";
      readonly reason: Refused;
      /** The limit in force. */
      readonly limit: EffectiveLimit;
      /** The rate in force, if it is in the way. */
      readonly rate?: EffectiveRate;
      /** The queue rules in force, if they are in the way. */
      readonly queueRules?: EffectiveQueueRules;
      /** How long this stays so at least, if known. */
      readonly forUs?: number;
      /** The lock's status, if it is none of those wanted. */
      readonly status?: string;
      /** The holders of a busy lock, if the decision knows all of them. */
      readonly holders?: readonly Claim[];
      /** Of several locks, the one that is in the way. */
      readonly at?: { readonly lockId: bigint; readonly lockName: string };
    }
  /** The claim has ended, before this command or by it. */
  | { readonly kind: "ended"; readonly claim: Claim }
  | { readonly kind: "released"; readonly byThisCall: boolean }
  | {
      readonly kind: "limit";
      readonly lock: Lock;
      readonly limit: EffectiveLimit;
      readonly rate: EffectiveRate | null;
      readonly queueRules: EffectiveQueueRules | null;
      readonly version: bigint;
    }
  | { readonly kind: "version_mismatch"; readonly version: bigint }
  /** `holdersLeft`: holders that this command did not end, counted before anybody else is granted the lock. */
  | { readonly kind: "forced"; readonly ended: readonly Claim[]; readonly holdersLeft: number }
  | {
      readonly kind: "record";
      readonly lockId: bigint;
      /** The record after the command and the grants that followed it. */
      readonly record: LockRecord;
      /** The version that the command has set. */
      readonly setVersion: bigint;
    }
  /** `version`: of the deleted record; 0 if there was none. */
  | {
      readonly kind: "deleted";
      readonly lockId: bigint;
      readonly byThisCall: boolean;
      readonly version: bigint;
    }
  /** Somebody holds the lock or waits for it. */
  | { readonly kind: "in_use" }
  /** The lock has no record, and the command may not make one. */
  | { readonly kind: "no_record" }
  | { readonly kind: "request_id_reused" }
  | { readonly kind: "unknown_claim" }
  /** Nobody has named the lock yet. */
  | { readonly kind: "unknown_lock" }
  /** An earlier attempt may have made this change, and others have made changes since. */
  | { readonly kind: "in_doubt" }
  | { readonly kind: "done" };

/** The kinds of outcomes that each verb can have. */
export interface OutcomeKinds {
  acquire: "held" | "waiting" | "refused" | "ended" | "request_id_reused";
  attach: "held" | "waiting" | "ended" | "unknown_claim";
  detach: "done";
  renew: "held" | "waiting" | "ended" | "unknown_claim";
  release: "released" | "waiting" | "unknown_claim";
  withdraw: "done";
  set_limit: "limit" | "version_mismatch";
  force_release: "forced" | "unknown_lock";
  update_record: "record" | "version_mismatch" | "no_record";
  delete_record: "deleted" | "in_use" | "version_mismatch" | "unknown_lock";
  end_counting: "done";
  advance: "done";
}

export type OutcomeNamed<Kind extends Outcome["kind"]> = Extract<Outcome, { kind: Kind }>;
export type CommandOf<Verb extends Command["verb"]> = Extract<Command, { readonly verb: Verb }>;
export type OutcomeOf<Verb extends Command["verb"]> = OutcomeNamed<OutcomeKinds[Verb]>;

export interface Place {
  /** Waiters ahead of this one. */
  readonly ahead: number;
  /** Permits that the waiters ahead ask for. */
  readonly permitsAhead: number;
  /** Waiters in all. */
  readonly queueLength: number;
  /** The pattern of the pool at which it waits; unset: it waits for its own lock. */
  readonly pool?: string;
  /** Of several locks, the one at which most are ahead. */
  readonly waitsFor?: string;
  /** How long the lock's rate alone keeps the waiter, if those ahead are granted first; unset: it has none, or is paused. */
  readonly rateWaitUs?: number;
}

/**
 * What happened to claims, in order: for waiters, for the metrics and for the audit log. `caller`: whose command did
 * it; unset: it happened by itself, or another command made room.
 */
export type Event = Called &
  (
    | { readonly kind: "granted"; readonly claim: Claim; readonly waitedUs: number; readonly queued: boolean }
    | { readonly kind: "enqueued"; readonly claim: Claim }
    /** `record`: the lock's record after a lease; `isNewRecord`: the end of the lease has made it. */
    | {
        readonly kind: "ended";
        readonly claim: Claim;
        readonly was: "waiting" | "held";
        readonly record?: LockRecord | null;
        readonly isNewRecord?: boolean;
      }
    | { readonly kind: "limit_set"; readonly lock: Lock; readonly from: LockSettings }
    /** The record as it was set, or as it was before it was deleted; `isNewRecord`: there was none before. */
    | {
        readonly kind: "record_changed";
        readonly change: "set" | "deleted";
        readonly lockId: bigint;
        readonly record: LockRecord;
        readonly isNewRecord?: boolean;
      }
  );
