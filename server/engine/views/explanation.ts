// Why a claim waits, or why a request would have to: its causes from rows, the most important first. Pure.

import { SHOWN_BY_REFUSAL_MAX } from "../../core/bounds.ts";
import type { Claim } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import { type EffectiveLimit, fits, neverFits } from "../../core/limit.ts";
import { isDraining, type Lock } from "../../core/lock.ts";
import { isExhausted, isInWantedStatus, statusOf } from "../../core/record.ts";
import type { KeptChange } from "../../storage/store.ts";
import type { Explanation, WaitCause } from "../history.ts";
import { estimate } from "./estimate.ts";

/** What an explanation rests on. */
export interface Basis {
  readonly nowUs: number;
  readonly lock: Lock;
  readonly limit: EffectiveLimit;
  /** How the limit was set, if the history still has that. */
  readonly limitSet: KeptChange | null;
  /** The oldest holders, and the first waiters. */
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
  /** The waiter; null: a request for one permit that would come now. */
  readonly claim: Claim | null;
  readonly place: Pick<Place, "ahead" | "permitsAhead">;
  /** Nothing is granted before this time, because of a fail-over. */
  readonly grantsFromUs: number;
  readonly rowsHeld: Extract<WaitCause, { kind: "rows_held" }> | null;
  /** Ended claims of the lock, newest first. */
  readonly recent: readonly Claim[];
}

const ONE_PERMIT = { mode: "permit", permits: 1, terms: null } as const;

export function explain(basis: Basis): Explanation {
  const { nowUs, lock, limit, limitSet, claim, place } = basis;
  const causes = [...causesOf(basis)];
  return { nowUs, lock, limit, limitSet, claim, place, causes, estimate: estimateOf(basis, causes) };
}

function* causesOf(basis: Basis): Generator<WaitCause, void, void> {
  const { nowUs, lock, limit: inForce, limitSet, claim, place, grantsFromUs, rowsHeld } = basis;
  const { limit } = inForce;
  const asked = claim ?? ONE_PERMIT;
  if (grantsFromUs > nowUs) yield { kind: "failed_over", untilUs: grantsFromUs };
  if (rowsHeld) yield rowsHeld;
  if (limit === 0 || isDraining(lock, limit) || neverFits(limit, asked))
    yield { kind: "limit", limit: inForce, set: limitSet };
  const notBeforeUs = lock.record?.notBeforeUs ?? 0;
  if (notBeforeUs > nowUs) yield { kind: "not_before", untilUs: notBeforeUs };
  if (isExhausted(lock)) yield { kind: "exhausted" };
  if (!isInWantedStatus(lock, asked.terms)) yield { kind: "status", status: statusOf(lock) };
  // A limit of 0 is a cause of its own: who would be in the way of any limit is named, too.
  if (lock.holders > 0 && !fits(lock, Math.max(1, limit), asked)) yield heldBy(basis);
  if (place.ahead > 0) yield { kind: "queued", ...aheadOf(basis) };
}

function heldBy({ lock, holders }: Basis): WaitCause {
  const ends = holders.flatMap(({ deadlineUs }) => (deadlineUs === null ? [] : [deadlineUs]));
  return {
    kind: "held",
    holders: holders.slice(0, SHOWN_BY_REFUSAL_MAX),
    holderCount: lock.holders,
    firstEndsAtUs: ends.length === 0 ? null : Math.min(...ends),
  };
}

function aheadOf(basis: Basis) {
  const { ahead, permitsAhead } = basis.place;
  return { ahead, permitsAhead, first: waitersAhead(basis).slice(0, SHOWN_BY_REFUSAL_MAX) };
}

function waitersAhead({ waiters, claim }: Basis): readonly Claim[] {
  return claim ? waiters.filter(({ ticketNumber }) => ticketNumber < claim.ticketNumber) : waiters;
}

/** Recent leases say how long those last that hold the lock or wait for it, and nothing about other causes. */
function estimateOf(basis: Basis, causes: readonly WaitCause[]): Explanation["estimate"] {
  const { limit, claim, place } = basis;
  const asked = claim ?? ONE_PERMIT;
  const isOnlyOthers = causes.every(({ kind }) => kind === "held" || kind === "queued" || kind === "limit");
  if (causes.length === 0 || !isOnlyOthers || limit.limit === 0 || neverFits(limit.limit, asked)) return null;
  const { ahead } = place;
  return estimate({ ...basis, limit: limit.limit, waiters: waitersAhead(basis), ahead, asked });
}
