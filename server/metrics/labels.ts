// The values of labels, and what belongs to each. They are bounded, because each value is at least one time series.

import { CLASS_OTHER } from "../config/settings.ts";

/** Distinct values of one label. Further ones are counted as OVERFLOW, because a leak of time series would be worse. */
const LABEL_VALUES_MAX = 100;
/** The value that stands for all values beyond the bound. */
const OVERFLOW = "other";

/** Makes what belongs to each value of a label, once. */
export class ByLabel<Child> {
  readonly #children = new Map<string, Child>();
  readonly #make: (value: string) => Child;

  constructor(make: (value: string) => Child, known: readonly string[] = []) {
    this.#make = make;
    for (const value of known) this.of(value);
  }

  of(value: string): Child {
    const known = this.#children.get(value);
    if (known !== undefined) return known;
    if (this.#children.size >= LABEL_VALUES_MAX && value !== OVERFLOW) return this.of(OVERFLOW);
    const child = this.#make(value);
    this.#children.set(value, child);
    return child;
  }
}

/** Makes what belongs to each class of locks, so that no lock's name becomes a label. */
export class ByClass<Child> {
  /** In the order of the classes' labels. */
  readonly all: readonly Child[];
  readonly #classes: LockClasses;

  constructor(classes: LockClasses, make: (label: string) => Child) {
    this.#classes = classes;
    this.all = classes.labels.map(make);
  }

  of(lockName: string): Child {
    return this.all[this.#classes.indexOf(lockName)] as Child;
  }
}

/** The classes of locks: one for each of the patterns that the operator configured, and CLASS_OTHER. */
export class LockClasses {
  /** The patterns as configured, and CLASS_OTHER. */
  readonly labels: readonly string[];
  readonly #exact = new Map<string, number>();
  readonly #prefixes: { readonly prefix: string; readonly index: number }[] = [];

  /** @param patterns exact names, or prefixes with a star at the end. */
  constructor(patterns: readonly string[]) {
    this.labels = [...patterns, CLASS_OTHER];
    for (const [index, pattern] of patterns.entries()) {
      if (pattern.endsWith("*")) this.#prefixes.push({ prefix: pattern.slice(0, -1), index });
      else this.#exact.set(pattern, index);
    }
    this.#prefixes.sort((a, b) => b.prefix.length - a.prefix.length);
  }

  /**
   * Returns an index into `labels`: an exact name beats the longest pattern. Cheap enough for every call: no
   * allocation, one pass over the prefixes.
   */
  indexOf(lockName: string): number {
    const other = this.labels.length - 1;
    if (other === 0) return other;
    const found = this.#exact.get(lockName);
    if (found !== undefined) return found;
    for (const { prefix, index } of this.#prefixes) if (lockName.startsWith(prefix)) return index;
    return other;
  }
}
