// The keys of request ids: narrow, different for different ids, in the order of the times of UUIDs; and which ids cannot be
// used because others have their keys.

import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { CAPTURE_MAX } from "../../../server/core/bounds.ts";
import { keptRequestId, SERVER_MADE_PREFIX } from "../../../server/core/claim.ts";
import { markOf } from "../../../server/engine/secrets.ts";
import { requestKeyOf, takenBy } from "../../../server/storage/rows/values.ts";

/** A hash by which all ids have one key, but for their times. */
const weak = vi.hoisted(() => ({ isOn: false }));
vi.mock(import("node:crypto"), async (original) => {
  const crypto = await original();
  const hash = ((name: string, text: string, form: "latin1") =>
    weak.isOn ? "0".repeat(32) : crypto.hash(name, text, form)) as typeof crypto.hash;
  return { ...crypto, hash };
});
afterEach(() => {
  weak.isOn = false;
});

const UUID = "00000000-0000-7000-8000-000000000000";
/** A UUID of version 7 with this time. */
const v7 = (ms: number, rest = 0) => {
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}${UUID.slice(13, 24)}${rest.toString(16).padStart(12, "0")}`;
};
const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const id = fc.oneof(
  fc.string({ minLength: 1, maxLength: 60 }),
  fc.uuid(),
  fc.tuple(time, fc.nat()).map(([ms, rest]) => v7(ms, rest)),
);
const mark = fc.constantFrom(...["", "token:anna", "token:ben"].map(markOf));
const index = fc.oneof(fc.constant("" as const), fc.nat({ max: CAPTURE_MAX - 1 }));
const parts = fc.tuple(mark, id, index);

describe("the key of a request id", () => {
  test("has 16 bytes, is the same each time, and another one if who asks, the id or the lease differs", () => {
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const [key, others] = [one, other].map((kept) => requestKeyOf(keptRequestId(...kept)));
        expect(key).toHaveLength(16);
        expect(requestKeyOf(keptRequestId(...one))).toEqual(key);
        expect(key?.equals(others as Buffer)).toBe(`${one}` === `${other}`);
      }),
    );
  });

  test("begins with the time of a UUID of version 7, whoever sends it, so that keys come in order of time", () => {
    fc.assert(
      fc.property(time, time, mark, index, fc.boolean(), (early, late, mark, index, isUpper) => {
        const keyAt = (ms: number) => {
          const id = isUpper ? v7(ms).toUpperCase() : v7(ms);
          return requestKeyOf(keptRequestId(mark, id, index));
        };
        expect(keyAt(early).readUIntBE(0, 6)).toBe(early);
        if (early < late) expect(Buffer.compare(keyAt(early), keyAt(late))).toBe(-1);
      }),
    );
  });

  test("has no time for other ids, however similar they are", () => {
    const ids = [
      v7(0).replace("-7", "-4"),
      v7(0).replace("-8", "-c"),
      `${v7(0)}0`,
      v7(0).slice(1),
      v7(0).replaceAll("-", "0"),
      v7(0).replace("0", "g"),
    ];
    for (const id of ids) expect(requestKeyOf(id).readUIntBE(0, 6)).not.toBe(0);
  });
});

describe("a request id is taken", () => {
  const owners = (...requestIds: string[]) =>
    requestIds.map((requestId) => ({ key: requestKeyOf(requestId), requestId }));

  test("by nobody as long as each has its own key", () => {
    expect(takenBy([], [])).toBeUndefined();
    expect(takenBy(["a", "b", "a", `${SERVER_MADE_PREFIX}c`], owners("b", "d"))).toBeUndefined();
  });

  test("by a claim with its key and another id, and by the first of several ids with one key", () => {
    weak.isOn = true;
    // Ids that no random test above can have had: their strong keys would be remembered.
    const [early, late, later] = [v7(777_001, 55_001), v7(777_002, 55_001), v7(777_002, 55_002)];
    const [long, longer] = ["e".repeat(61), "f".repeat(61)];
    expect(takenBy([early, late, later, late], [])).toEqual(new Set([later]));
    expect(takenBy([late, later, early], owners(later))).toEqual(new Set([late]));
    expect(takenBy([`${SERVER_MADE_PREFIX}a`, long], owners(longer))).toEqual(new Set([long]));
  });
});
