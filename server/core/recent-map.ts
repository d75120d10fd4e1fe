// A map of bounded size: it forgets the entry that was set longest ago. Entries are a list in the order in which they were
// set: the first key of a Map is slow to find where many keys before it were deleted, which is so in a full one.

interface Entry<Key, Value> {
  readonly key: Key;
  value: Value;
  older: Entry<Key, Value> | undefined;
  newer: Entry<Key, Value> | undefined;
}

export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #sizeMax: number;
  #oldest: Entry<Key, Value> | undefined;
  #newest: Entry<Key, Value> | undefined;

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
      this.#unlink(known);
      this.#append(known);
      return;
    }
    const entry = { key, value, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
    if (this.#entries.size > this.#sizeMax && this.#oldest) this.delete(this.#oldest.key);
  }

  delete(key: Key): void {
    this.take(key);
  }

  /** Removes the entry and returns its value. */
  take(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#unlink(entry);
    return entry.value;
  }

  /** The one that was set longest ago comes first. */
  *keys(): Generator<Key, void, void> {
    for (let entry = this.#oldest; entry; entry = entry.newer) yield entry.key;
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
  }

  #append(entry: Entry<Key, Value>): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: Entry<Key, Value>): void {
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
  }
}
