// How a repeated change recognises whether its first attempt was made: only by the marks in the rows.

import { expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { Change, Outcome } from "../../server/core/command.ts";
import { afterEarlier, type Marks } from "../../server/core/decide-batch.ts";

const CHANGE: Change = {
  verb: "delete_record",
  name: "etl/load",
  expectedVersion: undefined,
};
const FORCE: Change = { verb: "force_release", name: "etl/load", ticketNumber: null, reason: "" };
const DONE: Outcome = { kind: "deleted", lockId: 1n, byThisCall: true, version: 3n };
const REFUSED: Outcome = { kind: "in_use" };

const attempt = (markFound: bigint, markLeft: bigint, outcome: Outcome = DONE): Marks => ({
  markFound,
  markLeft,
  outcomes: [outcome],
});

test.each<[string, bigint, Marks[], ReturnType<typeof afterEarlier>]>([
  ["for the first time is made", 5n, [], { command: CHANGE }],
  ["whose mark is there was made", 6n, [attempt(5n, 6n)], { outcome: DONE }],
  ["of which the first mark is there still was not made", 5n, [attempt(5n, 6n)], { command: CHANGE }],
  ["cannot be told where another mark is there", 7n, [attempt(5n, 6n)], { outcome: { kind: "in_doubt" } }],
  [
    "of which a later attempt has left its mark was made",
    8n,
    [attempt(5n, 6n), attempt(5n, 8n)],
    { outcome: DONE },
  ],
  [
    "that was recognised before is recognised again",
    6n,
    [attempt(5n, 6n), attempt(6n, 6n)],
    { outcome: DONE },
  ],
  ["that was refused is decided anew", 7n, [attempt(5n, 5n, REFUSED)], { command: CHANGE }],
  [
    "that was refused beside one that was made stays so",
    6n,
    [attempt(5n, 6n, REFUSED)],
    { outcome: REFUSED },
  ],
  [
    "that was refused beside one that cannot be told is decided anew",
    7n,
    [attempt(5n, 6n, REFUSED)],
    { command: CHANGE },
  ],
])("a change %s", (_what, markNow, earlier, expected) => {
  expect(afterEarlier(CHANGE, 0, markNow, earlier)).toEqual(expected);
});

test("the repetition of a forced release ends only the claims that its first attempt meant", () => {
  const forced: Outcome = { kind: "forced", ended: [{ ticketNumber: 4n } as Claim], holdersLeft: 2 };
  expect(afterEarlier(FORCE, 0, 5n, [attempt(5n, 6n, forced)])).toEqual({
    command: { ...FORCE, chosen: { ticketNumbers: new Set([4n]), holdersLeft: 2 } },
  });
});
