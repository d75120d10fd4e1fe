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

/** The longest prefix of all names that match the pattern and begin with `prefix`; null: there are none. */
export function commonPrefix({ text, isPrefix }: Pattern, prefix: string): string | null {
  if (text.startsWith(prefix)) return text;
  return isPrefix && prefix.startsWith(text) ? prefix : null;
}
