// A map of bounded size: it forgets the entry that was set longest ago. Entries are a list in the order in which they were
// set: the first key of a Map is slow to find where many keys before it were deleted, which is so in a full one.

import { type Linked, RecentList } from "./recent-list.ts";

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

  /** Removes the entry and returns its value. */
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
