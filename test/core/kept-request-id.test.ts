// The request ids under which claims are kept: no two requests of different callers or kinds share one, the caller gets its
// own back, and each fits into its column.

import { expect, test } from "vitest";
import { CAPTURE_MAX, REQUEST_ID_BYTES_MAX } from "../../server/core/bounds.ts";
import {
  callersRequestId,
  isServerMade,
  keptRequestId,
  SERVER_MADE_PREFIX,
} from "../../server/core/claim.ts";
import { markOf } from "../../server/engine/secrets.ts";
import { OneLock } from "./one-lock.ts";

/** See migrations/0001-tables.ts. */
const COLUMN_BYTES = 128;
const IDS = ["a", "a\0b", "a\0", "\u00e9".repeat(REQUEST_ID_BYTES_MAX / 2)];
const MARKS = [markOf(), markOf("token:anna"), markOf("token:ben"), markOf("p".repeat(255))];
const INDEXES = ["", 0, 1, CAPTURE_MAX - 1] as const;

test("they are different, are not the server's own, fit, and give back the caller's id", () => {
  const seen = new Set<string>();
  for (const mark of MARKS)
    for (const id of IDS)
      for (const index of INDEXES) {
        const requestId = keptRequestId(mark, id, index);
        seen.add(requestId);
        expect(callersRequestId({ requestId })).toBe(id);
        expect(isServerMade(requestId)).toBe(false);
        expect(Buffer.byteLength(requestId)).toBeLessThanOrEqual(COLUMN_BYTES);
      }
  expect(seen.size).toBe(MARKS.length * IDS.length * INDEXES.length);
  expect(callersRequestId({ requestId: `${SERVER_MADE_PREFIX}secret` })).toBe("");
});

test("a principal has the same mark each time, and nobody has none", () => {
  expect(markOf("token:anna")).toBe(markOf("token:anna"));
  expect([markOf(), markOf("")]).toEqual(["", ""]);
  expect(new Set(MARKS).size).toBe(MARKS.length);
});

test("one whose key belongs to another id is refused, takes nothing, and no other command fails with it", () => {
  const lock = new OneLock();
  lock.rows.taken.add("unlucky");
  const asked = [lock.asks({ requestId: "unlucky" }), lock.asks({ requestId: "lucky" })];
  expect(lock.transact(...asked)).toMatchObject([{ kind: "request_id_reused" }, { kind: "held" }]);
  expect(lock.lock).toMatchObject({ holders: 1, waiting: 0, nextTicket: 2n });
});
