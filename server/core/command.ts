// What can be asked of one lock, and what the answers are. An expected "no" is an outcome, never an exception.

import type { Claim, ClaimRef, Mode } from "./claim.ts";
import type { EffectiveLimit } from "./limit.ts";
import type { Lock } from "./lock.ts";
import type { LockRecord, RunResult, Terms } from "./record.ts";

/** Who made a call. Decides nothing. */
export interface Caller {
  /** The address of the other end of the connection. */
  getPeer(): string;
  /** Whether nobody waits for the answer any more. */
  readonly cancelled?: boolean;
  /** What its calls have in common, and nobody else's: its session; unset: its connection, by the address. */
  readonly source?: object;
  /** Called with each lease that the call was given or has kept, in the turn of the commit. Must not throw. */
  holds?(lease: Claim): void;
}

interface Called {
  readonly caller?: Caller | undefined;
}

/** A request for the lock. `secret` and `requestId` are made before the decision, so that it can be repeated. */
export interface Acquire extends Called {
  readonly verb: "acquire";
  readonly name: string;
  readonly mode: Mode;
  readonly permits: number;
  /** null: without end. */
  readonly ttlUs: number | null;
  readonly requestId: string;
  readonly secret: string;
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What it wants of the lock's record. */
  readonly terms?: Terms | null;
  /** May it take a place in the queue? */
  readonly mayWait: boolean;
  readonly maxWaitUs: number | null;
  /** One of several that would do: where another transaction holds the lock, it is refused rather than waited for. */
  readonly isOneOfMany?: boolean;
  /** Its caller has waited for this, and may be gone: granted at once, it is as provisional as after a wait in the queue. */
  readonly afterWait?: boolean;
  /** The replica whose stream or blocked call will keep the place alive; null for a caller that polls. */
  readonly replica: bigint | null;
}

/** A sign of life of a waiter. Where it was granted the lease meanwhile, it has come for it. */
export interface Attach extends Called {
  readonly verb: "attach";
  readonly ref: ClaimRef;
  readonly replica: bigint | null;
}

/**
 * The last stream of a replica for this waiter is gone, and has told it nothing final: the grace period begins. A lease
 * that was granted meanwhile runs for the grace period already.
 */
export interface Detach {
  readonly verb: "detach";
  readonly ref: ClaimRef;
  readonly replica: bigint;
}

export interface Renew extends Called {
  readonly verb: "renew";
  readonly ref: ClaimRef;
  /** undefined: as last asked for. */
  readonly ttlUs: number | undefined;
}

/** Ends a lease, or gives up a place. */
export interface Release extends Called {
  readonly verb: "release";
  readonly ref: ClaimRef;
  /** What is written into the lock's record. */
  readonly result?: RunResult | null;
  /** An earlier try of this call was committed if the claim has ended: then its end counts as this call's. */
  readonly repeated: boolean;
}

/**
 * Nobody can ever act on what this request has brought about: its caller chose no request id and was told nothing. Ends the
 * claim, if there is one.
 */
export interface Withdraw {
  readonly verb: "withdraw";
  readonly requestId: string;
}

/** Sets the limit of this very name; null takes it away. */
export interface SetLimit extends Called {
  readonly verb: "set_limit";
  readonly name: string;
  readonly limit: number | null;
  readonly expectedVersion: bigint | undefined;
  readonly reason: string;
}

/** An operator ends one claim, or all holders. */
export interface ForceRelease extends Called {
  readonly verb: "force_release";
  readonly name: string;
  /** null: all holders that were loaded. */
  readonly ticketNumber: bigint | null;
  readonly reason: string;
  /** Of a repeated call, what the first attempt has chosen: whoever has come since was not meant. */
  readonly chosen?: { readonly ticketNumbers: ReadonlySet<bigint>; readonly holdersLeft: number };
}

/** Sets what is named of the lock's record, and makes one if there is none. */
export interface UpdateLock extends Called {
  readonly verb: "update_lock";
  readonly name: string;
  /** An instant, or a time from now; null takes it away, undefined leaves it. */
  readonly notBefore: { readonly atUs: number } | { readonly inUs: number } | null | undefined;
  /** null: any number; undefined leaves them. */
  readonly attemptsLeft: number | null | undefined;
  /** undefined leaves it. */
  readonly status: string | undefined;
  /** 0: there is no record. */
  readonly expectedVersion: bigint | undefined;
}

