// What happened to locks, and why a claim waits: the options of these listings, and their answers as plain objects.

import type {
  Change,
  Claim,
  PoolInTheWay,
  WaitCause as ProtoCause,
  RowsHeld,
  WaitEstimate,
} from "#proto/rowlock/v1/lock_pb.js";
import { ClaimState, EndReason, ChangeKind as ProtoKind } from "#proto/rowlock/v1/lock_pb.js";
import type { ExplainWaitResponse, ListClaimsResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { EndName } from "./claim-end.ts";
import { queueRulesView, type SetQueueRules } from "./queue-rules.ts";
import { type Rate, type RateView, rateInForceView, rateView } from "./rates.ts";
import { type RecordView, recordView } from "./records.ts";
import { dateOf, msOf, timestampOf } from "./times.ts";
import {
  type ClaimView,
  claimView,
  type LimitView,
  type LockView,
  limitView,
  lockView,
  type PoolView,
  poolView,
} from "./views.ts";

interface PastOptions {
  /** Only this lock. Excludes `prefix`. */
  readonly name?: string;
  /** Only locks whose names begin so; "" (the default): all. */
  readonly prefix?: string;
  /** Only what happened at this instant of the database's clock or later. */
  readonly from?: Date;
  /** Only what happened before this instant. */
  readonly until?: Date;
  /** Entries per page, at most 1,000; 0 (the default) means 100. */
  readonly pageSize?: number;
  /**
   * The server has searched as much as it does for one page, back to this instant, and the listing goes on from there.
   * To stop it, throw.
   */
  readonly searched?: (backTo: Date) => void;
  /**
   * What ended or was changed before this instant may have been forgotten, so that finding nothing then proves nothing.
   * Called with each page, before its items.
   */
  readonly completeFrom?: (from: Date) => void;
}

/** Which claims to list. `from` and `until` are about their ends, and leave out live claims if `until` is past. */
export interface ListClaimsOptions extends PastOptions {
  readonly owner?: string;
  /** Who asked for it, as the server has verified. */
  readonly principal?: string;
  /** Claims with all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Claims in one of these states; none (the default): in any. */
  readonly states?: readonly ClaimView["state"][];
  /** Ended claims that ended in one of these ways; live ones are then left out. */
  readonly endReasons?: readonly EndName[];
  /** Claims that held the lock `name` at this instant. */
  readonly heldAt?: Date;
}

/** limit: SetLimit, also of a rate or of queue rules. record: UpdateRecord or DeleteRecord. forced release: ForceRelease. policy: a policy file read anew. */
export type ChangeKind = "limit" | "record" | "forced release" | "policy";

/** Which changes to list. With `name`, also those of patterns and pools that match it. */
export interface ListChangesOptions extends PastOptions {
  /** Changes of these kinds; none (the default): of any. */
  readonly kinds?: readonly ChangeKind[];
  /** Changes by this principal or address. */
  readonly changedBy?: string;
}

/**
 * A change that somebody made: what was before, and what is since. No limit, no rate, no queue rules and no record are unset; no policy is
 * "". What a change of a limit, a rate or queue rules left alone is the same before and after. The kind is "unknown" if the server is
 * newer.
 */
export type ChangeView = ChangeFrame &
  (
    | {
        readonly kind: "limit";
        readonly from?: number;
        readonly to?: number;
        readonly rateFrom?: Required<Rate>;
        readonly rateTo?: Required<Rate>;
        readonly queueRulesFrom?: SetQueueRules;
        readonly queueRulesTo?: SetQueueRules;
      }
    | { readonly kind: "record"; readonly from?: RecordState; readonly to?: RecordState }
    | { readonly kind: "forced release"; readonly claim: ReleasedClaim }
    | { readonly kind: "policy"; readonly from: string; readonly to: string }
    | { readonly kind: "unknown" }
  );

interface ChangeFrame {
  readonly changedAt?: Date;
  /** The changed lock. For a change of many it is unset and `pattern` or `pool` set; for a policy none is. */
  readonly name?: string;
  readonly pattern?: string;
  readonly pool?: string;
  /** Who: a principal, or an address if the server asks nobody who they are; for a policy, the server that read it. */
  readonly changedBy: string;
  readonly reason: string;
}

/** A record as a change knows it. */
export type RecordState = Omit<RecordView, "lastRun">;

/** A claim that was force-released, as it was before. */
export type ReleasedClaim = Pick<ClaimView, "ticketNumber" | "state" | "owner" | "principal">;

/** A request for a lock that would come now, or a waiter by its ticket or its public number. */
export type WaitTarget =
  | { readonly name: string; readonly ticketNumber?: bigint }
  | { readonly ticketId: string };

/** One cause why a lock is not granted. */
export type WaitCause = CauseOfWait & {
  /** Of a claim for several locks: the one with this cause. Unset for one lock, and for a pool. */
  readonly lockName?: string;
};

type CauseOfWait =
  /** Others hold what the claim needs: at most the 10 oldest of all `holderCount`. */
  | {
      readonly kind: "held";
      readonly holders: readonly ClaimView[];
      readonly holderCount: number;
      /** When the first of these leases ends if it is not renewed; unset: none of them has an end. */
      readonly firstEndsAt?: Date;
    }
  /** Others wait before it: at most the first 10 of them. */
  | {
      readonly kind: "queued";
      readonly ahead: number;
      readonly permitsAhead: number;
      readonly first: readonly ClaimView[];
    }
  /** The limit is 0, or smaller than what is held or asked for. Who set it and when: if the history still has that. */
  | { readonly kind: "limit"; readonly limit: LimitView; readonly setAt?: Date; readonly setBy?: string }
  /** The rate does not allow the grant before this instant; unset: never, as its burst is too small. */
  | { readonly kind: "rate"; readonly rate: RateView; readonly until?: Date }
  /** A pool over the lock has no room, or its rate does not allow the grant. */
  | {
      readonly kind: "pool";
      readonly pool: PoolView;
      /** It waits there now. If not, it has another lock or pool to pass before. */
      readonly waitsHere: boolean;
      /** Waiters there before it, or all if it does not wait there. */
      readonly ahead: number;
      readonly permitsAhead: number;
      /** When the rate of the pool allows the grant; unset: the rate is not in the way. */
      readonly rateUntil?: Date;
    }
  | { readonly kind: "not before"; readonly notBefore: Date }
  /** The lock's record has no attempts left. */
  | { readonly kind: "exhausted" }
  /** The lock's status, which is none of those that the claim wants. */
  | { readonly kind: "status"; readonly status: string }
  /** The database has failed over, and the server grants nothing before this instant. */
  | { readonly kind: "failed over"; readonly until: Date }
  /** Another transaction holds the lock's rows. What is unset the database or the server does not know. */
  | {
      readonly kind: "rows held";
      readonly connectionId?: bigint;
      readonly user?: string;
      readonly heldForMs?: number;
    };

/** How long a wait is likely to last from now on, judged by recent leases of the lock. */
export interface WaitEstimateView {
  readonly medianMs: number;
  /** In one case of ten the wait is over by then. */
  readonly lowMs: number;
  /** In nine cases of ten the wait is over by then. */
  readonly highMs: number;
  /** How many leases this is based on. */
  readonly leases: number;
}

/** Why a claim waits. */
export interface WaitExplanation {
  /** The lock without holders, waiters and record: the causes have what matters. */
  readonly lock: LockView;
  /** The waiter; unset for a request that would come now. */
  readonly claim?: ClaimView;
  /** The most important first. None: the request would be granted at once, or the waiter is about to be. */
  readonly causes: readonly WaitCause[];
  /** The same in one line for people. Its wording may change. */
  readonly summary: string;
  /** Unset: too little is known. */
  readonly estimate?: WaitEstimateView;
}

const STATES: Readonly<Record<ClaimView["state"], ClaimState>> = {
  waiting: ClaimState.WAITING,
  held: ClaimState.HELD,
  ended: ClaimState.ENDED,
};

/** The enum also has the way back, from numbers to names. */
const END_REASONS = Object.fromEntries(
  Object.entries(EndReason).filter(([, value]) => typeof value === "number" && value !== 0),
) as Readonly<Record<EndName, EndReason>>;

const KINDS: Readonly<Record<ChangeKind, ProtoKind>> = {
  limit: ProtoKind.LIMIT,
  record: ProtoKind.RECORD,
  "forced release": ProtoKind.FORCED_RELEASE,
  policy: ProtoKind.POLICY,
};

/** Throws a RangeError for an unknown word: callers in JavaScript have no types. */
function wireValue<Value>(words: Readonly<Record<string, Value>>, word: string, option: string): Value {
  if (!Object.hasOwn(words, word)) {
    const known = Object.keys(words).map((each) => JSON.stringify(each));
    throw new RangeError(`${option}: ${JSON.stringify(word)} must be one of ${known.join(", ")}`);
  }
  return words[word] as Value;
}

/** Throws a RangeError if both are set. */
function locksOf({ name, prefix = "" }: PastOptions) {
  if (name === undefined) return { case: "prefix" as const, value: prefix };
  if (prefix !== "") throw new RangeError("name and prefix: set one of them");
  return { case: "lockName" as const, value: name };
}

/** Throws a RangeError if the instant is not one of a named lock. */
function heldAtOf({ name, prefix = "" }: PastOptions, at: Date) {
  if (name === undefined || prefix !== "")
    throw new RangeError("heldAt: it says who held one lock, so set `name`, and no `prefix`");
  return { case: "heldAt" as const, value: { lockName: name, at: timestampOf(at) } };
}

function pastFields({ from, until, pageSize = 0 }: PastOptions) {
  return {
    ...(from && { from: timestampOf(from) }),
    ...(until && { until: timestampOf(until) }),
    pageSize,
  };
}

/** Returns the fields of a ListClaimsRequest. */
export function claimsFields(options: ListClaimsOptions) {
  const { owner = "", principal = "", labels = {}, states = [], endReasons = [], heldAt } = options;
  return {
    locks: heldAt ? heldAtOf(options, heldAt) : locksOf(options),
    ...pastFields(options),
    owner,
    principal,
    labels: { ...labels },
    states: states.map((state) => wireValue(STATES, state, "states")),
    endReasons: endReasons.map((reason) => wireValue(END_REASONS, reason, "endReasons")),
  };
}

/** Returns the fields of a ListChangesRequest. */
export function changesFields(options: ListChangesOptions) {
  const { kinds = [], changedBy = "" } = options;
  return {
    locks: locksOf(options),
    ...pastFields(options),
    kinds: kinds.map((kind) => wireValue(KINDS, kind, "kinds")),
    changedBy,
  };
}

/** Returns the `target` of an ExplainWaitRequest. */
export function waitTargetOf(target: WaitTarget) {
  if ("ticketId" in target) return { case: "ticketId" as const, value: target.ticketId };
  const { name, ticketNumber } = target;
  if (ticketNumber === undefined) return { case: "name" as const, value: name };
  return { case: "claim" as const, value: { lockName: name, ticketNumber } };
}

/** Reports where the search for a page ended, if it did not end with the page. */
export function reportSearch(
  { searchedBackTo }: Pick<ListClaimsResponse, "searchedBackTo">,
  searched: PastOptions["searched"],
): void {
  if (searchedBackTo) searched?.(dateOf(searchedBackTo));
}

/** Reports where history begins; servers of earlier versions do not say. */
export function reportBegin(
  { completeFrom }: Pick<ListClaimsResponse, "completeFrom">,
  report: PastOptions["completeFrom"],
): void {
  if (completeFrom) report?.(dateOf(completeFrom));
}

export function changeView({ changedAt, target, changedBy, reason, what }: Change): ChangeView {
  return {
    ...(changedAt && { changedAt: dateOf(changedAt) }),
    ...(target.case === "lockName" && { name: target.value }),
    ...(target.case === "pattern" && { pattern: target.value }),
    ...(target.case === "pool" && { pool: target.value }),
    changedBy,
    reason,
    ...whatView(what),
  };
}

function whatView(what: Change["what"]) {
  switch (what.case) {
    case "limit": {
      const { from, to, rateFrom, rateTo, queueRulesFrom, queueRulesTo } = what.value;
      return {
        kind: "limit",
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
        ...(rateFrom && { rateFrom: rateView(rateFrom) }),
        ...(rateTo && { rateTo: rateView(rateTo) }),
        ...(queueRulesFrom && { queueRulesFrom: queueRulesView(queueRulesFrom) }),
        ...(queueRulesTo && { queueRulesTo: queueRulesView(queueRulesTo) }),
      } as const;
    }
    case "record": {
      const { from, to } = what.value;
      return {
        kind: "record",
        ...(from && { from: recordView(from) }),
        ...(to && { to: recordView(to) }),
      } as const;
    }
    case "forcedRelease": {
      // The server always sets it.
      const { ticketNumber, state, owner, principal } = claimView(what.value.claim as Claim);
      return {
        kind: "forced release",
        claim: { ticketNumber, state, owner, ...(principal !== undefined && { principal }) },
      } as const;
    }
    case "policy":
      return { kind: "policy", from: what.value.from, to: what.value.to } as const;
    case undefined:
      return { kind: "unknown" } as const;
  }
}

export function explanationView({
  lock,
  claim,
  causes,
  summary,
  estimate,
}: ExplainWaitResponse): WaitExplanation {
  return {
    // The server always sets it.
    lock: lockView(lock as NonNullable<typeof lock>),
    ...(claim && { claim: claimView(claim) }),
    causes: causes.flatMap(({ cause, lockName }) =>
      causeView(cause).map((view) => ({ ...view, ...(lockName !== "" && { lockName }) })),
    ),
    summary,
    ...(estimate && { estimate: estimateView(estimate) }),
  };
}

/** A cause that a newer server knows and this client does not is left out: the summary has it. */
function causeView({ case: kind, value }: ProtoCause["cause"]): CauseOfWait[] {
  switch (kind) {
    case "held": {
      const { holders, holderCount, firstEndsAt } = value;
      const ends = firstEndsAt && { firstEndsAt: dateOf(firstEndsAt) };
      return [{ kind, holders: holders.map(claimView), holderCount, ...ends }];
    }
    case "queued": {
      const { ahead, permitsAhead, first } = value;
      return [{ kind, ahead, permitsAhead: Number(permitsAhead), first: first.map(claimView) }];
    }
    case "limit": {
      const { limit, setAt, setBy } = value;
      return [
        {
          kind,
          // The server always sets it.
          limit: limitView(limit as NonNullable<typeof limit>),
          ...(setAt && { setAt: dateOf(setAt) }),
          ...(setBy !== "" && { setBy }),
        },
      ];
    }
    case "rate": {
      const { rate, until } = value;
      // The server always sets the rate.
      const inForce = rateInForceView(rate as NonNullable<typeof rate>);
      return [{ kind, rate: inForce, ...(until && { until: dateOf(until) }) }];
    }
    case "pool":
      return [poolInTheWayView(value)];
    case "notBefore":
      return [{ kind: "not before", notBefore: dateOf(value) }];
    case "exhausted":
      return [{ kind }];
    case "status":
      return [{ kind, status: value }];
    case "failedOverUntil":
      return [{ kind: "failed over", until: dateOf(value) }];
    case "rows":
      return [rowsHeldView(value)];
    default:
      return [];
  }
}

function poolInTheWayView({ waitsHere, ahead, permitsAhead, rateUntil, ...pool }: PoolInTheWay): CauseOfWait {
  return {
    kind: "pool",
    pool: poolView(pool),
    waitsHere,
    ahead,
    permitsAhead: Number(permitsAhead),
    ...(rateUntil && { rateUntil: dateOf(rateUntil) }),
  };
}

function rowsHeldView({ connectionId, user, heldFor }: RowsHeld): CauseOfWait {
  return {
    kind: "rows held",
    ...(connectionId !== 0n && { connectionId }),
    ...(user !== "" && { user }),
    ...(heldFor && { heldForMs: msOf(heldFor) }),
  };
}

function estimateView({ median, low, high, leases }: WaitEstimate): WaitEstimateView {
  const ms = (duration: WaitEstimate["median"]) => (duration ? msOf(duration) : 0);
  return { medianMs: ms(median), lowMs: ms(low), highMs: ms(high), leases };
}
