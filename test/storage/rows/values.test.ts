// How claims are written as column values.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { HOLDER_COLUMNS } from "../../../server/storage/rows/columns.ts";
import { wordOf } from "../../../server/storage/rows/values.ts";
import { CLAIM } from "../../support/claims.ts";
import { holderValues } from "../../support/row-values.ts";

test("a lease keeps the size of its guard row, so that the database updates it in place", () => {
  const granted: Claim = { ...CLAIM, ttlUs: 1, deadlineUs: 2, replica: 3n, fencingToken: 4n, grantedAtUs: 5 };
  const confirmed: Claim = { ...granted, replica: null, provisional: false };
  const missing = (claim: Claim) => HOLDER_COLUMNS.filter((_, at) => holderValues(claim)[at] === null);
  expect(missing(granted)).toEqual(["holder_terms", "holder_wait_until", "holder_levels", "holder_members"]);
  expect(missing(confirmed)).toEqual(missing(granted));
});

test("an unknown code is an error, and no word", () => {
  const words = ["none", "one"];
  expect([wordOf(words, 1), wordOf(words, "0"), wordOf(words, 1n)]).toEqual(["one", "none", "one"]);
  expect(() => wordOf(words, 2)).toThrow("code 2");
});
