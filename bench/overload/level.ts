// Whether what must not grow has stopped growing: the median of the last third of a run is hardly above that of the
// second third. The first third is for caches to fill and for the first rows to become old enough to be deleted.

/** One thing that was looked at again and again. */
export interface Series {
  readonly what: string;
  readonly unit: "MiB" | "KiB" | "rows" | "count";
  readonly values: readonly number[];
  /** Why it may grow. */
  readonly mayGrow?: string;
}

export interface Verdict {
  readonly what: string;
  readonly before: number;
  readonly after: number;
  readonly isLevel: boolean;
}

const GROWTH_MAX = 0.1;
/** Less than this is noise. */
const SLACK: Readonly<Record<Series["unit"], number>> = { MiB: 1, KiB: 5, rows: 50, count: 5 };

export function judge(all: readonly Series[]): Verdict[] {
  return all.map(({ what, unit, values, mayGrow }) => {
    const third = Math.floor(values.length / 3);
    const [before, after] = [median(values.slice(third, 2 * third)), median(values.slice(2 * third))];
    const isLevel = mayGrow !== undefined || after <= before * (1 + GROWTH_MAX) + SLACK[unit];
    return { what, before: rounded(before), after: rounded(after), isLevel };
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

const rounded = (value: number) => Math.round(value * 10) / 10;
