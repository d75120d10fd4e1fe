// Ended claims in order. The primary key of rowlock_history has them by the time for which they are kept (`kept_for`, in
// seconds) and then by their ends. So what may be deleted is one range for each of these times, and a read of all of
// them, newest first, merges one range for each. There are only a few: one for each class of names.

import { type ClaimKey, isServerMade } from "../../core/claim.ts";
import type { EndedClaim, EndedPosition, HistoryFrom } from "../store.ts";
import { bigintOf, claimKeyFromRow, type Row, textOf } from "./from-rows.ts";
import { requestKeyOf } from "./request-key.ts";

/** The key of an ended claim. */
export interface EndedKey extends EndedPosition {
  readonly keptForS: number;
}

export const ENDED_KEY_LIST = "kept_for, ended_at, lock_id, ticket_number";

/** A row of ENDED_KEY_LIST. */
export function endedKeyFromRow([keptFor, endedAt, lockId, ticketNumber]: Row): EndedKey {
  return {
    keptForS: Number(keptFor),
    endedAtUs: Number(endedAt),
    lockId: bigintOf(lockId),
    ticketNumber: bigintOf(ticketNumber),
  };
}

/** A row of rowlock_request that belongs to an ended claim. */
export interface EndedRequest extends ClaimKey {
  readonly key: Buffer;
}

/** Of rows of request_id, lock_id, ticket_number of ended claims: the rows of rowlock_request that they may have. */
export function requestsOfClients(rows: readonly Row[]): EndedRequest[] {
  return rows.flatMap(([id, lockId, ticketNumber]) => {
    const requestId = textOf(id);
    if (isServerMade(requestId)) return [];
    return [{ key: requestKeyOf(requestId), ...claimKeyFromRow([lockId ?? null, ticketNumber ?? null]) }];
  });
}

/** A row of the two times from which on the history is complete. */
export function historyFromRow([claims, changes]: Row): HistoryFrom {
  return { claimsUs: Number(claims), changesUs: Number(changes) };
}

function byEnd(a: EndedPosition, b: EndedPosition): number {
  if (a.endedAtUs !== b.endedAtUs) return a.endedAtUs - b.endedAtUs;
  if (a.lockId !== b.lockId) return a.lockId < b.lockId ? -1 : 1;
  return a.ticketNumber < b.ticketNumber ? -1 : 1;
}

/** The oldest `max` of these, in order, by the time for which they are kept. */
export function oldestByClass(keys: readonly EndedKey[], max: number): Map<number, EndedKey[]> {
  const oldest = [...keys].sort(byEnd).slice(0, max);
  return Map.groupBy(oldest, ({ keptForS }) => keptForS);
}

/**
 * Which request ids one step of `Store.forgetRequests` forgets: those of claims of these classes that ended from `fromUs` to
 * `toUs`.
 */
export interface ForgetStep {
  readonly keptForS: readonly number[];
  readonly toUs: number;
  /** From when to go on; null: nothing is left. */
  readonly nextUs: number | null;
}

/** @param keys the first `max` of each class that ended from `fromUs` on. */
export function forgetStep(keys: readonly EndedKey[], fromUs: number, max: number): ForgetStep | null {
  const oldest = [...keys].sort(byEnd).slice(0, max);
  const last = oldest.at(-1);
  if (!last) return null;
  const toUs = last.endedAtUs;
  // All of one time are forgotten at once, those of other classes too, so a step always goes on.
  const keptForS = [...new Set(keys.filter((key) => key.endedAtUs <= toUs).map((key) => key.keptForS))];
  return { keptForS, toUs, nextUs: oldest.length < max ? null : Math.max(toUs, fromUs + 1) };
}

/** The newest `max` of these, newest first. */
export function newestEnded(ended: readonly EndedClaim[], max: number): EndedClaim[] {
  const positionOf = ({ claim }: EndedClaim) => ({ ...claim, endedAtUs: claim.endedAtUs as number });
  return [...ended].sort((a, b) => byEnd(positionOf(b), positionOf(a))).slice(0, max);
}

/** The time until which a claim that is kept for so long may have ended if it may be forgotten at `untilUs`. */
export function endedUntil(untilUs: number, keptForS: number): number {
  return untilUs - keptForS * 1_000_000;
}

/** An ended claim of one lock, for `searchTicket`. */
export interface Requested {
  readonly ticketNumber: bigint;
  readonly requestedAtUs: number;
}

/** A row of ticket_number, requested_at. */
export function requestedFromRow([ticketNumber, requestedAt]: Row): Requested {
  return { ticketNumber: bigintOf(ticketNumber), requestedAtUs: Number(requestedAt) };
}

/**
 * Tickets are numbered in the order of the requests, but servers know the clock only within bounds, so the times of
 * neighbours may be this much out of order.
 */
const OUT_OF_ORDER_US = 1_000_000;

/**
 * Halves the range of ticket numbers until it has found the first claim that was requested after `atUs`.
 *
 * @param last the ended claim with the highest number.
 * @param firstFrom reads the ended claim with the lowest number from this one on.
 */
export async function searchTicket(
  last: Requested | null,
  firstFrom: (ticketNumber: bigint) => Promise<Requested | null>,
  atUs: number,
): Promise<bigint> {
  const isLater = ({ requestedAtUs }: Requested) => requestedAtUs > atUs + OUT_OF_ORDER_US;
  if (!last) return 0n;
  if (!isLater(last)) return last.ticketNumber + 1n;
  // No claim below `low` was requested later, and each one from `high` on was.
  let low = 0n;
  let high = last.ticketNumber;
  while (low < high) {
    const middle = (low + high) / 2n;
    const found = await firstFrom(middle);
    if (!found || found.ticketNumber >= high || isLater(found)) high = middle;
    else low = found.ticketNumber + 1n;
  }
  return low;
}
