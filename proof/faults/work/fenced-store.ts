// What the mutexes protect: a number for each, in a store that refuses tokens below the highest that it has seen. A read
// counts as seen, because what is written later depends on it.

interface Value {
  token: bigint;
  value: number;
}

export class FencedStore {
  readonly #values = new Map<string, Value>();
  #written = 0;

  /** undefined: refused. */
  read(lock: string, token: string): number | undefined {
    const value = this.#at(lock);
    if (BigInt(token) < value.token) return undefined;
    value.token = BigInt(token);
    return value.value;
  }

  /** Writes a number that was never there before. `found`: what it replaced, or would have. */
  write(lock: string, token: string): { readonly accepted: boolean; readonly found: number } {
    const value = this.#at(lock);
    const found = value.value;
    const accepted = BigInt(token) >= value.token;
    if (accepted) {
      value.token = BigInt(token);
      value.value = ++this.#written;
    }
    return { accepted, found };
  }

  #at(lock: string): Value {
    const there = this.#values.get(lock) ?? { token: 0n, value: 0 };
    this.#values.set(lock, there);
    return there;
  }
}
