// How long a transaction rests before it is repeated. How often it is repeated: test/engine/transaction/attempts.test.ts.

import { expect, test } from "vitest";
import { ROLLED_BACK } from "../../server/storage/retry.ts";
import { CHANGED, StoreError } from "../../server/storage/store.ts";

test("one that met another one waits for a random time, longer with each try; one that read stale data does not", () => {
  const pauses = (reason: string, tried: number) =>
    Array.from({ length: 50 }, () => ROLLED_BACK.pauseMs(tried, new StoreError("transient", reason, "No.")));
  expect(new Set(pauses(CHANGED, 5))).toEqual(new Set([0]));
  for (const tried of [1, 6]) {
    const all = pauses("deadlock", tried);
    expect(Math.max(...all)).toBeLessThanOrEqual(2 ** (tried + 1));
    expect(Math.min(...all)).toBeGreaterThanOrEqual(0);
    expect(new Set(all).size).toBeGreaterThan(1);
  }
});
