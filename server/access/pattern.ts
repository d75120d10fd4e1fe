// Patterns of names: a name, or a prefix with a star. The same for principals and for locks.

export interface Pattern {
  readonly text: string;
  readonly isPrefix: boolean;
}

/** null: it has a star before its end. */
export function parsePattern(text: string): Pattern | null {
  const isPrefix = text.endsWith("*");
  const rest = isPrefix ? text.slice(0, -1) : text;
  return rest.includes("*") ? null : { text: rest, isPrefix };
}

export function matches({ text, isPrefix }: Pattern, name: string): boolean {
  return isPrefix ? name.startsWith(text) : name === text;
}

/** Whether the pattern matches every name with the prefix. */
export function covers({ text, isPrefix }: Pattern, prefix: string): boolean {
  return isPrefix && prefix.startsWith(text);
}

/** Names whose answer a set remembers; more begin anew. Programs ask for the same locks again and again. */
const REMEMBERED_MAX = 1_000;

/** Many patterns. To match a new name takes a look-up for each length of a prefix, and not for each pattern. */
export class PatternSet {
  readonly #names = new Set<string>();
  readonly #prefixes = new Set<string>();
  readonly #lengths: readonly number[];
  readonly #remembered = new Map<string, boolean>();

  constructor(patterns: readonly Pattern[]) {
    for (const { text, isPrefix } of patterns) (isPrefix ? this.#prefixes : this.#names).add(text);
    this.#lengths = [...new Set([...this.#prefixes].map((prefix) => prefix.length))];
  }

  matches(name: string): boolean {
    const known = this.#remembered.get(name);
    if (known !== undefined) return known;
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear();
    const found = this.#search(name);
    this.#remembered.set(name, found);
    return found;
  }

  #search(name: string): boolean {
    if (this.#names.has(name)) return true;
    for (const length of this.#lengths)
      if (length <= name.length && this.#prefixes.has(name.slice(0, length))) return true;
    return false;
  }
}

/** The longest prefix of all names that match the pattern and begin with `prefix`; null: there are none. */
export function commonPrefix({ text, isPrefix }: Pattern, prefix: string): string | null {
  if (text.startsWith(prefix)) return text;
  return isPrefix && prefix.startsWith(text) ? prefix : null;
}
