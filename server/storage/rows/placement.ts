// In which table and at which place each claim of a decision belongs, and what to write so that it is there. A claim is
// in exactly one table: the first holder in the guard row, waiters and further holders in rowlock_claim, ended claims
// in rowlock_history. Pure.

import { type Claim, HELD_PLACE, isServerMade, placeOf } from "../../core/claim.ts";
import type { Lock } from "../../core/lock.ts";
import type { Writes } from "../store.ts";
import { NEVER_DUE_US } from "./columns.ts";

export interface HolderMove {
  /** Whether another claim was in the guard row before, or none. */
  readonly isNew: boolean;
  /** The holder from now on; null: the lock has no holder in its guard row any more. */
  readonly holder: Claim | null;
}

export interface Moves {
  /** Guard rows whose holder changes, by lock. */
  readonly holders: ReadonlyMap<bigint, HolderMove>;
  /** Rows of rowlock_claim. */
  readonly added: readonly Claim[];
  readonly changed: readonly Claim[];
  readonly removed: readonly Claim[];
  /** Rows of rowlock_history. */
  readonly ended: readonly Claim[];
  /** Claims whose request ids need rows of rowlock_request. */
  readonly requests: readonly Claim[];
  /** The earliest deadline of the live claims that are written; null: there are none. */
  readonly earliestUs: number | null;
}

/**
 * Returns where the claims of a decision go, and sets `firstHolder` of its locks accordingly. A claim that holds the
 * lock goes into the guard row if that has no holder. An ended claim with a deadline before `nowUs` is not kept.
 */
export function movesOf(writes: Writes, nowUs: number): Moves {
  const locks = new Map(writes.locks.map((lock) => [lock.id, lock]));
  const holders = new Map<bigint, HolderMove>();
  const moves = {
    added: [] as Claim[],
    changed: [] as Claim[],
    removed: [] as Claim[],
    ended: [] as Claim[],
  };
  const held: { claim: Claim; isAdded: boolean }[] = [];

  const place = (claim: Claim, isAdded: boolean) => {
    const lock = lockOf(locks, claim);
    const isFirst = !isAdded && claim.ticketNumber === lock.firstHolder;
    if (claim.state === "ended") {
      if (isFirst) {
        lock.firstHolder = null;
        holders.set(lock.id, { isNew: false, holder: null });
      } else if (!isAdded) moves.removed.push(claim);
      if (isRemembered(claim, nowUs)) moves.ended.push(claim);
    } else if (isFirst) holders.set(lock.id, { isNew: false, holder: claim });
    else if (claim.state === "held") held.push({ claim, isAdded });
    else (isAdded ? moves.added : moves.changed).push(claim);
  };
  for (const claim of writes.changed) place(claim, false);
  for (const claim of writes.added) place(claim, true);

  // After the claims that ended have left the guard rows.
  for (const { claim, isAdded } of held.sort((a, b) =>
    a.claim.ticketNumber < b.claim.ticketNumber ? -1 : 1,
  )) {
    const lock = lockOf(locks, claim);
    if (lock.firstHolder === null) {
      lock.firstHolder = claim.ticketNumber;
      holders.set(lock.id, { isNew: true, holder: claim });
      if (!isAdded) moves.removed.push(claim);
    } else (isAdded ? moves.added : moves.changed).push(claim);
  }
  const requests = writes.added.filter(
    (claim) => !isServerMade(claim.requestId) && (claim.state !== "ended" || isRemembered(claim, nowUs)),
  );
  return { holders, ...moves, requests, earliestUs: earliestOf(holders, moves) };
}

/** For the rows of pools, which have no claims of their own. */
export function withoutDeadlines(moves: Moves): Moves {
  return { ...moves, earliestUs: null };
}

function lockOf(locks: ReadonlyMap<bigint, Lock>, { lockId, ticketNumber }: Claim): Lock {
  const lock = locks.get(lockId);
  if (!lock) throw new Error(`Claim ${ticketNumber} was decided about without its lock ${lockId}.`);
  return lock;
}

/** Only the servers' own locks have claims that are not remembered. No request id of a client leads to them. */
function isRemembered({ deadlineUs }: Claim, nowUs: number): boolean {
  return deadlineUs !== null && deadlineUs > nowUs;
}

function earliestOf(
  holders: ReadonlyMap<bigint, HolderMove>,
  { added, changed }: Pick<Moves, "added" | "changed">,
): number | null {
  let earliestUs: number | null = null;
  const see = ({ deadlineUs }: Claim) => {
    earliestUs = Math.min(earliestUs ?? NEVER_DUE_US, deadlineUs ?? NEVER_DUE_US);
  };
  for (const { holder } of holders.values()) if (holder) see(holder);
  added.forEach(see);
  changed.forEach(see);
  return earliestUs;
}

/**
 * How the write of a guard row sets `next_deadline`, which must not exceed any deadline of the lock's live claims, nor its
 * `wakes_at`.
 */
export interface Bounds {
  /** A bound below `soonUs` becomes `laterUs`; both null: it does not. */
  readonly soonUs: number | null;
  readonly laterUs: number | null;
  /** Otherwise the bound becomes at most this; null: it stays. */
  readonly atMostUs: number | null;
}

/**
 * A lock whose only live claim is in its guard row has an exact bound. It is written when less than half of the time is
 * left: so the sweep need not look at a lease that is renewed in time, and the index of bounds seldom changes.
 */
export function boundsOf(lock: Lock, { holders, earliestUs }: Moves, nowUs: number): Bounds {
  if (lock.holders + lock.waiting === 0) return { soonUs: null, laterUs: null, atMostUs: null };
  const holder = holders.get(lock.id)?.holder;
  if (!holder || lock.holders !== 1 || lock.waiting > 0) {
    return { soonUs: null, laterUs: null, atMostUs: leastOf(earliestUs, lock.wakesAtUs) };
  }
  const endsUs = holder.deadlineUs ?? NEVER_DUE_US;
  return { soonUs: nowUs + (endsUs - nowUs) / 2, laterUs: endsUs, atMostUs: endsUs };
}

function leastOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/**
 * The places in rowlock_claim, whose key is (lock_id, place, ticket_number), at which a claim with this number may be:
 * as a holder, and as a waiter. Nobody else may compare a place with a number.
 */
export function placesOf(ticketNumber: bigint): readonly bigint[] {
  return [HELD_PLACE, waitingPlaceOf(ticketNumber)];
}

/** The place of a waiter with this number. The waiters with higher numbers are behind it. */
export function waitingPlaceOf(ticketNumber: bigint): bigint {
  return placeOf({ state: "waiting", ticketNumber, levels: null });
}

/** The same in SQL, for `place IN (...)` and `place = ...`. */
export const placesIn = (ticketNumber: string): string => `${HELD_PLACE}, ${waitingPlaceIn(ticketNumber)}`;
export const waitingPlaceIn = (ticketNumber: string): string => ticketNumber;

/** The further holders among the claims `c` of one lock, and those that enter, oldest first. */
export const HOLDERS_IN_ORDER = `c.place = ${HELD_PLACE} ORDER BY c.ticket_number`;
/** The waiters among the claims `c` of one lock, as they are to be granted. */
export const WAITERS_IN_ORDER = `c.place > ${HELD_PLACE} ORDER BY c.place, c.ticket_number`;

export const CLAIM_KEY_LIST = "c.lock_id, c.place, c.ticket_number";
