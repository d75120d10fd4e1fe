// Counts live claims by the values of one label that the operator names. Clients choose the values, so their number is
// bounded twice: while counting, and in what is shown. The rest counts as OTHER.

/** Distinct values that are counted apart: some hundred kilobytes, while a count lasts. */
const COUNTED_MAX = 10_000;
/** Values that are shown: those with the most claims. */
const SHOWN_MAX = 50;
const OTHER = "other";

export interface LabelCount {
  readonly value: string;
  readonly holders: number;
  readonly waiters: number;
}

export class LabelCounts {
  readonly #key: string;
  readonly #counts = new Map<string, { holders: number; waiters: number }>();

  constructor(key: string) {
    this.#key = key;
  }

  /** Claims without the label are not counted. */
  add(labels: Readonly<Record<string, string>>, what: "holders" | "waiters"): void {
    if (!Object.hasOwn(labels, this.#key)) return;
    const value = labels[this.#key] as string;
    const isNew = !this.#counts.has(value);
    const counted = isNew && this.#counts.size >= COUNTED_MAX ? OTHER : value;
    const counts = this.#counts.get(counted) ?? { holders: 0, waiters: 0 };
    counts[what] += 1;
    this.#counts.set(counted, counts);
  }

  /** The values with the most claims first, and OTHER last. */
  get most(): readonly LabelCount[] {
    const all = [...this.#counts].map(([value, counts]) => ({ value, ...counts }));
    const known = all.filter(({ value }) => value !== OTHER).sort((a, b) => totalOf(b) - totalOf(a));
    const rest = [...known.slice(SHOWN_MAX), ...all.filter(({ value }) => value === OTHER)];
    const sum = (what: "holders" | "waiters") => rest.reduce((total, count) => total + count[what], 0);
    const other = { value: OTHER, holders: sum("holders"), waiters: sum("waiters") };
    return [...known.slice(0, SHOWN_MAX), ...(rest.length > 0 ? [other] : [])];
  }
}

function totalOf({ holders, waiters }: LabelCount): number {
  return holders + waiters;
}
