// How claims are written as column values.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { CLAIM_PLAIN_COLUMNS } from "../../../server/storage/rows/columns.ts";
import { folderOf, plainClaimValues, wordOf } from "../../../server/storage/rows/values.ts";
import { CLAIM } from "../../support/claims.ts";

test("a claim that waits, holds and ends keeps the size of its row, so that the database updates it in place", () => {
  const nothing = { fencingToken: 0n, grantedAtUs: null, endedAtUs: null, endReason: null };
  const waiting: Claim = { ...CLAIM, ...nothing, state: "waiting", ttlUs: 1, deadlineUs: 2, replica: 3n };
  const held: Claim = { ...waiting, state: "held", fencingToken: 4n, grantedAtUs: 5 };
  const ended: Claim = { ...held, state: "ended", replica: null, endedAtUs: 6, endReason: "released" };
  const missing = (claim: Claim) =>
    CLAIM_PLAIN_COLUMNS.filter((_, at) => plainClaimValues(claim)[at] === null);
  expect(missing(waiting)).toEqual(["wait_until"]);
  expect(missing(held)).toEqual(missing(waiting));
  expect(missing(ended)).toEqual(missing(waiting));
});

test("an unknown code is an error, and no word", () => {
  const words = ["none", "one"];
  expect([wordOf(words, 1), wordOf(words, "0"), wordOf(words, 1n)]).toEqual(["one", "none", "one"]);
  expect(() => wordOf(words, 2)).toThrow("code 2");
});

test("the folder of a name goes up to its last slash", () => {
  expect(["a/b/c", "a/b/", "/a", "a", ""].map(folderOf)).toEqual(["a/b/", "a/b/", "/", "", ""]);
});
