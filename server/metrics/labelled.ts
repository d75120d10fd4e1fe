// Children of a metric by the value of a label. They are kept, so that the hot path neither builds label objects nor
// grows without bound. Owns no metric.

/** Distinct values of one label. Further ones are counted as OVERFLOW, because a leak of time series would be worse. */
const LABEL_VALUES_MAX = 100;
/** The value that stands for all values beyond the bound. */
const OVERFLOW = "other";

export class Labelled<Child> {
  readonly #children = new Map<string, Child>();
  readonly #make: (value: string) => Child;

  /**
   * `known`: values that exist from the start. Prometheus sees no increase when a counter first appears, so it would
   * miss the first event of a rare kind.
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
