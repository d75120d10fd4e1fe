// What callers ask the engine about claims that have ended, about changes, and about waits; and what it answers.

import type { Claim, ClaimRef, ClaimState, EndReason } from "../core/claim.ts";
import type { Place } from "../core/command.ts";
import type { EffectiveLimit, EffectiveRate } from "../core/limit.ts";
import type { Lock } from "../core/lock.ts";
import type { ChangeKind, NotedChange } from "../core/noted-change.ts";
import type { ChangePosition, EndedPosition, KeptChange, RowHolder } from "../storage/store.ts";
import type { PoolView } from "./answers.ts";

export type { ChangePosition, KeptChange } from "../storage/store.ts";

/** Which claims to list: live ones by the names of their locks, then ended ones, newest first. */
export interface ClaimsQuery {
  /** Only claims of this lock; null: of all locks with the prefix. */
  readonly lockName: string | null;
  readonly prefix: string;
  /** Claims of locks with other names are left out; null: none are. */
  readonly isSeen: ((name: string) => boolean) | null;
  /** Empty: any. */
  readonly owner: string;
  readonly principal: string;
  /** The claims have all of these. */
  readonly labels: Readonly<Record<string, string>>;
  /** Empty: in any state. */
  readonly states: readonly ClaimState[];
  /** Empty: live claims, and those that ended in any way. */
  readonly endReasons: readonly EndReason[];
  /** Ended claims that ended at this time or later, and before that time; null: at any. */
  readonly fromUs: number | null;
  readonly untilUs: number | null;
  /** Claims that held the lock at this time; null: at any or never. Only of one lock. */
  readonly heldAtUs: number | null;
  /** The listing continues after this claim; null: it begins. */
  readonly after: ClaimPosition | null;
}

/** A claim in the order of a listing. */
export type ClaimPosition =
  | { readonly kind: "live"; readonly lockName: string; readonly ticketNumber: bigint }
  | ({ readonly kind: "ended" } & EndedPosition);

/** The next item of a listing, or where it has stopped because it has searched enough for one page. */
export type Listed<Item, Position> =
  | { readonly kind: "found"; readonly item: Item; readonly at: Position }
  | {
      readonly kind: "stopped";
      readonly at: Position;
      /** How far back it has searched; null: it has searched nothing that has ended. */
      readonly backToUs: number | null;
    };

/** `backToUs`: when the last ended claim was requested (of one lock) or ended. */
export type ListedClaim = Listed<{ readonly claim: Claim; readonly lockName: string }, ClaimPosition>;

/** Which changes to list, newest first. */
export interface ChangesQuery {
  /** Only changes of this lock and of patterns that match its name; null: of all with the prefix. */
  readonly lockName: string | null;
  /** A prefix of names, and of patterns as they are written. */
  readonly prefix: string;
  /** Other changes are left out; null: none are. */
  readonly isSeen: ((change: NotedChange) => boolean) | null;
  /** Empty: of any kind. */
  readonly kinds: readonly ChangeKind[];
  readonly fromUs: number | null;
  readonly untilUs: number | null;
  /** Empty: by anybody. */
  readonly changedBy: string;
  readonly after: ChangePosition | null;
}

export type ListedChange = Listed<KeptChange, ChangePosition>;

/** Whose wait to explain. */
export type WaitTarget =
  /** That of a request for one permit that would come now. */
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "claim"; readonly name: string; readonly ticketNumber: bigint }
  | { readonly kind: "ticket"; readonly ref: ClaimRef };

/** One cause why a lock is not granted. */
export type WaitCause =
  | { readonly kind: "failed_over"; readonly untilUs: number }
  /** Another transaction holds the lock's rows: which one, and for how long, as far as that is known. */
  | { readonly kind: "rows_held"; readonly holder: RowHolder | null; readonly forUs: number | null }
  /** The limit is 0, or smaller than what is held or asked for. `set`: how it was set; null: nobody knows any more. */
  | { readonly kind: "limit"; readonly limit: EffectiveLimit; readonly set: KeptChange | null }
  | { readonly kind: "not_before"; readonly untilUs: number }
  /** `untilUs`: when the rate allows the grant, if those ahead are granted first; null: its burst is too small. */
  | { readonly kind: "rate"; readonly rate: EffectiveRate; readonly untilUs: number | null }
  | { readonly kind: "exhausted" }
  | { readonly kind: "status"; readonly status: string }
  /** Others hold what the claim needs. `holders`: the oldest. */
  | {
      readonly kind: "held";
      readonly holders: readonly Claim[];
      readonly holderCount: number;
      /** The first end of their leases; null: none has one; undefined: the caller may not see it. */
      readonly firstEndsAtUs: number | null | undefined;
    }
  /** A pool over the lock has no room, or not yet. `ahead`: those that wait there before it, or all if it does not wait there. */
  | {
      readonly kind: "pool";
      readonly pool: PoolView;
      readonly isHere: boolean;
      readonly ahead: number;
      readonly permitsAhead: number;
      /** When its rate allows the grant, if it is in the way and those ahead are granted first; null: it is not. */
      readonly rateUntilUs: number | null;
    }
  /** Others wait before it. `first`: the first of them. */
  | {
      readonly kind: "queued";
      readonly ahead: number;
      readonly permitsAhead: number;
      readonly first: readonly Claim[];
      /** Nothing here is in the way of the first one, but these other locks that it wants. Unset: that is not so. */
      readonly firstWaitsFor?: readonly string[];
    };

/** How long a wait is likely to last from now on. */
export interface WaitEstimate {
  readonly lowUs: number;
  readonly medianUs: number;
  readonly highUs: number;
  /** How many recent leases it is based on. */
  readonly leases: number;
}

/** What is in the way at one lock. */
export interface ExplainedLock {
  readonly lock: Lock;
  readonly limit: EffectiveLimit;
  /** How the limit was set; null: nobody set it, or nobody knows any more. */
  readonly limitSet: KeptChange | null;
  /** The waiter; null: a request that would come now. */
  readonly claim: Claim | null;
  readonly place: Omit<Place, "queueLength">;
  /** The most important first. */
  readonly causes: readonly WaitCause[];
}

/** Why a claim waits, or why a request would have to: as a whole, and at the lock that was asked about. */
export interface Explanation extends ExplainedLock {
  readonly nowUs: number;
  /** All locks of a claim for several, in the order of the request; then `causes` has what is at none of them. null: it is for one. */
  readonly each: readonly ExplainedLock[] | null;
  /** The caller has asked by its own ticket, so it has named all of its locks. */
  readonly isOwn: boolean;
  /** Locks that the caller may not see are in the way, too. */
  readonly isPartial?: boolean;
  readonly estimate: WaitEstimate | null;
}
