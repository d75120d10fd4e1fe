// What is sent to write a decision: locks without a record cost nothing extra, and locks with one cost one more
// statement.

import { expect, test } from "vitest";
import type { Claim, Terms } from "../../../../server/core/claim.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import type { LockRecord } from "../../../../server/core/record.ts";
import type { Read } from "../../../../server/storage/mysql/transaction/read.ts";
import { addWrites, recordWrites } from "../../../../server/storage/mysql/transaction/write.ts";
import { movesOf } from "../../../../server/storage/rows/placement.ts";
import { CLAIM, RECORD, TERMS } from "../../../support/claims.ts";
import { ended, LOCK, openTrip, textOf, waiting } from "./lock-fixture.ts";

/** As the decision leaves it; the store adds where the holder is. */
const HELD: Lock = { ...LOCK, nextTicket: 2n, lastToken: 1n, heldPermits: 1, holders: 1, revision: 2n };
const THREE_LEFT: LockRecord = { ...RECORD, attemptsLeft: 3, version: 7n };
const SPACED: Terms = { ...TERMS, minIntervalUs: 1 };

/** The statements that write the changed lock, together with added or changed claims. */
function written(from: Lock, to: Lock, added: readonly Claim[], changed: readonly Claim[] = []) {
  const { trip, statements } = openTrip();
  const before = { lock: () => from, claim: () => CLAIM };
  const loaded = { atLeastUs: 0, nowUs: 0 } as Read["loaded"];
  const read = { loaded, before, rulesRevision: "0", assumptions: null };
  const changes = { locks: [{ ...to }], added, changed, again: [] };
  const moves = movesOf(changes, loaded.nowUs);
  const options = { lockOfRules: "", mayReorder: true };
  addWrites(trip, changes, moves, recordWrites(changes.locks, before), read, options);
  return statements;
}

function sent(...rows: Parameters<typeof written>): string[] {
  return written(...rows).map(({ sql }) => sql);
}

test("a grant and an end at a lock without a record do not mention records", () => {
  const grant = sent(LOCK, HELD, [CLAIM]);
  const holding = { ...HELD, firstHolder: 1n };
  const free = { ...holding, heldPermits: 0, holders: 0, revision: 3n };
  const end = sent(holding, free, [], [ended(1, { deadlineUs: 9 })]);
  // The guard row, with the claim, and its request id; the guard row and the history.
  expect(grant).toHaveLength(2);
  expect(end).toHaveLength(2);
  expect([...grant, ...end].join("\n")).not.toContain("record");
});

test.each([
  ["comes", null, THREE_LEFT, /^INSERT INTO rowlock_record/],
  [
    "changes",
    THREE_LEFT,
    { ...THREE_LEFT, version: 8n },
    /^UPDATE rowlock_record .* SET due_at = NULL, version = 8 WHERE/,
  ],
  ["goes", THREE_LEFT, null, /^DELETE r FROM rowlock_record/],
  // The lock is no longer found among the free ones.
  [
    "stays, at a lock that is held from now on",
    THREE_LEFT,
    THREE_LEFT,
    /^UPDATE rowlock_record .* SET due_at = NULL WHERE/,
  ],
] as const)("a record that %s is one statement more", (_, from, to, expected) => {
  const statements = sent({ ...LOCK, record: from }, { ...HELD, record: to }, [CLAIM]);
  expect(statements).toHaveLength(3);
  expect(statements[1]).toMatch(expected);
});

test("an unchanged record is not written again", () => {
  const touched = sent({ ...LOCK, record: THREE_LEFT }, { ...LOCK, record: THREE_LEFT, revision: 2n }, []);
  expect(touched.join("\n")).not.toContain("rowlock_record");
});

test("a grant and an end of a claim whose request id the server made are two statements each", () => {
  const requestId = "\0made by a server";
  const holding = { ...HELD, firstHolder: 1n };
  const grant = sent(LOCK, HELD, [{ ...CLAIM, requestId }]);
  // The guard row with the claim, and the check that it was written.
  expect(grant).toEqual([
    expect.stringMatching(/^UPDATE rowlock_lock/),
    expect.stringContaining("ROW_COUNT()"),
  ]);
  const free = { ...holding, heldPermits: 0, holders: 0, revision: 3n };
  expect(sent(holding, free, [], [ended(1, { requestId, deadlineUs: 9 })])).toEqual([
    expect.stringMatching(/^UPDATE rowlock_lock/),
    expect.stringMatching(/^INSERT INTO rowlock_history/),
  ]);
});

test("terms are written with those claims that have some, wherever they are, and others have none", () => {
  const text = (...added: Claim[]) => written(LOCK, HELD, added).map(textOf);
  const terms = SPACED;
  const [guard, claims] = text({ ...CLAIM, terms }, waiting(2), waiting(3, { terms }));
  expect(guard).toContain(`holder_terms = '${JSON.stringify(terms)}'`);
  expect(claims).toContain("labels, terms, requested_at");
  expect(claims?.match(/'\{\}', [^ ]+,/g)).toEqual(["'{}', NULL,", `'{}', '${JSON.stringify(terms)}',`]);
  expect(text(CLAIM)[0]).toContain("holder_terms = NULL");
  const [, history] = text(ended(1, { terms, deadlineUs: 9 }));
  expect(history).toContain(`'{}', '${JSON.stringify(terms)}',`);
});
