// Random histories against the reference model and the invariants. ROWLOCK_TEST_SEED repeats a run, ROWLOCK_TEST_RUNS
// makes it longer.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { simulate } from "./simulation.ts";
import { headStartHistory, history, sharedHistory } from "./steps.ts";

const numRuns = Number(process.env.ROWLOCK_TEST_RUNS ?? 200);
const TIMEOUT_MS = 120_000 + numRuns * 100;

const nothing = fc.constant({});
const someOfTheDue = fc.record({ dueMax: fc.nat(1) });

describe(`random histories, seed ${seed}`, () => {
  test.each([
    ["end as the reference model says, and keep every promise on the way", history, nothing, numRuns],
    [
      "keep every promise if a decision reads only some of the due claims",
      history,
      someOfTheDue,
      Math.ceil(numRuns / 4),
    ],
    ["end so if principals share a lock", sharedHistory, nothing, numRuns],
    [
      "keep every promise if a decision reads only parts of a shared queue",
      sharedHistory,
      someOfTheDue,
      numRuns,
    ],
    ["end so where claims have head starts", headStartHistory, nothing, numRuns],
    [
      "keep every promise if a decision reads only parts of a queue with head starts",
      headStartHistory,
      someOfTheDue,
      numRuns,
    ],
  ])(
    "%s",
    (_, histories, anyOptions, wanted) => {
      let runs = 0;
      const property = fc.property(histories, anyOptions, (steps, options) => {
        runs += 1;
        simulate(steps, options);
      });
      fc.assert(property, { seed, numRuns: wanted });
      expect(runs).toBe(wanted);
    },
    TIMEOUT_MS,
  );
});

test("random histories reach every outcome and every end", () => {
  const reached = new Map<string, number>();
  const count = (what: string) => reached.set(what, (reached.get(what) ?? 0) + 1);
  // A fixed seed gives the same result in each run.
  fc.assert(
    fc.property(history, (steps) => simulate(steps, { reached: count })),
    { seed: 25, numRuns: 50 },
  );
  const wanted = Object.entries(WORTH_REACHING).flatMap(([what, ends]) =>
    ends.map((end) => `${what}: ${end}`),
  );
  expect([...reached.keys()]).toEqual(expect.arrayContaining([...wanted, ...ALSO_WORTH_REACHING]));
});

const WORTH_REACHING = {
  acquire: [
    ...["held", "waiting", "ended", "request_id_reused"],
    ...["refused busy", "refused paused", "refused failed_over", "refused never_fits", "refused queue_full"],
    ...["refused not_before", "refused exhausted", "refused status_mismatch", "refused rate"],
  ],
  attach: ["held", "waiting", "ended", "unknown_claim"],
  renew: ["held", "waiting", "ended", "unknown_claim"],
  release: ["released", "unknown_claim", "waiting"],
  update_record: ["record", "version_mismatch"],
  delete_record: ["deleted", "in_use", "version_mismatch"],
  set_limit: ["limit", "version_mismatch"],
  force_release: ["forced"],
  "waiting claim ended": [
    ...["cancelled", "lapsed", "timed_out", "never_fits", "force_released", "exhausted", "status_mismatch"],
    "superseded",
  ],
  "held claim ended": [
    ...["released", "failed", "expired", "lapsed, never fetched", "cancelled", "cancelled, never fetched"],
    ...["force_released", "force_released, never fetched", "spent"],
  ],
};
const ALSO_WORTH_REACHING = [
  ...["granted at once", "granted from the queue, whole", "granted from the queue, cut short"],
  "granted from the queue, spent",
  ...["provisional lease fetched", "held claim kept", "waiting claim kept", "read further heads"],
];
