// The search for due locks among those whose bounds have passed, some of which are not due: in steps of any size it finds
// each once.

import { expect, test } from "vitest";
import { dueStep, type PassedBound } from "../../../server/storage/rows/guard-scans.ts";

const NOW_US = 1_000;
/** Due, free since its bound was written, renewed since, or neither in the list nor due. */
const EXACT_US = [NOW_US, null, NOW_US + 1, undefined];

test.each([1, 2, 3, 10, 199, 200, 1_000])("all steps of %i find each due lock once", (max) => {
  const ids = Array.from({ length: 200 }, (_, at) => at + 1);
  const exactOf = (id: number) => EXACT_US[(id * 7) % 5];
  const passed = ids.flatMap((id): PassedBound[] => {
    const atUs = exactOf(id);
    return atUs === undefined ? [] : [{ id: BigInt(id), atUs }];
  });
  const found: bigint[] = [];
  let steps = 0;
  for (let after: bigint | null = 0n; after !== null; steps++) {
    const from = after;
    const bounds = passed.filter(({ id }) => id > from).slice(0, max);
    const step = dueStep(bounds, NOW_US, max);
    expect(step.lockIds.length).toBeLessThanOrEqual(max);
    found.push(...step.lockIds);
    after = step.next;
    if (after !== null) expect(after).toBeGreaterThan(from);
  }
  expect(found).toEqual(ids.filter((id) => exactOf(id) === NOW_US).map(BigInt));
  expect(steps).toBeLessThanOrEqual(Math.ceil(ids.length / max) + 1);
});
