// One read for many callers. While a read of a key runs, everyone who asks for that key shares the next one. So each
// caller sees a state no older than its question, and a hot key costs at most two reads at a time.

import type { Caller } from "../core/command.ts";

export class SharedRead<Key, Value> {
  readonly #read: (key: Key, caller: Caller | undefined) => Promise<Value>;
  readonly #running = new Map<Key, { current: Promise<Value>; next: Promise<Value> | undefined }>();

  constructor(read: (key: Key, caller: Caller | undefined) => Promise<Value>) {
    this.#read = read;
  }

  /**
   * Reads the key, or shares the next read of it. A shared read counts as that of the first `caller` who asked for it.
   */
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
      // If a next read was asked for, it replaces the entry.
      if (this.#running.get(key) === entry && !entry.next) this.#running.delete(key);
    };
    current.then(done, done);
    return current;
  }
}
