// A bounded queue that goes round its sources: each source has its own order, and after one item of a source come the others.
// So nobody waits for all that one source has asked for. Where there is no room, the source that has most loses the last item
// that it added. Knows nothing of the items.

export interface FairQueueOptions {
  /** Items of all sources. */
  readonly max: number;
  /** Items of one source; unset: as many as of all. */
  readonly eachMax?: number | undefined;
}

export class FairQueue<Item> {
  readonly #options: FairQueueOptions;
  /** By source: the first item of the first source is next. None is empty. */
  readonly #queues = new Map<unknown, Item[]>();
  #size = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get sources(): number {
    return this.#queues.size;
  }

  /**
   * Adds the item. Returns the item that has no place, null if all have one: the last item of the source that has most, or
   * the new item itself, if its source would then have as many as any other.
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