/** Takes the record of a lock away that nobody holds or waits for. */
export interface DeleteLock extends Called {
  readonly verb: "delete_lock";
  readonly name: string;
  readonly expectedVersion: bigint | undefined;
}

/** Time may have passed: ends what is due and grants what fits. Every command does this; this one does only this. */
export interface Advance {
  readonly verb: "advance";
}

export type Command =
  | Acquire
  | Attach
  | Detach
  | Renew
  | Release
  | Withdraw
  | SetLimit
  | ForceRelease
  | UpdateLock
  | DeleteLock
  | Advance;

/** Why an Acquire left nothing behind. */
export type Refused =
  | "busy"
  | "paused"
  | "failed_over"
  | "queue_full"
  | "never_fits"
  | "not_before"
  | "exhausted"
  | "status_mismatch";

export type Outcome =
  | { readonly kind: "held"; readonly claim: Claim }
  /** It waits. The same transaction may still grant it to what later commands of the batch have made room for. */
  | {
      readonly kind: "waiting";
      readonly claim: Claim;
      /** Known without a further read only for a claim that has just been put at the end of the queue. */
      readonly place: Place | null;
    }
  | {
      readonly kind: "refused";
      readonly reason: Refused;
      /** That is in force. */
      readonly limit: EffectiveLimit;
      /** How long it will be so at least, where that is known. */
      readonly forUs?: number;
      /** That was found, where it is none of those wanted. */
      readonly status?: string;
    }
  /** The claim had ended, or ended by this command. */
  | { readonly kind: "ended"; readonly claim: Claim }
  | { readonly kind: "released"; readonly byThisCall: boolean }
  | { readonly kind: "limit"; readonly lock: Lock; readonly limit: EffectiveLimit; readonly version: bigint }
  | { readonly kind: "version_mismatch"; readonly version: bigint }
  /** `holdersLeft`: those that it did not end, before anybody else is granted the lock. */
  | { readonly kind: "forced"; readonly ended: readonly Claim[]; readonly holdersLeft: number }
  | {
      readonly kind: "record";
      readonly lockId: bigint;
      /** As it is after the command and what that granted. */
      readonly record: LockRecord;
      /** With which the command has set it. */
      readonly setVersion: bigint;
    }
  /** `version`: that it had; 0 where there was none. */
  | {
      readonly kind: "deleted";
      readonly lockId: bigint;
      readonly byThisCall: boolean;
      readonly version: bigint;
    }
  /** Somebody holds it or waits for it. */
  | { readonly kind: "in_use" }
  | { readonly kind: "request_id_reused" }
  | { readonly kind: "unknown_claim" }
  /** An earlier attempt may have made this change, and others have made changes since. The engine turns it into a Fault. */
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
  force_release: "forced";
  update_lock: "record" | "version_mismatch";
  delete_lock: "deleted" | "in_use" | "version_mismatch";
  advance: "done";
}

export type OutcomeNamed<Kind extends Outcome["kind"]> = Extract<Outcome, { kind: Kind }>;
export type OutcomeOf<Verb extends Command["verb"]> = OutcomeNamed<OutcomeKinds[Verb]>;

export interface Place {
  /** Waiters before this one. */
  readonly ahead: number;
  /** Permits that they ask for. */
  readonly permitsAhead: number;
  /** Waiters in all. */
  readonly queueLength: number;
}

/** What happened to claims, in order: for those who wait, for the metrics and for the audit log. */
export type Event =
  | { readonly kind: "granted"; readonly claim: Claim; readonly waitedUs: number; readonly queued: boolean }
  | { readonly kind: "enqueued"; readonly claim: Claim }
  /** `record`: what the lock remembers after a lease. */
  | {
      readonly kind: "ended";
      readonly claim: Claim;
      readonly was: "waiting" | "held";
      readonly record?: LockRecord | null;
    }
  | { readonly kind: "limit_set"; readonly lock: Lock; readonly from: number | null }
  /** By UpdateLock. */
  | { readonly kind: "record_set"; readonly lockId: bigint; readonly record: LockRecord }
  /** By DeleteLock: as it was. */
  | { readonly kind: "record_deleted"; readonly lockId: bigint; readonly record: LockRecord };
