// A map of bounded size: it forgets the entry that was set longest ago. And the list in which it keeps that order, because a
// Map from whose beginning many keys were deleted is slow to find its first key.

export interface Linked<Item> {
  /** Only the list sets these. */
  older: Item | undefined;
  newer: Item | undefined;
}

/** Things in the order in which they were used, without a look-up. Has no bound: its owner forgets the oldest. */
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

interface Entry<Key, Value> extends Linked<Entry<Key, Value>> {
  readonly key: Key;
  value: Value;
}

export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #sizeMax: number;
  readonly #inOrder = new RecentList<Entry<Key, Value>>();

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: Key, value: Value): void {
    const known = this.#entries.get(key);
    if (known) {
      known.value = value;
      this.#inOrder.use(known);
      return;
    }
    const entry = { key, value, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#inOrder.add(entry);
    const { oldest } = this.#inOrder;
    if (this.#entries.size > this.#sizeMax && oldest) this.delete(oldest.key);
  }

  delete(key: Key): void {
    this.take(key);
  }

  take(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#inOrder.remove(entry);
    return entry.value;
  }

  /** The one that was set longest ago comes first. */
  *keys(): Generator<Key, void, void> {
    for (let entry = this.#inOrder.oldest; entry; entry = entry.newer) yield entry.key;
  }

  clear(): void {
    this.#entries.clear();
    this.#inOrder.clear();
  }
}
