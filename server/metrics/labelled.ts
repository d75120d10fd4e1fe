// Children of a metric by the value of a label, kept so that the hot path neither builds label objects nor grows
// without bound. Owns no metric.

/** Distinct values of one label; what comes after them is counted as OVERFLOW. A leak of time series is worse. */
const LABEL_VALUES_MAX = 100;
/** The value that stands for those beyond the bound. */
const OVERFLOW = "other";

export class Labelled<Child> {
  readonly #children = new Map<string, Child>();
  readonly #make: (value: string) => Child;

  /**
   * `known`: values that are there from the start. To Prometheus, a counter that appears has not increased, so the first
   * event of a rare kind would go unseen.
   */
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
