// A list of things in the order in which they were used, without a look-up: each knows its neighbours. Keeps no bound;
// its owner forgets the oldest.

export interface Linked<Item> {
  /** Only the list sets these. */
  older: Item | undefined;
  newer: Item | undefined;
}

export class RecentList<Item extends Linked<Item>> {
  #oldest: Item | undefined;
  #newest: Item | undefined;

  get oldest(): Item | undefined {
    return this.#oldest;
  }

  get newest(): Item | undefined {
    return this.#newest;
  }

  /** Adds an item that is in no list. */
  add(item: Item): void {
    item.older = this.#newest;
    item.newer = undefined;
    if (this.#newest) this.#newest.newer = item;
    else this.#oldest = item;
    this.#newest = item;
  }

  /** Makes an item of the list the newest one. */
  use(item: Item): void {
    if (this.#newest === item) return;
    this.remove(item);
    this.add(item);
  }

  remove({ older, newer }: Item): void {
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
  }

  clear(): void {
    this.#oldest = undefined;
    this.#newest = undefined;
  }
}
