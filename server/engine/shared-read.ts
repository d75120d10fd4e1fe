// One read for many who ask: while a read of a key is under way, all who ask for it share the next one. So everybody
// sees a state that is not older than the question, and a hot key costs two reads at a time at the most.

export class SharedRead<Key, Value> {
  readonly #read: (key: Key) => Promise<Value>;
  readonly #running = new Map<Key, { current: Promise<Value>; next: Promise<Value> | undefined }>();

  constructor(read: (key: Key) => Promise<Value>) {
    this.#read = read;
  }

  get(key: Key): Promise<Value> {
    const running = this.#running.get(key);
    if (!running) return this.#start(key);
    running.next ??= running.current.then(
      () => this.#start(key),
      () => this.#start(key),
    );
    return running.next;
  }

  #start(key: Key): Promise<Value> {
    const current = this.#read(key);
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
