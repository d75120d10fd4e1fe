// Our cheap counters and histograms report the same as prom-client's.

import fc from "fast-check";
import { Counter, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { hotCounter, hotHistogram } from "../../server/metrics/hot-metrics.ts";

const BUCKETS = [0.001, 0.5, 1, 10];
const observation = fc.record({
  class: fc.constantFrom("a", 'b"\\\n', "etl/*"),
  value: fc.oneof(fc.constantFrom(0, ...BUCKETS), fc.double({ min: 0, max: 20, noNaN: true })),
});

test("for any observations, in two scrapes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(observation), fc.array(observation), async (first, second) => {
      const [theirs, ours] = [new Registry(), new Registry()];
      const named = { help: "What it is.", labelNames: ["class"] as const };
      const histogram = new Histogram({ ...named, name: "x_seconds", buckets: BUCKETS, registers: [theirs] });
      const counter = new Counter({ ...named, name: "x_total", registers: [theirs] });
      const newHistogram = hotHistogram({ ...named, name: "x_seconds", buckets: BUCKETS, registry: ours });
      const newCounter = hotCounter({ ...named, name: "x_total", registry: ours });
      const children = new Map<string, [ReturnType<typeof newHistogram>, ReturnType<typeof newCounter>]>();
      for (const observations of [first, second]) {
        for (const { class: of, value } of observations) {
          const labels = { class: of };
          histogram.observe(labels, value);
          counter.inc(labels);
          const known = children.get(of) ?? [newHistogram(labels), newCounter(labels)];
          children.set(of, known);
          known[0].observe(value);
          known[1].inc();
        }
        // Readers ignore the order of labels.
        const normal = (text: string) => text.replace(/\{le="([^"]*)",(.*)\} /g, '{$2,le="$1"} ');
        expect(normal(await ours.metrics())).toBe(normal(await theirs.metrics()));
      }
    }),
  );
});
