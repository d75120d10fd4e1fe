// Children of a metric by the value of a label, kept so that the hot path neither builds label objects nor grows
// without bound. Owns no metric.

/** Distinct values of one label; what comes after them is counted as `other`. A leak of time series is worse. */
const VALUES_MAX = 100;
const OVERFLOW = "other";

export class Labelled<Child> {
  readonly #children = new Map<string, Child>();
  readonly #make: (value: string) => Child;

  constructor(make: (value: string) => Child) {
    this.#make = make;
  }

  of(value: string): Child {
    const known = this.#children.get(value);
    if (known !== undefined) return known;
    if (this.#children.size >= VALUES_MAX && value !== OVERFLOW) return this.of(OVERFLOW);
    const child = this.#make(value);
    this.#children.set(value, child);
    return child;
  }
}
