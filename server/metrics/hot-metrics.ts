// Counters and histograms for the hot path. prom-client checks and hashes the labels at each observation, even of a
// child that is kept. For each lock taken and released, that takes 4.3 to 6.0 of the 260 microseconds that the server
// spends. These take 0.4 to 0.7, which saves 1.7 %: an observation is one addition, and prom-client gets the sums at
// a scrape.

import type { Metric, MetricValueWithName, Registry } from "prom-client";
import { Counter } from "prom-client";

type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

interface Description<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly registry: Registry;
}

/** A counter with these label values. */
export interface HotCounter {
  /** Adds 1 unless `by` is given. */
  inc(by?: number): void;
}

/** Makes the children of a counter. Keep them: each call makes a new one. */
export function hotCounter<Label extends string>(
  description: Description<Label>,
): (labels: LabelValues<Label>) => HotCounter {
  const children: { readonly labels: LabelValues<Label>; pending: number }[] = [];
  const { name, help, labelNames, registry } = description;
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      for (const child of children) {
        this.inc(child.labels, child.pending);
        child.pending = 0;
      }
    },
  });
  return (labels) => {
    const child = {
      labels,
      pending: 0,
      inc(by = 1) {
        this.pending += by;
      },
    };
    children.push(child);
    return child;
  };
}

/** A histogram with these label values. */
export interface HotHistogram {
  /** `value` must be a finite number. */
  observe(value: number): void;
}

/** Makes the children of a histogram. Keep them: each call makes a new one. */
export function hotHistogram<Label extends string>(
  description: Description<Label> & { readonly buckets: readonly number[] },
): (labels: LabelValues<Label>) => HotHistogram {
  const { name, help, buckets, registry } = description;
  const children: Buckets[] = [];
  const described = { name, help, type: "histogram", aggregator: "sum" };
  const metric = {
    ...described,
    get: async () => ({ ...described, values: children.flatMap((child) => child.values(name)) }),
    reset: () => {
      for (const child of children) child.reset();
    },
  };
  // A registry uses no more of its metrics than this.
  registry.registerMetric(metric as unknown as Metric);
  return (labels) => {
    const child = new Buckets(buckets, labels);
    children.push(child);
    return child;
  };
}

class Buckets implements HotHistogram {
  readonly #bounds: readonly number[];
  readonly #labels: LabelValues<string>;
  /** Observations in each bucket alone; the last entry is for values above the highest bound. */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[], labels: LabelValues<string>) {
    this.#bounds = bounds;
    this.#labels = labels;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += value;
  }

  reset(): void {
    this.#counts.fill(0);
    this.#sum = 0;
  }

  /** The lines of an exposition: each bucket includes the ones below it. */
  values(name: string): MetricValueWithName<string>[] {
    let count = 0;
    const buckets = this.#counts.map((inBucket, index) => {
      count += inBucket;
      const le = this.#bounds[index] ?? "+Inf";
      return { metricName: `${name}_bucket`, labels: { ...this.#labels, le }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.#labels, value: this.#sum },
      { metricName: `${name}_count`, labels: this.#labels, value: count },
    ];
  }
}
