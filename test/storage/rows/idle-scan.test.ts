// The repeated walk over old guard rows: no row twice in a round, and a row that was left over is not skipped.

import { expect, test } from "vitest";
import { IdleScan } from "../../../server/storage/rows/decided-order.ts";
import { IDLE_SCAN_MAX } from "../../../server/storage/storage-bounds.ts";

const START = { decidedAtUs: -1, id: 0n };
const rows = (from: number, count: number, isIdle: (id: number) => boolean = () => true) =>
  Array.from({ length: count }, (_, at) => ({
    id: BigInt(from + at),
    decidedAtUs: 10 * (from + at),
    isIdle: isIdle(from + at),
  }));
const idsOf = (taken: readonly { id: bigint }[]) => taken.map(({ id }) => Number(id));

test("takes idle rows, and begins again if no more rows are behind", () => {
  const scan = new IdleScan();
  expect(scan.after).toEqual(START);
  expect(
    idsOf(
      scan.take(
        rows(1, 4, (id) => id % 2 === 0),
        9,
      ),
    ),
  ).toEqual([2, 4]);
  expect(scan.after).toEqual(START);
});

test("goes on behind the last row of a whole step, idle or not", () => {
  const scan = new IdleScan();
  expect(
    scan.take(
      rows(1, IDLE_SCAN_MAX, () => false),
      9,
    ),
  ).toEqual([]);
  expect(scan.after).toMatchObject({ id: BigInt(IDLE_SCAN_MAX), decidedAtUs: 10 * IDLE_SCAN_MAX });
  expect(scan.take([], 9)).toEqual([]);
  expect(scan.after).toEqual(START);
});

test("takes no more than requested, and goes on with the first row that it has left", () => {
  const scan = new IdleScan();
  expect(idsOf(scan.take(rows(1, 5), 2))).toEqual([1, 2]);
  expect(scan.after).toMatchObject({ id: 2n, decidedAtUs: 20 });
  expect(idsOf(scan.take(rows(3, 3), 3))).toEqual([3, 4, 5]);
  expect(scan.after).toEqual(START);
});
