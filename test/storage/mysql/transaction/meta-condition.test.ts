// What must still be true when a decision made without a read is written: the rules, the server, the clock, new request
// ids, and that no lease it extends has ended.

import { describe, expect, test } from "vitest";
import type { Claim, ClaimKey } from "../../../../server/core/claim.ts";
import {
  assertAllWritten,
  assertRulesUnchanged,
  type MetaCondition,
  rulesLock,
  unchanged,
} from "../../../../server/storage/mysql/transaction/assertions.ts";
import type { Read } from "../../../../server/storage/mysql/transaction/read.ts";
import { CLOCK_BEHIND_US_MAX } from "../../../../server/storage/storage-bounds.ts";
import { NO_CHANGES } from "../../../support/store-fixture.ts";
import { ended, held, keyOf, openTrip, textOf, waiting } from "./lock-fixture.ts";

const NOW_US = 5_000_000;
const EARLIEST_US = 4_900_000;

function conditionOf({
  before = [],
  newRequestIds = [],
  ...changes
}: {
  before?: readonly Claim[];
  newRequestIds?: readonly string[];
  added?: readonly Claim[];
  changed?: readonly Claim[];
}): MetaCondition {
  const rows = new Map(before.map((claim) => [claim.ticketNumber, claim]));
  const failOver = { epoch: 3n, atUs: 10, grantsFromUs: 20 };
  const read = {
    loaded: { nowUs: NOW_US, atLeastUs: EARLIEST_US, failOver, rulesRevision: 7n },
    before: { lock: () => undefined, claim: ({ ticketNumber }: ClaimKey) => rows.get(ticketNumber) },
  } as unknown as Read;
  return unchanged({ ...NO_CHANGES, ...changes }, read, { newRequestIds, serverIdentity: "it" }, "LOCKED");
}

/** The time by which the decision must be written. */
const untilUs = (condition: MetaCondition) => Number(/BETWEEN \d+ AND (-?\d+)/.exec(textOf(condition))?.[1]);

test("are the revision of the rules, the fail-over, the server and the clock, and how the row is locked", () => {
  const condition = conditionOf({});
  expect(textOf(condition)).toMatch(
    new RegExp(
      "^rules_revision = 7 AND epoch = 3 AND failed_over_at = 10 AND grants_from = 20 AND server_identity = 'it' " +
        `AND .* BETWEEN ${EARLIEST_US} AND ${NOW_US + CLOCK_BEHIND_US_MAX}$`,
    ),
  );
  expect(condition.lock).toBe("LOCKED");
});

describe("request ids that are assumed to be new", () => {
  test("are searched, except those whose unique key is written anyway", () => {
    const added = [held(1, { requestId: "added" }), held(2, { requestId: "another" })];
    const condition = conditionOf({ newRequestIds: ["added", "never seen", "nor this"], added });
    expect(textOf(condition)).toMatch(
      new RegExp(
        `FROM rowlock_request WHERE request_key IN \\(${keyOf("never seen")}, ${keyOf("nor this")}\\)\\)$`,
      ),
    );
    expect(condition.readsRequests).toBe(true);
    expect(condition.lock).toBe("LOCKED");
  });

  test("are not searched if there are none, or all of them are written", () => {
    for (const newRequestIds of [[], ["added"]]) {
      const condition = conditionOf({ newRequestIds, added: [held(1, { requestId: "added" })] });
      expect(textOf(condition)).not.toContain("request_key");
      expect(condition.readsRequests).toBe(false);
    }
  });
});

describe("a lease that goes on", () => {
  const lease = (number: number, deadlineUs: number | null) => held(number, { deadlineUs });
  const prolonged = held(1, { deadlineUs: NOW_US + 60_000_000 });

  test("is written before its end, by the earliest of several", () => {
    const soon = NOW_US + 30_000;
    const before = [lease(1, soon + 5_000), lease(2, soon), lease(3, null)];
    expect(untilUs(conditionOf({ before, changed: [prolonged, lease(2, null), lease(3, null)] }))).toBe(
      soon - 1,
    );
  });

  test("that lasts for long, has no end, or was not read, is written within the time of any decision", () => {
    const latest = NOW_US + CLOCK_BEHIND_US_MAX;
    expect(untilUs(conditionOf({ before: [lease(1, NOW_US + 60_000_000)], changed: [prolonged] }))).toBe(
      latest,
    );
    expect(untilUs(conditionOf({ before: [lease(1, null)], changed: [prolonged] }))).toBe(latest);
    expect(untilUs(conditionOf({ before: [], changed: [prolonged] }))).toBe(latest);
    expect(untilUs(conditionOf({ before: [lease(1, latest + 1)], changed: [prolonged] }))).toBe(latest);
    expect(untilUs(conditionOf({ before: [lease(1, latest)], changed: [prolonged] }))).toBe(latest - 1);
  });

  test("although it was due by the deciding clock is kept on purpose", () => {
    const latest = NOW_US + CLOCK_BEHIND_US_MAX;
    expect(untilUs(conditionOf({ before: [lease(1, EARLIEST_US)], changed: [prolonged] }))).toBe(latest);
    expect(untilUs(conditionOf({ before: [lease(1, EARLIEST_US + 1)], changed: [prolonged] }))).toBe(
      EARLIEST_US,
    );
  });

  test("is no ended or waiting claim", () => {
    const before = [lease(1, NOW_US + 1), lease(2, NOW_US + 1)];
    expect(untilUs(conditionOf({ before, changed: [ended(1), waiting(2)] }))).toBe(
      NOW_US + CLOCK_BEHIND_US_MAX,
    );
  });
});

describe("an assertion", () => {
  const FACTS: MetaCondition = { sql: "a = ?", values: [9], lock: "LOCKED", readsRequests: false };
  const asserted = (condition: MetaCondition | null) => {
    const { trip, statements } = openTrip();
    assertAllWritten(trip, 3, condition);
    return statements.map(textOf);
  };

  test("fails the transaction if the last write has not written its rows", () => {
    expect(asserted(null)).toEqual([expect.stringMatching(/WHERE id = 1 AND ROW_COUNT\(\) <> 3$/)]);
  });

  test("fails it if the facts have changed, too, and locks them", () => {
    expect(asserted(FACTS)).toEqual([
      expect.stringMatching(/WHERE id = 1 AND NOT \(ROW_COUNT\(\) = 3 AND a = 9\) LOCKED$/),
    ]);
  });

  test("about the rules locks them until the commit, and waits for that only if the transaction is patient", () => {
    const { trip, statements } = openTrip();
    assertRulesUnchanged(trip, 7n, rulesLock(false));
    expect(statements.map(textOf)).toEqual([
      expect.stringMatching(/rules_revision <> 7 LOCK IN SHARE MODE$/),
    ]);
    expect(rulesLock(true)).toContain("NOWAIT");
    expect(rulesLock(false)).not.toContain("NOWAIT");
  });
});
