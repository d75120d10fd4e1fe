// Instants as text, compared with those of the language.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { instantText } from "../../server/core/noted-change.ts";
import { seed } from "../support/seed.ts";

describe("an instant as text", () => {
  test("has microseconds, and is in UTC", () => {
    expect(instantText(1_772_324_645_000_007)).toBe("2026-03-01T00:24:05.000007Z");
    expect(instantText(951_782_400_999_999)).toBe("2000-02-29T00:00:00.999999Z");
  });

  test(`is what the language says, for any time until 2255, up to which numbers are exact, seed ${seed}`, () => {
    const us = fc.integer({ min: 0, max: 9_007_199_254_739 });
    fc.assert(
      fc.property(us, fc.integer({ min: 0, max: 999 }), (ms, more) => {
        const text = new Date(ms).toISOString().replace("Z", `${String(more).padStart(3, "0")}Z`);
        expect(instantText(ms * 1_000 + more)).toBe(text);
      }),
      { seed },
    );
  });
});
