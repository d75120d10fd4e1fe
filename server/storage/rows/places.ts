// Where the row of a claim is in rowlock_claim, whose key is (lock_id, place, ticket_number). Whoever knows only a claim's
// number finds it by what this file says about places, and nobody else may compare a place with a number. Pure.

import { HELD_PLACE, placeOf } from "../../core/claim.ts";

/** The places at which a claim with this number may be: as a holder, and as a waiter. */
export function placesOf(ticketNumber: bigint): readonly bigint[] {
  return [HELD_PLACE, waitingPlaceOf(ticketNumber)];
}

/** The place of a waiter with this number. The waiters with higher numbers are behind it. */
export function waitingPlaceOf(ticketNumber: bigint): bigint {
  return placeOf({ state: "waiting", ticketNumber });
}

/** The same in SQL, for `place IN (...)` and `place = ...`. */
export const placesIn = (ticketNumber: string): string => `${HELD_PLACE}, ${waitingPlaceIn(ticketNumber)}`;
export const waitingPlaceIn = (ticketNumber: string): string => ticketNumber;

/** The further holders among the claims `c` of one lock, oldest first. */
export const HOLDERS_IN_ORDER = `c.place = ${HELD_PLACE} ORDER BY c.ticket_number`;
/** The waiters among the claims `c` of one lock, as they are to be granted. */
export const WAITERS_IN_ORDER = `c.place > ${HELD_PLACE} ORDER BY c.place, c.ticket_number`;

/** The key of a claim `c`. */
export const CLAIM_KEY_LIST = "c.lock_id, c.place, c.ticket_number";
