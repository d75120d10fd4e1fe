// A store, or any other object, some of whose members a test replaces. It holds no state of its own.

/** All other members are those of `target`, and methods run on it. */
export function withOwn<Target extends object>(target: Target, own: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = own[name as keyof Target] ?? Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
