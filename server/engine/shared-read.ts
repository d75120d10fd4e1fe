// One read for many who ask: while a read of a key is under way, all who ask for it share the next one. So everybody
// sees a state that is not older than the question, and a hot key costs two reads at a time at the most.

import type { Caller } from "../core/command.ts";

export class SharedRead<Key, Value> {
  readonly #read: (key: Key, caller: Caller | undefined) => Promise<Value>;
  readonly #running = new Map<Key, { current: Promise<Value>; next: Promise<Value> | undefined }>();

  constructor(read: (key: Key, caller: Caller | undefined) => Promise<Value>) {
    this.#read = read;
  }

  /** `caller`: who asks; a read counts as that of the first of those who share it. */
  get(key: Key, caller?: Caller): Promise<Value> {
    const running = this.#running.get(key);
    if (!running) return this.#start(key, caller);
    running.next ??= running.current.then(
      () => this.#start(key, caller),
      () => this.#start(key, caller),
    );
    return running.next;
  }

  #start(key: Key, caller: Caller | undefined): Promise<Value> {
    const current = this.#read(key, caller);
    const entry = { current, next: undefined as Promise<Value> | undefined };
    this.#running.set(key, entry);
    const done = () => {
      // With a next read asked for, that one takes the entry over.
      if (this.#running.get(key) === entry && !entry.next) this.#running.delete(key);
    };
    current.then(done, done);
    return current;
  }
}
