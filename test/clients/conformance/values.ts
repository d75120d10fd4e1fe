// What a scenario can use as placeholders:
//
//   ~/job     a lock name that no other scenario uses, because all scenarios of a language share a server; also as a key
//   ${lease}  the value that an earlier step kept under this name; alone in a text, it keeps its type

export type Values = ReadonlyMap<string, unknown>;

/** Fills in all placeholders at any depth. Throws for a name that no step has kept. */
export function filled<Value>(value: Value, values: Values, prefix: string): Value {
  return fill(value, values, prefix) as Value;
}

function fill(value: unknown, values: Values, prefix: string): unknown {
  if (typeof value === "string") return text(value, values, prefix);
  if (Array.isArray(value)) return value.map((entry) => fill(entry, values, prefix));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      String(text(key, values, prefix)),
      fill(entry, values, prefix),
    ]),
  );
}

function text(value: string, values: Values, prefix: string): unknown {
  const alone = /^\$\{([^}]+)\}$/.exec(value)?.[1];
  if (alone !== undefined) return kept(alone, values);
  const named = value.startsWith("~/") ? `${prefix}/${value.slice(2)}` : value;
  return named.replace(/\$\{([^}]+)\}/g, (_, name: string) => String(kept(name, values)));
}

function kept(name: string, values: Values): unknown {
  if (!values.has(name)) throw new Error(`Nothing is kept under ${name}.`);
  return values.get(name);
}

/** The value at `path` (`holders.0.owner`) of an answer. */
export function at(answer: unknown, path: string): unknown {
  let found = answer;
  for (const part of path.split(".")) found = (found as Record<string, unknown> | undefined)?.[part];
  if (found === undefined) throw new Error(`There is no ${path} in ${JSON.stringify(answer)}`);
  return found;
}
