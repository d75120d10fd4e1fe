// A store, or an engine, of which a test replaces some methods, or a store whose database goes away; all else is the real
// one.

import { type Store, StoreError } from "../../server/storage/store.ts";

export function wrapped<Target extends object>(real: Target, own: Partial<Target>): Target {
  return new Proxy(real, {
    get(target, name) {
      const value: unknown = own[name as keyof Target] ?? Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Rejects calls of `names`, or all calls, while the database is away. */
export function leavable(store: Store, isAway: () => boolean, names?: readonly (keyof Store)[]): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (names && !names.includes(name as keyof Store)) return value.bind(target);
      return (...given: unknown[]) =>
        isAway()
          ? Promise.reject(new StoreError("unavailable", "gone", "The database is away."))
          : value.apply(target, given);
    },
  });
}
