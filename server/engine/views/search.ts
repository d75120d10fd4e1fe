// Goes through items step by step, up to a bound: a filter that fits nothing must not read everything at once.

import type { Listed } from "../history.ts";
import { inOwnTick } from "./views.ts";

export interface Search<Item, Position> {
  readonly isWanted: (item: Item) => boolean;
  /** Whether neither this item nor any after it is wanted. */
  readonly isOver?: (item: Item) => boolean;
  /** Searches about as many items. */
  readonly max: number;
  /** Where a listing continues after the item. */
  readonly at: (item: Item) => Position;
  /** As in `Listed`, if the search stops at the item. */
  readonly backToUs: (item: Item) => number | null;
}

/** The wanted items. If the bound is met, the last one is what the search stopped at, wanted or not. */
export async function* search<Item, Position>(
  steps: AsyncIterable<readonly Item[]>,
  { isWanted, isOver = () => false, max, at, backToUs }: Search<Item, Position>,
): AsyncGenerator<Listed<Item, Position>, void, void> {
  let searched = 0;
  for await (const step of steps) {
    for (const item of step) {
      if (isOver(item)) return;
      if (isWanted(item)) yield { kind: "found", item, at: at(item) };
    }
    searched += step.length;
    const last = step.at(-1);
    if (searched >= max && last !== undefined) {
      yield { kind: "stopped", at: at(last), backToUs: backToUs(last) };
      return;
    }
  }
}

/** Steps of up to `max` items, each in its own tick, and each after the last item of the one before. */
export async function* stepsAfter<Item, Position>(
  first: Position,
  max: number,
  read: (after: Position) => Promise<readonly Item[]>,
  at: (last: Item) => Position,
): AsyncGenerator<readonly Item[], void, void> {
  for (let after = first; ; ) {
    const items = await inOwnTick(() => read(after));
    yield items;
    const last = items.at(-1);
    if (last === undefined || items.length < max) return;
    after = at(last);
  }
}
