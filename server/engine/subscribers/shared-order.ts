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
    // A claim for several locks came before the order changed, and goes first.
    if (groupId === null) return { place, before: 0, turn: turn ?? place.ticketNumber };
    const group = groups.get(groupId) ?? { turn: place.ticketNumber, permits: 0 };
    if (turn !== null) group.turn = turn;
    groups.set(groupId, group);
    const before = group.permits;
    group.permits += place.permits;
    return { place, before, group };
  });
  const turnOf = (one: (typeof ranked)[number]) => one.group?.turn ?? one.turn ?? 0n;
  ranked.sort((a, b) => {
    if (a.before !== b.before) return a.before - b.before;
    const [first, second] = [turnOf(a), turnOf(b)];
    return first < second ? -1 : first > second ? 1 : Number(a.place.ticketNumber - b.place.ticketNumber);
  });
  return ranked.map(({ place }) => place);
}
