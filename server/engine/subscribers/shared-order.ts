// The order of a queue whose shares are fair, as it would be granted if all groups held as much, and nobody else came: one of each
// group in turn. Pure.

import type { QueuePlace } from "../../storage/store.ts";

interface Group {
  turn: bigint;
  permits: number;
}

/** `places`: in order of arrival. */
export function inOrderOfShares(places: readonly QueuePlace[]): QueuePlace[] {
  const groups = new Map<bigint, Group>();
  const ranked = places.map((place) => {
    const { turn = null, groupId = null } = place.share ?? {};
    const known = groupId === null ? undefined : groups.get(groupId);
    // A claim for several locks came before the order changed, and stands by itself.
    const group = known ?? { turn: place.ticketNumber, permits: 0 };
    if (turn !== null) group.turn = turn;
    if (groupId !== null) groups.set(groupId, group);
    const before = group.permits;
    group.permits += place.permits;
    return { place, before, group };
  });
  ranked.sort(
    (a, b) =>
      a.before - b.before ||
      Number(a.group.turn - b.group.turn) ||
      Number(a.place.ticketNumber - b.place.ticketNumber),
  );
  return ranked.map(({ place }) => place);
}
