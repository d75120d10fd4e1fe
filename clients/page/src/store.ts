// A value that views follow. Views see each change in the next frame at the latest.

import { useEffect, useState } from "preact/hooks";

export class Store<Value> {
  #value: Value;
  readonly #followers = new Set<() => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const follow of this.#followers) follow();
  }

  /** Returns the function that ends it. */
  follow(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }
}

export function useStore<Value>(store: Store<Value>): Value {
  const [, redraw] = useState(0);
  useEffect(() => store.follow(() => redraw((count) => count + 1)), [store]);
  return store.value;
}
