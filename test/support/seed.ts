// The seed of this run's property tests: printed when the run starts, taken from ROWLOCK_TEST_SEED to repeat one.
import { inject } from "vitest";

/** A 32-bit integer, the same in every test file of a run; give it to fast-check as `{ seed }`. */
export const seed: number = inject("seed");
