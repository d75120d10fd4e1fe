// A store of which a test changes some methods.

import type { Store } from "../../server/storage/store.ts";

/** For `wrapStore`: the store with the methods that `change` makes of it. */
export function changedStore(change: (store: Store) => Partial<Store>): (store: Store) => Store {
  return (store) => {
    const own = change(store);
    return new Proxy(store, {
      get(target, name) {
        const value: unknown = own[name as keyof Store] ?? Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
}
