// The names that a search skips because a pattern pauses them are exactly those whose limit in force is 0.

import fc from "fast-check";
import { expect, test } from "vitest";
import { effectiveLimit, type LimitRule } from "../../../server/core/limit.ts";
import { pausedUnder } from "../../../server/engine/capturing/candidates.ts";
import { isWanted } from "../../../server/storage/rows/free-locks.ts";
import { seed } from "../../support/seed.ts";

const text = fc.stringMatching(/^[ab/]{0,4}$/);
const rules = fc.uniqueArray(fc.record({ prefix: text, limit: fc.constantFrom(null, 0, 0, 3) }), {
  selector: ({ prefix }) => prefix,
  maxLength: 5,
});

test(`a pattern pauses the names whose limit in force is 0 (seed ${seed})`, () => {
  fc.assert(
    fc.property(rules, text, text, fc.constantFrom(null, null, 2), (given, prefix, rest, limit) => {
      const all = given.map(
        (rule): LimitRule => ({
          ...rule,
          rate: null,
          queueRules: null,
          version: 1n,
          reason: "",
          changeMark: 0n,
        }),
      );
      const name = prefix + rest;
      const lock = { name, limit, limitVersion: 0n, limitReason: "" };
      const isPaused = effectiveLimit(lock, all).limit === 0;
      const wanted = { prefix, paused: pausedUnder(prefix, all) };
      expect(isWanted({ id: 1n, name, freeSinceUs: 0, limit }, wanted)).toBe(!isPaused);
    }),
    { seed, numRuns: 2_000 },
  );
});
