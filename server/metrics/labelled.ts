// Children of a metric by the value of a label, kept so that the hot path neither builds label objects nor grows
// without bound. Owns no metric.

import { LABEL_VALUES_MAX } from "./metrics-bounds.ts";

/** The value that stands for those beyond the bound. */
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
    if (this.#children.size >= LABEL_VALUES_MAX && value !== OVERFLOW) return this.of(OVERFLOW);
    const child = this.#make(value);
    this.#children.set(value, child);
    return child;
  }
}
