// What is sent to write a decision: locks without a record cost nothing extra, and locks with one cost one more
// statement.

import { expect, test } from "vitest";
import type { Claim, Terms } from "../../../../server/core/claim.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import type { LockRecord } from "../../../../server/core/record.ts";
import type { Read } from "../../../../server/storage/mysql/transaction/read.ts";
import { recordChanges } from "../../../../server/storage/mysql/transaction/records.ts";
import { addWrites } from "../../../../server/storage/mysql/transaction/save.ts";
import { CLAIM, RECORD, TERMS } from "../../../support/claims.ts";
import { LOCK, openTrip } from "./lock-fixture.ts";

const HELD: Lock = { ...LOCK, nextTicket: 2n, lastToken: 1n, heldPermits: 1, holders: 1, revision: 2n };
const THREE_LEFT: LockRecord = { ...RECORD, attemptsLeft: 3, version: 7n };
const SPACED: Terms = { ...TERMS, minIntervalUs: 1 };

/** The statements that write the changed lock, together with an added or changed claim. */
function sent(from: Lock, to: Lock, added: readonly Claim[], changed: readonly Claim[] = []): string[] {
  const { trip, statements } = openTrip();
  const before = { lock: () => from, claim: () => CLAIM };
  const loaded = { atLeastUs: 0, nowUs: 0 } as Read["loaded"];
  const read = { loaded, before, rulesRevision: "0", assumptions: null };
  const changes = { locks: [to], added, changed, again: [] };
  addWrites(trip, changes, recordChanges([to], before), read, "");
  return statements.map(({ sql }) => sql);
}

test("a grant and an end at a lock without a record do not mention records", () => {
  const grant = sent(LOCK, HELD, [CLAIM]);
  const end = sent(
    HELD,
    { ...LOCK, nextTicket: 2n, lastToken: 1n, revision: 3n },
    [],
    [{ ...CLAIM, endedAtUs: 9 }],
  );
  // The guard row and the claim. If no claim is added, a further statement checks that both were written.
  expect(grant).toHaveLength(2);
  expect(end).toHaveLength(3);
  expect([...grant, ...end].join("\n")).not.toMatch(/record|terms/);
});

test.each([
  ["comes", null, THREE_LEFT, /^INSERT INTO rowlock_record/],
  [
    "changes",
    THREE_LEFT,
    { ...THREE_LEFT, version: 8n },
    /^UPDATE rowlock_record .* SET due_at = \?, version = \? WHERE/,
  ],
  ["goes", THREE_LEFT, null, /^DELETE r FROM rowlock_record/],
  // The lock is no longer found among the free ones.
  [
    "stays, at a lock that is held from now on",
    THREE_LEFT,
    THREE_LEFT,
    /^UPDATE rowlock_record .* SET due_at = \? WHERE/,
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

test("terms are written with those claims that have some, and the others beside them", () => {
  const statements = sent(LOCK, HELD, [CLAIM, { ...CLAIM, ticketNumber: 2n, terms: SPACED }]);
  expect(statements.at(-1)).toContain("terms)");
});
