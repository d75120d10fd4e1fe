// Maps a lock's name to its class: one of the patterns that the operator configured, or `other`. Names of locks are
// unbounded and must never become labels.

import { CLASS_OTHER } from "../config/settings.ts";

/** Index into `LockClasses.labels`. */
type ClassIndex = number;

export interface LockClasses {
  /** The patterns as configured, and CLASS_OTHER. */
  readonly labels: readonly string[];
  /**
   * An exact name beats the longest pattern. Cheap enough for every call: no allocation, one pass over the prefixes.
   */
  indexOf(lockName: string): ClassIndex;
}

/** @param patterns exact names, or prefixes with a star at the end. */
export function lockClasses(patterns: readonly string[]): LockClasses {
  const labels = [...patterns, CLASS_OTHER];
  const other = labels.length - 1;
  const exact = new Map<string, ClassIndex>();
  const prefixes: { prefix: string; index: ClassIndex }[] = [];
  for (const [index, pattern] of patterns.entries()) {
    if (pattern.endsWith("*")) prefixes.push({ prefix: pattern.slice(0, -1), index });
    else exact.set(pattern, index);
  }
  prefixes.sort((a, b) => b.prefix.length - a.prefix.length);
  return {
    labels,
    indexOf(lockName) {
      const found = exact.get(lockName);
      if (found !== undefined) return found;
      for (const { prefix, index } of prefixes) if (lockName.startsWith(prefix)) return index;
      return other;
    },
  };
}
