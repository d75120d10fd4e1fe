// Random histories against the reference model and the invariants. ROWLOCK_TEST_SEED repeats a run, ROWLOCK_TEST_RUNS
// makes it longer.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { simulate } from "./simulation.ts";
import { history } from "./steps.ts";

const numRuns = Number(process.env.ROWLOCK_TEST_RUNS ?? 200);
const TIMEOUT_MS = 120_000 + numRuns * 100;

describe(`random histories, seed ${seed}`, () => {
  test(
    "end as the reference model says, and keep every promise on the way",
    () => {
      let runs = 0;
      const property = fc.property(history, (steps) => {
        runs += 1;
        simulate(steps);
      });
      fc.assert(property, { seed, numRuns });
      expect(runs).toBe(numRuns);
    },
    TIMEOUT_MS,
  );

  test(
    "keep every promise if a decision reads only some of the due claims",
    () => {
      const dueMax = fc.nat(1);
      let runs = 0;
      const property = fc.property(history, dueMax, (steps, max) => {
        runs += 1;
        simulate(steps, { dueMax: max });
      });
      fc.assert(property, { seed, numRuns: Math.ceil(numRuns / 4) });
      expect(runs).toBe(Math.ceil(numRuns / 4));
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
    { seed: 5, numRuns: 50 },
  );
  expect([...reached.keys()]).toEqual(expect.arrayContaining(WORTH_REACHING));
});

const WORTH_REACHING = [
  "acquire: held",
  "acquire: waiting",
  "acquire: ended",
  "acquire: request_id_reused",
  "acquire: refused busy",
  "acquire: refused paused",
  "acquire: refused failed_over",
  "acquire: refused never_fits",
  "acquire: refused queue_full",
  "acquire: refused not_before",
  "acquire: refused exhausted",
  "acquire: refused status_mismatch",
  "attach: held",
  "attach: waiting",
  "attach: ended",
  "attach: unknown_claim",
  "renew: held",
  "renew: waiting",
  "renew: ended",
  "renew: unknown_claim",
  "release: released",
  "release: unknown_claim",
  "release: waiting",
  "update_record: record",
  "update_record: version_mismatch",
  "delete_record: deleted",
  "delete_record: in_use",
  "delete_record: version_mismatch",
  "set_limit: limit",
  "set_limit: version_mismatch",
  "force_release: forced",
  "granted at once",
  "granted from the queue, whole",
  "granted from the queue, cut short",
  "provisional lease fetched",
  "held claim kept",
  "waiting claim kept",
  "read further heads",
  "waiting claim ended: cancelled",
  "waiting claim ended: lapsed",
  "waiting claim ended: timed_out",
  "waiting claim ended: never_fits",
  "waiting claim ended: force_released",
  "waiting claim ended: exhausted",
  "waiting claim ended: status_mismatch",
  "held claim ended: released",
  "held claim ended: expired",
  "held claim ended: lapsed, never fetched",
  "held claim ended: cancelled",
  "held claim ended: cancelled, never fetched",
  "held claim ended: force_released",
  "held claim ended: force_released, never fetched",
];
