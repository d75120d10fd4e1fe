// A bounded queue that goes round its sources. Items of one source keep their order, and after one item of a source
// come the other sources, so nobody waits for everything that one source has asked for. When the queue is full, the
// source with most items loses the last item that it added. Knows nothing of the items.

export interface FairQueueOptions {
  /** At most this many items of all sources. */
  readonly max: number;
  /** At most this many items of one source; unset: `max`. */
  readonly eachMax?: number | undefined;
}

export class FairQueue<Item> {
  readonly #options: FairQueueOptions;
  /** By source: the first item of the first source is next. No source is empty. */
  readonly #queues = new Map<unknown, Item[]>();
  #size = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get sources(): number {
    return this.#queues.size;
  }

  /**
   * Adds the item. Returns the item that loses its place, or null. That is the last item of the source with most items.
   * It is the new item if its source has `eachMax` items, or if the queue is full and its source would then have as
   * many items as any other.
   */
  add(source: unknown, item: Item): Item | null {
    const { max, eachMax = max } = this.#options;
    const own = this.#queues.get(source) ?? [];
    if (own.length >= eachMax) return item;
    let refused: Item | null = null;
    if (this.#size >= max) {
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

  #longest(): Item[] {
    let longest: Item[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    return longest;
  }
}
