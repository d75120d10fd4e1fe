// Goes through items step by step, up to a bound: a filter that fits nothing must not read everything at once.

export interface Search<Item> {
  readonly isWanted: (item: Item) => boolean;
  /** Whether neither this item nor any after it is wanted. */
  readonly isOver?: (item: Item) => boolean;
  /** Searches about as many items. */
  readonly max: number;
}

/** An item that is wanted, or the last one that was searched. */
export interface Found<Item> {
  readonly kind: "found" | "stopped";
  readonly item: Item;
}

/** The wanted items. If the bound is met, the last one is what the search stopped at, wanted or not. */
export async function* search<Item>(
  steps: AsyncIterable<readonly Item[]>,
  { isWanted, isOver = () => false, max }: Search<Item>,
): AsyncGenerator<Found<Item>, void, void> {
  let searched = 0;
  for await (const step of steps) {
    for (const item of step) {
      if (isOver(item)) return;
      if (isWanted(item)) yield { kind: "found", item };
    }
    searched += step.length;
    const last = step.at(-1);
    if (searched >= max && last !== undefined) {
      yield { kind: "stopped", item: last };
      return;
    }
  }
}
