// Claims for several locks in the core, with whatever a decision may have read.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import { history, simulateSets } from "./few-locks.ts";

const numRuns = Number(process.env.ROWLOCK_TEST_RUNS ?? 200);
const TIMEOUT_MS = 120_000 + numRuns * 100;

describe(`random histories of claims for several locks, seed ${seed}`, () => {
  test(
    "take all locks or none, pass nobody, and all come to their turn in the end",
    () => {
      let runs = 0;
      const property = fc.property(history, (steps) => {
        runs += 1;
        simulateSets(steps);
      });
      fc.assert(property, { seed, numRuns });
      expect(runs).toBe(numRuns);
    },
    TIMEOUT_MS,
  );
});
