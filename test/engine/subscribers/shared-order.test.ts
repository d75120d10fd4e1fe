// The places of those who wait where shares are fair.

import { expect, test } from "vitest";
import { inOrderOfShares } from "../../../server/engine/subscribers/shared-order.ts";
import type { QueuePlace } from "../../../server/storage/store.ts";

function place(ticket: number, group: number | null, turn: number | null, permits = 1): QueuePlace {
  const share = { turn: turn === null ? null : BigInt(turn), groupId: group === null ? null : BigInt(group) };
  return { lockId: 1n, ticketNumber: BigInt(ticket), permits, share };
}

const order = (...places: QueuePlace[]) =>
  inOrderOfShares(places).map(({ ticketNumber }) => Number(ticketNumber));

test("one of each group is before a second one of any, in the order of their turns", () => {
  // The first group was granted last, so its turn comes after those of the others.
  expect(
    order(
      place(2, 1, 9),
      place(3, 1, null),
      place(4, 2, 4),
      place(5, 1, null),
      place(6, 3, 6),
      place(7, 2, null),
    ),
  ).toEqual([4, 6, 2, 7, 3, 5]);
});

test("a group that asks for more permits at once comes later with its next one", () => {
  expect(
    order(place(1, 1, 1, 3), place(2, 1, null), place(3, 2, 3), place(4, 2, null), place(5, 2, null)),
  ).toEqual([1, 3, 4, 5, 2]);
});

test("a claim for several locks, which came before the order changed, keeps its place", () => {
  expect(order(place(1, 1, 1), place(2, null, 2), place(3, 1, null), place(4, 2, 4))).toEqual([1, 2, 4, 3]);
});
