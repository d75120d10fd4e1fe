// How long ended claims are kept, by the names of their locks: for the time of the class that the name belongs to, and at
// least for the retention time, because a repeated request must get the answer of the first one.

export interface HistoryClass {
  /** An exact name, or a prefix and a star. */
  readonly pattern: string;
  readonly keptForUs: number;
}

const SECOND_US = 1_000_000;

/**
 * Returns the time for a name, in whole seconds: the database keeps seconds, and groups ended claims by them. An exact
 * name beats the longest pattern.
 */
export function keptForBy(retentionUs: number, classes: readonly HistoryClass[]): (name: string) => number {
  const whole = (us: number) => Math.ceil(Math.max(us, retentionUs) / SECOND_US) * SECOND_US;
  const byName = new Map<string, number>();
  const byPrefix: { readonly prefix: string; readonly us: number }[] = [];
  for (const { pattern, keptForUs } of classes) {
    if (pattern.endsWith("*")) byPrefix.push({ prefix: pattern.slice(0, -1), us: whole(keptForUs) });
    else byName.set(pattern, whole(keptForUs));
  }
  byPrefix.sort((a, b) => b.prefix.length - a.prefix.length);
  const usual = whole(retentionUs);
  return (name) => byName.get(name) ?? byPrefix.find(({ prefix }) => name.startsWith(prefix))?.us ?? usual;
}
