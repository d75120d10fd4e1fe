// The seed of this run's property tests: printed when the run starts; ROWLOCK_TEST_SEED sets it to repeat a run.
import { inject } from "vitest";

/** A 32-bit integer, the same in every test file of a run; pass it to fast-check as `{ seed }`. */
export const seed: number = inject("seed");
