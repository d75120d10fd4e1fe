// The messages of a stream on their way to whatever writes them. Each is taken when the one before has been written, and whoever
// sends them hears of that: so one that a client does not read is kept, and no more is made for it.

interface Kept<Message> {
  readonly message: Message;
  readonly written: (() => void) | undefined;
}

export class Outgoing<Message> implements AsyncIterable<Message> {
  readonly #kept: Kept<Message>[] = [];
  #end: { readonly error: Error | null } | undefined;
  /** Whoever waits for the next one. */
  #more: (() => void) | undefined;

  add(message: Message, written?: () => void): void {
    if (this.#end) return;
    this.#kept.push({ message, written });
    this.#more?.();
  }

  /** No more come. `error`: why; null: the stream is whole. */
  end(error: Error | null): void {
    this.#end ??= { error };
    this.#more?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void> {
    for (;;) {
      const next = this.#kept.shift();
      if (next) {
        yield next.message;
        // It is asked for the next one when this one is written.
        next.written?.();
      } else if (this.#end) {
        if (this.#end.error) throw this.#end.error;
        return;
      } else
        await new Promise<void>((resolve) => {
          this.#more = resolve;
        });
    }
  }
}
