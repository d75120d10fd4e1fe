// What the page says of the groups of a lock whose shares are fair.

import { expect, test } from "vitest";
import { sharesOf } from "../../../clients/page/src/shares.ts";

const claim = (principal: string, tenant?: string, permits = 1) => ({
  principal,
  permits,
  labels: tenant === undefined ? {} : { tenant },
});

test("those that hold most come first, and who has no label is of its principal", () => {
  const queueRules = { rules: { shareBy: "label:tenant" } };
  const holders = [claim("token:a", "acme", 2), claim("token:b", "bolt"), claim("token:c", "acme")];
  const waiters = [claim("token:d"), claim("token:d"), claim("token:a", "acme"), claim("")];
  expect(sharesOf({ queueRules, holders, waiters })).toEqual([
    { group: "acme", heldPermits: 3, waiting: 1 },
    { group: "bolt", heldPermits: 1, waiting: 0 },
    { group: "token:d", heldPermits: 0, waiting: 2 },
    { group: "nobody known", heldPermits: 0, waiting: 1 },
  ]);
  expect(sharesOf({ holders, waiters })).toEqual([]);
});
