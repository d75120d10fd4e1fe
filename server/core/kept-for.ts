// How long ended claims are kept, by the names of their locks: for the time of the class that the name belongs to, and at
// least for the retention time, because a repeated request must get the answer of the first one.

export interface HistoryClass {
  /** An exact name, or a prefix and a star. */
  readonly pattern: string;
  readonly keptForUs: number;
}

export interface KeptFor {
  /** In whole seconds: the database keeps seconds, and groups ended claims by them. */
  of(name: string): number;
  /** The shortest time of all names that begin with the prefix. */
  least(prefix: string): number;
}

const SECOND_US = 1_000_000;
/** For names that no class has: long enough to ask after a weekend what happened before it. */
export const USUALLY_KEPT_US = 7 * 24 * 3_600 * SECOND_US;

/** An exact name beats the longest pattern. */
export function keptForBy(retentionUs: number, classes: readonly HistoryClass[]): KeptFor {
  const whole = (us: number) => Math.ceil(Math.max(us, retentionUs) / SECOND_US) * SECOND_US;
  const byName = new Map<string, number>();
  const byPrefix: { readonly prefix: string; readonly us: number }[] = [];
  for (const { pattern, keptForUs } of classes) {
    if (pattern.endsWith("*")) byPrefix.push({ prefix: pattern.slice(0, -1), us: whole(keptForUs) });
    else byName.set(pattern, whole(keptForUs));
  }
  byPrefix.sort((a, b) => b.prefix.length - a.prefix.length);
  const usual = whole(USUALLY_KEPT_US);
  const ofPrefix = (name: string) => byPrefix.find(({ prefix }) => name.startsWith(prefix))?.us ?? usual;
  return {
    of: (name) => byName.get(name) ?? ofPrefix(name),
    least: (begin) =>
      Math.min(
        ofPrefix(begin),
        ...byPrefix.filter(({ prefix }) => prefix.startsWith(begin)).map(({ us }) => us),
        ...[...byName].filter(([name]) => name.startsWith(begin)).map(([, us]) => us),
      ),
  };
}
