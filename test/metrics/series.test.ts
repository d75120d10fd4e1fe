// Our cheap counters and histograms report the same as prom-client's.

import fc from "fast-check";
import { Counter, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { counter, histogram, LockClasses, liveSeries } from "../../server/metrics/series.ts";

const BUCKETS = [0.001, 0.5, 1, 10];
const HELP = "What it is.";
const TABLE = {
  seconds: histogram("x_seconds", HELP, ["kind"], { buckets: BUCKETS }),
  total: counter("x_total", HELP, ["kind"]),
};
const observation = fc.record({
  kind: fc.constantFrom("a", 'b"\\\n', "etl/*"),
  value: fc.oneof(fc.constantFrom(0, ...BUCKETS), fc.double({ min: 0, max: 20, noNaN: true })),
});

test("for any observations, in two scrapes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(observation), fc.array(observation), async (first, second) => {
      const [theirs, ours] = [new Registry(), new Registry()];
      const named = { help: HELP, labelNames: ["kind"] as const, registers: [theirs] };
      const theirSeconds = new Histogram({ ...named, name: "x_seconds", buckets: BUCKETS });
      const theirTotal = new Counter({ ...named, name: "x_total" });
      const { seconds, total } = liveSeries(TABLE, [ours], new LockClasses([]));
      for (const observations of [first, second]) {
        for (const { kind, value } of observations) {
          theirSeconds.observe({ kind }, value);
          theirTotal.inc({ kind });
          seconds.of(kind).observe(value);
          total.of(kind).inc();
        }
        // Readers ignore the order of labels.
        const normal = (text: string) => text.replace(/\{le="([^"]*)",(.*)\} /g, '{$2,le="$1"} ');
        expect(normal(await ours.metrics())).toBe(normal(await theirs.metrics()));
      }
    }),
  );
});
