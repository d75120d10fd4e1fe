// A queue that takes turns among those who have items in it.

import type { Caller } from "../core/command.ts";

/** Whose call it is, for fair shares: a principal over all its connections, or else a session or a connection. */
export function sourceOf(caller: Caller | undefined): unknown {
  return caller?.principal || (caller?.source ?? caller?.getPeer());
}

/**
 * A bounded queue that goes round its sources. Items of one source keep their order, and after one item of a source
 * come the other sources, so nobody waits for everything that one source has asked for. When the queue is full, the
 * source with most items loses the last item that it added. Knows nothing of the items.
 */
export class FairQueue<Item> {
  readonly #max: number;
  readonly #eachMax: number;
  /** By source: the first item of the first source is next. No source is empty. */
  readonly #queues = new Map<unknown, Item[]>();
  #size = 0;

  /** Takes at most `max` items of all sources, and `eachMax` of one. */
  constructor(max: number, eachMax = max) {
    this.#max = max;
    this.#eachMax = eachMax;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds the item. Returns the item that loses its place, or null. That is the last item of the source with most items.
   * It is the new item if its source has `eachMax` items, or if the queue is full and its source would then have as
   * many items as any other.
   */
  add(source: unknown, item: Item): Item | null {
    const own = this.#queues.get(source) ?? [];
    if (own.length >= this.#eachMax) return item;
    let refused: Item | null = null;
    if (this.#size >= this.#max) {
      const longest = this.#longest();
      if (longest.length <= own.length + 1) return item;
      refused = longest.pop() ?? null;
    } else this.#size += 1;
    own.push(item);
    this.#queues.set(source, own);
    return refused;
  }

  /** Removes and returns the next item. */
  next(): Item | undefined {
    for (const [source, queue] of this.#queues) {
      const item = queue.shift();
      this.#size -= 1;
      // The other sources come first now.
      this.#queues.delete(source);
      if (queue.length > 0) this.#queues.set(source, queue);
      return item;
    }
    return undefined;
  }

  /** Whether one source has more than so many items while others have some, too. */
  isCrowded(most: number): boolean {
    return this.#queues.size > 1 && this.#longest().length > most;
  }

  /** Removes and returns all items, one after the other. */
  *all(): Generator<Item, void, void> {
    for (let item = this.next(); item !== undefined; item = this.next()) yield item;
  }

  #longest(): Item[] {
    let longest: Item[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    return longest;
  }
}
