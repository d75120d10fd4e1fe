// The statements that write a decision, with their values: which rows they select, what values they set, and that each
// writes only if the statement before it has written all of its rows.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../../server/core/claim.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import type { LockRecord } from "../../../../server/core/record.ts";
import type { Connection } from "../../../../server/storage/mysql/connection/connection.ts";
import type { MetaCondition } from "../../../../server/storage/mysql/transaction/assertions.ts";
import { WriteChain } from "../../../../server/storage/mysql/transaction/assertions.ts";
import type { Read } from "../../../../server/storage/mysql/transaction/read.ts";
import { addRowLocks } from "../../../../server/storage/mysql/transaction/row-locks.ts";
import {
  addWrites,
  leavesWaiters,
  recordWrites,
} from "../../../../server/storage/mysql/transaction/write.ts";
import { HOLDER_COLUMNS, NEVER_DUE_US } from "../../../../server/storage/rows/columns.ts";
import { recordsOf } from "../../../../server/storage/rows/from-rows.ts";
import { type Moves, movesOf } from "../../../../server/storage/rows/placement.ts";
import { UPDATE_ROWS_MAX } from "../../../../server/storage/storage-bounds.ts";
import type { Writes } from "../../../../server/storage/store.ts";
import { RECORD, TERMS } from "../../../support/claims.ts";
import { NO_CHANGES } from "../../../support/store-fixture.ts";
import { ended, held, keyOf, LOCK, numbers, openTrip, textOf, waiting } from "./lock-fixture.ts";

const NOW_US = 5_000_000;

/** The statements that write the changes of these rows; `isKnown`: without having read and locked them. */
function written(
  changes: Partial<Writes>,
  rows: { locks?: readonly Lock[]; claims?: readonly Claim[] } = {},
  isKnown = false,
  newRequestIds: readonly string[] = [],
  mayReorder = true,
): string[] {
  const { trip, statements } = openTrip();
  const locks = new Map(rows.locks?.map((lock) => [lock.id, lock]));
  const claims = new Map(rows.claims?.map((claim) => [claim.ticketNumber, claim]));
  const before = {
    lock: (id: bigint) => locks.get(id),
    claim: ({ ticketNumber }: { ticketNumber: bigint }) => claims.get(ticketNumber),
  };
  const failOver = { epoch: 3n, atUs: 10, grantsFromUs: 20 };
  const loaded = { nowUs: NOW_US, atLeastUs: NOW_US, failOver, rulesRevision: 7n } as Read["loaded"];
  const assumptions = isKnown ? { newRequestIds, serverIdentity: "it" } : null;
  const all = { ...NO_CHANGES, ...changes };
  const read = { loaded, before, assumptions };
  const options = { lockOfRules: "LOCKED", mayReorder };
  addWrites(trip, all, movesOf(all, NOW_US), recordWrites(all.locks, before), read, options);
  return statements.map(textOf);
}

/** The statements that write the claims of one lock, which has these claims, behind the one that writes its guard row. */
function writtenBehindGuard(
  changes: Pick<Partial<Writes>, "added" | "changed">,
  claims: readonly Claim[] = [],
  more: Partial<Lock> = {},
): string[] {
  const from = lock(1, more);
  const [guard, ...others] = written(
    { ...changes, locks: [{ ...from, revision: 2n }] },
    { locks: [from], claims },
  );
  expect(guard).toMatch(/^UPDATE rowlock_lock /);
  return others;
}
const lock = (id: number, more: Partial<Lock> = {}): Lock => ({
  ...LOCK,
  id: BigInt(id),
  name: `etl/${id}`,
  ...more,
});
const DECIDED_AT = "decided_at = IF(decided_at BETWEEN 4000000 AND 6000000, decided_at, 5000000)";
/** A lock with a first holder, and a place for more. */
const HELD = { holders: 1, firstHolder: 1n };
const HELD_TWICE = { ...HELD, holders: 2 };
const LATER_US = NOW_US + 9;

/** How a guard row sets `next_deadline`, if the live claims that are written end at this time at the earliest. */
function boundBy(earliestUs: number): string {
  const ends = `COALESCE(holder_deadline, ${NEVER_DUE_US})`;
  return (
    "next_deadline = CASE WHEN holders + waiting = 0 THEN next_deadline " +
    "WHEN holders = 1 AND waiting = 0 AND holder_state = 2 " +
    `THEN IF(next_deadline BETWEEN 5000000 + (${ends} - 5000000) DIV 2 AND ${ends}, next_deadline, ${ends}) ` +
    `ELSE LEAST(COALESCE(next_deadline, ${earliestUs}), ${earliestUs}) END`
  );
}

describe("a chain of writes", () => {
  const FACTS: MetaCondition = { sql: "a = ?", values: [9], lock: "LOCKED", readsRequests: false };
  const chain = (use: (writes: WriteChain) => void) => {
    const { trip, statements } = openTrip();
    use(new WriteChain(trip));
    return statements.map(textOf);
  };

  test("ties each write to the rows of the one before, and checks the last one", () => {
    const sql = chain((writes) => {
      writes.update(2, "UPDATE a SET b = ? WHERE c = 0", 1);
      writes.update(3, "UPDATE a SET b = ? WHERE c = 0", 2);
      writes.insert("INSERT INTO a (b, c)", [[7, 8]]);
      writes.insert("INSERT INTO a (b, c)", [
        [1, 2],
        [3, 4],
        [5, 6],
      ]);
      writes.check(null);
    });
    expect(sql).toEqual([
      "UPDATE a SET b = 1 WHERE c = 0",
      "UPDATE a SET b = 2 WHERE c = 0 AND ROW_COUNT() = 2",
      "INSERT INTO a (b, c) VALUES (IF(ROW_COUNT() = 3, 7, NULL), 8)",
      "INSERT INTO a (b, c) VALUES (IF(ROW_COUNT() = 1, 1, NULL), 2), (3, 4), (5, 6)",
      expect.stringMatching(/ROW_COUNT\(\) <> 3$/),
    ]);
  });

  test("can begin with added rows, and checks nothing if nothing was written", () => {
    expect(chain((writes) => writes.insert("INSERT INTO a (b, c)", [[7, 8]]))).toEqual([
      "INSERT INTO a (b, c) VALUES (7, 8)",
    ]);
    expect(chain((writes) => writes.check(FACTS))).toEqual([]);
  });

  test("asserts a condition with the rows that it adds last", () => {
    const condition = "(SELECT a = 9 FROM rowlock_meta WHERE id = 1 LOCKED)";
    expect(chain((writes) => writes.insert("INSERT INTO a (b, c)", [[7, 8]], FACTS))).toEqual([
      `INSERT INTO a (b, c) VALUES (IF(${condition}, 7, NULL), 8)`,
    ]);
    const after = chain((writes) => {
      writes.update(2, "UPDATE a SET b = 1 WHERE c = 0");
      writes.insert("INSERT INTO a (b, c)", [[7, 8]], FACTS);
    });
    expect(after[1]).toBe(`INSERT INTO a (b, c) VALUES (IF(ROW_COUNT() = 2 AND ${condition}, 7, NULL), 8)`);
  });
});

describe("guard rows", () => {
  test("are written by one statement, at the time of the decision in steps", () => {
    const rows = [lock(1, { holders: 4 }), lock(2)];
    const after = [lock(1, { holders: 5, revision: 2n }), lock(2, { holders: 1, revision: 2n })];
    expect(written({ locks: after }, { locks: rows })).toEqual([
      `UPDATE rowlock_lock SET holders = holders + 1, revision = 2, ${DECIDED_AT}, ` +
        `${boundBy(NEVER_DUE_US)} WHERE id IN (1, 2)`,
      expect.stringMatching(/ROW_COUNT\(\) <> 2$/),
    ]);
  });

  test("are selected by id if they get different values", () => {
    const rows = [lock(1), lock(2), lock(3)];
    const after = [lock(1, { limit: 5 }), lock(2, { limit: 6 }), lock(3)];
    expect(written({ locks: after }, { locks: rows })[0]).toContain(
      "SET limit_value = CASE CAST(id AS SIGNED) WHEN 1 THEN 5 WHEN 2 THEN 6 ELSE limit_value END,",
    );
  });

  test("that do not change are written nevertheless, so that a cluster sees the decision", () => {
    expect(written({ locks: [lock(1)] }, { locks: [lock(1)] })[0]).toBe(
      "UPDATE rowlock_lock SET decided_at = 5000000 WHERE id IN (1)",
    );
  });

  test("that were not locked are written only at their known revisions", () => {
    const rows = [lock(1, { revision: 70n }), lock(2, { revision: 80n })];
    const after = rows.map((row) => ({ ...row, revision: row.revision + 1n }));
    expect(written({ locks: after }, { locks: rows }, true)[0]).toBe(
      `UPDATE rowlock_lock SET revision = revision + 1, ${DECIDED_AT} ` +
        "WHERE id IN (1, 2) AND revision = CASE CAST(id AS SIGNED) WHEN 1 THEN 70 WHEN 2 THEN 80 END",
    );
  });

  test("that are many are written in parts", () => {
    const rows = numbers(1, UPDATE_ROWS_MAX + 1).map((id) => lock(id));
    const sql = written({ locks: rows.map((row) => ({ ...row, waiting: 3 })) }, { locks: rows });
    expect(sql).toHaveLength(3);
    expect(sql[1]).toMatch(
      new RegExp(`WHERE id IN \\(${rows.length}\\) AND ROW_COUNT\\(\\) = ${UPDATE_ROWS_MAX}$`),
    );
  });

  test("that are many are written by one statement for each way in which their holders change", () => {
    const ids = numbers(1, 8);
    const rows = ids.map((id) => lock(id, id > 4 ? HELD : {}));
    const after = ids.map((id) => lock(id, id > 4 ? HELD : { nextTicket: 2n }));
    const changes = {
      locks: after.map((row) => ({ ...row, revision: 2n })),
      added: ids.slice(0, 4).map((id) => held(1, { lockId: BigInt(id), secret: `secret ${id}` })),
      changed: ids.slice(4).map((id) => ended(1, { lockId: BigInt(id) })),
    };
    const updates = (mayReorder: boolean) =>
      written(changes, { locks: rows, claims: [held(1)] }, true, [], mayReorder).filter((sql) =>
        sql.startsWith("UPDATE"),
      );
    const [taken, released, ...others] = updates(true);
    expect(others).toEqual([]);
    expect(taken).toContain("SET next_ticket = 2, revision = 2, holder_secret = ");
    expect(taken).toContain(
      "holder_secret = CASE CAST(id AS SIGNED) WHEN 1 THEN 'secret 1' WHEN 2 THEN 'secret 2' WHEN 3 THEN 'secret 3' WHEN 4 THEN 'secret 4' END, ",
    );
    expect(taken).toContain("WHERE id IN (1, 2, 3, 4) AND revision = ");
    expect(released).toContain("SET revision = 2, holder_state = 0, decided_at = ");
    expect(released).toContain("WHERE id IN (5, 6, 7, 8) AND revision = ");
    // A transaction that waits for row locks takes them in the order of ids.
    expect(updates(false)).toHaveLength(1);
  });

  test("that were never read cannot be written", () => {
    expect(() => written({ locks: [lock(1)] }, { locks: [] })).toThrow("never read");
  });
});

describe("the first holder of a guard row", () => {
  /** The assignments to the guard rows of locks 1, 2 ..., after what every write of them sets. */
  const sets = (changes: Partial<Writes>, claims: readonly Claim[], ...froms: Partial<Lock>[]) => {
    const locks = froms.map((from, at) => lock(at + 1, from));
    const after = locks.map((from) => ({ ...from, revision: 2n }));
    const [sql = ""] = written({ ...changes, locks: after }, { locks, claims });
    return /SET revision = 2, (.*?),? ?decided_at = /.exec(sql)?.[1]?.trim();
  };

  test("is written whole when it comes, over what an earlier one left", () => {
    const added = [held(3, { deadlineUs: 9, owner: "me", terms: TERMS })];
    const whole = sets({ added }, [], { nextTicket: 4n });
    expect(whole?.match(/holder_\w+(?= = )/g)?.toSorted()).toEqual(HOLDER_COLUMNS.toSorted());
    expect(whole).toMatch(/^holder_secret = 'secret-of-this-claim__', /);
    // The ticket is the last one that was made.
    expect(whole).toMatch(/, holder_ticket_number = next_ticket - 1$/);
    for (const part of [
      "request_id = 'request 1.3'",
      "owner = 'me'",
      "state = 2",
      "deadline = 9",
      "ttl = null",
    ])
      expect(whole).toContain(`holder_${part},`);
    // A waiter that was read before comes whole, too, because it was in another row.
    const granted = [held(3, { deadlineUs: 9, owner: "me", terms: TERMS })];
    expect(sets({ changed: granted }, [waiting(3)], { nextTicket: 4n })).toBe(whole);
  });

  test("is written where it changes while it stays", () => {
    expect(sets({ changed: [held(1, { deadlineUs: 9 })] }, [held(1)], HELD)).toBe("holder_deadline = 9");
    expect(sets({ changed: [held(1)] }, [held(1)], HELD)).toBe("");
    // It was not read.
    expect(sets({ changed: [held(1)] }, [], HELD)?.match(/holder_\w+(?= = )/g)).toEqual(HOLDER_COLUMNS);
  });

  test("leaves all but its state when it goes, so that the row keeps its size", () => {
    expect(sets({ changed: [ended(1)] }, [held(1)], { ...HELD, holders: 0 })).toBe("holder_state = 0");
  });

  test("of each lock is written by the same statement, and only where something happens to it", () => {
    const of = (lockId: bigint, more: Partial<Claim> = {}) => held(1, { lockId, secret: "s", ...more });
    const changed = [of(1n, { deadlineUs: 8 }), of(2n, { state: "ended" })];
    const added = [of(3n, { deadlineUs: 9 })];
    const text = sets({ changed, added }, [of(1n)], HELD, HELD, {}, { ...HELD });
    expect(text).toContain(
      "holder_state = CASE CAST(id AS SIGNED) WHEN 2 THEN 0 WHEN 3 THEN 2 ELSE holder_state END,",
    );
    expect(text).toContain(
      "holder_deadline = CASE CAST(id AS SIGNED) WHEN 1 THEN 8 WHEN 3 THEN 9 ELSE holder_deadline END,",
    );
    expect(text).toContain("holder_secret = CASE CAST(id AS SIGNED) WHEN 3 THEN 's' ELSE holder_secret END,");
  });
});

describe("the bound of deadlines", () => {
  const guard = (changes: Partial<Writes>, from: Partial<Lock>, claims: readonly Claim[] = []) =>
    written(
      { ...changes, locks: [lock(1, { ...from, revision: 2n })] },
      { locks: [lock(1, from)], claims },
    )[0];

  test("is set last, so that it sees the new values, at a lock that has holders or waiters", () => {
    for (const [from, change, earliestUs] of [
      [{ waiting: 1 }, { added: [waiting(1, { deadlineUs: 7 }), waiting(2, { deadlineUs: 6 })] }, 6],
      [{ ...HELD, firstHolder: null }, { added: [held(1, { deadlineUs: 8 })] }, 8],
      [HELD_TWICE, { changed: [held(1, { deadlineUs: null })] }, NEVER_DUE_US],
      [HELD, {}, NEVER_DUE_US],
    ] as const)
      expect(guard(change, from)?.endsWith(`${DECIDED_AT}, ${boundBy(earliestUs)} WHERE id IN (1)`)).toBe(
        true,
      );
  });

  test("is set at the busy ones of several locks, although others are released", () => {
    const locks = [lock(1, { ...HELD, holders: 0 }), lock(2, { holders: 1 })];
    const changes = { locks, changed: [ended(1)], added: [held(1, { lockId: 2n, deadlineUs: 8 })] };
    const [sql] = written(changes, { locks: [lock(1, HELD), lock(2)], claims: [held(1)] });
    expect(sql?.endsWith(`${boundBy(8)} WHERE id IN (1, 2)`)).toBe(true);
  });

  test("is left as it is at a lock that is released, because that is taken again soon", () => {
    expect(guard({ changed: [ended(1)] }, { ...HELD, holders: 0 }, [held(1)])).not.toContain("next_deadline");
  });
});

describe("claims", () => {
  test("are written only if they are those that were read, and not others with their numbers", () => {
    const sql = writtenBehindGuard({ changed: [waiting(1, { deadlineUs: 9 })] }, [waiting(1)]);
    expect(sql).toEqual([
      "UPDATE rowlock_claim SET deadline = 9 WHERE (lock_id = 1 AND place = 1 AND ticket_number = 1) " +
        "AND secret IN ('secret-of-this-claim__') AND ROW_COUNT() = 1",
      expect.stringMatching(/ROW_COUNT\(\) <> 1$/),
    ]);
  });

  test("that were not read in this transaction are proven by the revision of their lock", () => {
    const rows = { locks: [lock(1)], claims: [waiting(1), waiting(2)] };
    const changed = [waiting(1, { deadlineUs: 9 }), ended(2, { deadlineUs: LATER_US })];
    const sql = written({ locks: [lock(1, { revision: 2n })], changed }, rows, true);
    expect(sql.slice(1, 3)).toEqual([
      "UPDATE rowlock_claim SET deadline = 9 WHERE (lock_id = 1 AND place = 1 AND ticket_number = 1) AND ROW_COUNT() = 1",
      "DELETE c FROM rowlock_claim c WHERE (lock_id = 1 AND place = 2 AND ticket_number = 2) AND ROW_COUNT() = 1",
    ]);
  });

  test("that were never read cannot be written", () => {
    expect(() => writtenBehindGuard({ changed: [waiting(1)] })).toThrow("never read");
  });

  test("that hold the lock leave the queue", () => {
    const changed = [held(2, { deadlineUs: 9 }), held(3, { deadlineUs: 9 })];
    const [sql] = writtenBehindGuard({ changed }, [held(2), waiting(3)], HELD);
    expect(sql).toContain("SET place = 0, state = 2, ");
    expect(sql).toContain("(lock_id, place, ticket_number) IN ((1, 0, 2), (1, 3, 3)) ");
  });

  test("that do not change are not written", () => {
    const [check] = writtenBehindGuard({ changed: [waiting(1)] }, [waiting(1)]);
    expect(check).toMatch(/^INSERT INTO rowlock_meta .* ROW_COUNT\(\) <> 1$/);
  });

  test("that are few are written by one statement, and many by one for each state", () => {
    const rows = [
      ...numbers(2, 4).map((number) => waiting(number)),
      ...numbers(5, 6).map((number) => held(number)),
    ];
    const after = rows.map((claim) => ({ ...claim, deadlineUs: 9 }));
    const sql = (count: number) =>
      writtenBehindGuard({ changed: after.slice(0, count) }, rows, HELD)
        .filter((each) => each.startsWith("UPDATE"))
        .map((each) => /IN \((\(.*?\))\) AND secret/.exec(each)?.[1]);
    expect(sql(4)).toEqual(["(1, 2, 2), (1, 3, 3), (1, 4, 4), (1, 0, 5)"]);
    expect(sql(5)).toEqual(["(1, 2, 2), (1, 3, 3), (1, 4, 4)", "(1, 0, 5), (1, 0, 6)"]);
    const granted = [waiting(2), held(3)];
    expect(writtenBehindGuard({ changed: granted }, [held(2), waiting(3)], HELD)[0]).toContain(
      "state = CASE WHEN lock_id = 1 AND ticket_number = 2 THEN 1 WHEN lock_id = 1 AND ticket_number = 3 THEN 2 END,",
    );
  });

  test("are added with all that they have, with the bytes of their terms or none", () => {
    const added = [waiting(1), waiting(2, { terms: TERMS })];
    expect(writtenBehindGuard({ added })[0]).toMatch(
      /labels, terms, .*, granted_at\) VALUES \(IF\(ROW_COUNT\(\) = 1, 1, NULL\), 1, .*'\{\}', null, .*\), \(1, 2, .*'\{\}', '\{"min/,
    );
  });

  test("that leave for the guard row or the history are removed, only if they are those that were read", () => {
    const changed = [ended(2, { deadlineUs: LATER_US }), held(3)];
    const [sql] = writtenBehindGuard({ changed }, [waiting(2), waiting(3)]);
    expect(sql).toBe(
      "DELETE c FROM rowlock_claim c WHERE (lock_id, place, ticket_number) IN ((1, 2, 2), (1, 3, 3)) " +
        "AND secret IN ('secret-of-this-claim__', 'secret-of-this-claim__') AND ROW_COUNT() = 1",
    );
  });

  test("that leave in great numbers are removed in parts", () => {
    const rows = numbers(1, UPDATE_ROWS_MAX + 1).map((number) => waiting(number));
    const sql = writtenBehindGuard({ changed: rows.map((claim) => ({ ...claim, state: "ended" })) }, rows);
    expect(sql.map((each) => each.split(" ")[0])).toEqual(["DELETE", "DELETE", "INSERT"]);
    expect(sql[1]).toMatch(
      new RegExp(`= ${rows.length}\\) AND secret .* AND ROW_COUNT\\(\\) = ${UPDATE_ROWS_MAX}$`),
    );
    expect(sql[2]).toMatch(/ROW_COUNT\(\) <> 1$/);
  });

  test("are added to the history when they end, with how they ended", () => {
    const first = ended(1, {
      deadlineUs: LATER_US,
      endReason: "released",
      endNote: "why",
      endedBy: "ops",
      endedAtUs: 7,
    });
    const second = ended(2, { deadlineUs: LATER_US, endReason: "cancelled" });
    const sql = writtenBehindGuard({ changed: [first, second] }, [held(1), waiting(2)], HELD);
    expect(sql).toEqual([
      expect.stringMatching(/^DELETE c FROM rowlock_claim .*ticket_number = 2/),
      expect.stringMatching(
        /^INSERT INTO rowlock_history .*ended_at, end_reason, end_note, ended_by, kept_for\) VALUES \(IF\(ROW_COUNT\(\) = 1, 1, NULL\), 1, .*, 7, 1, 'why', 'ops', 6\), \(1, 2, .*, 4, '', '', 2\)$/,
      ),
    ]);
  });

  test("are added with the request ids that clients chose, last of all", () => {
    const serverMade = waiting(3, { requestId: "\0made by a server" });
    const gone = ended(4, { deadlineUs: LATER_US });
    const sql = writtenBehindGuard({ added: [held(1), waiting(2), serverMade, gone] });
    expect(sql).toEqual([
      expect.stringMatching(/^INSERT INTO rowlock_claim .*NULL\), 2, .*, \(1, 3, [^()]*\)$/),
      expect.stringMatching(/^INSERT INTO rowlock_history .* VALUES \(IF\(ROW_COUNT\(\) = 2, 1, NULL\), 4, /),
      "INSERT INTO rowlock_request (request_key, lock_id, ticket_number) " +
        `VALUES (IF(ROW_COUNT() = 1, ${keyOf("request 1.1")}, NULL), 1, 1), (${keyOf("request 1.2")}, 1, 2), (${keyOf("request 1.4")}, 1, 4)`,
    ]);
    // Then only the guard row was written.
    expect(writtenBehindGuard({ added: [{ ...serverMade, state: "held" }] })).toEqual([
      expect.stringMatching(/^INSERT INTO rowlock_meta .* ROW_COUNT\(\) <> 1$/),
    ]);
  });
});

describe("a decision without a read", () => {
  const rows = { locks: [lock(1)] };
  const locks = [lock(1, { revision: 2n })];
  const isFact = expect.stringMatching(/rules_revision = 7 AND .* LOCKED/);

  const made = { requestId: "\0made by a server" };

  test.each<[string, Partial<Writes>]>([
    ["rowlock_claim", { added: [waiting(1, made)] }],
    ["rowlock_history", { added: [ended(1, { ...made, deadlineUs: LATER_US })] }],
    ["rowlock_request", { added: [held(1)] }],
  ])("asserts what it used with the last statement: the one that adds rows to %s", (table, changes) => {
    const adding = written({ ...changes, locks: locks.map((each) => ({ ...each })) }, rows, true);
    expect(adding).toEqual([expect.stringMatching(/^UPDATE rowlock_lock/), isFact]);
    expect(adding[1]).toMatch(new RegExp(`^INSERT INTO ${table} .* VALUES \\(IF\\(ROW_COUNT\\(\\) = 1 AND`));
  });

  test("asserts what it used once, if it adds rows to several tables", () => {
    const added = [waiting(1), ended(2, { deadlineUs: LATER_US })];
    const sql = written({ locks, added }, rows, true);
    expect(sql.map((each) => each.includes("rules_revision"))).toEqual([false, false, false, true]);
    expect(sql.at(-1)).toMatch(/^INSERT INTO rowlock_request /);
  });

  test("asserts what it used with an extra statement if it adds none", () => {
    const alone = written({ locks }, rows, true);
    expect(alone).toEqual([expect.stringMatching(/^UPDATE rowlock_lock/), isFact]);
    expect(alone[1]).toMatch(/NOT \(ROW_COUNT\(\) = 1 AND/);
  });

  test("searches request ids in a statement of its own, because one that adds them cannot", () => {
    const sql = written({ locks: [lock(1, { revision: 2n })], added: [held(1)] }, rows, true, ["never seen"]);
    expect(sql).toHaveLength(3);
    expect(sql[1]).not.toContain("rules_revision");
    expect(sql[2]).toMatch(new RegExp(`NOT \\(ROW_COUNT\\(\\) = 1 AND .*${keyOf("never seen")}`));
  });
});

test("a rule is written once, over the old one, and all servers learn that rules have changed", () => {
  const rule = { prefix: "etl/", limit: 3, version: 8n, reason: "why", changeMark: 9n };
  expect(written({ rule })).toEqual([
    "INSERT INTO rowlock_limit_rule (prefix, limit_value, version, reason, change_mark) VALUES ('etl/', 3, 8, 'why', 9) " +
      "ON DUPLICATE KEY UPDATE limit_value = 3, version = 8, reason = 'why', change_mark = 9",
    expect.stringMatching(/^UPDATE rowlock_meta SET rules_revision = rules_revision \+ 1 \+ /),
  ]);
  expect(written({})).toEqual([]);
});

test("rules are asserted if a lock without its own limit leaves waiters", () => {
  const leaves = (...locks: Lock[]) => leavesWaiters({ ...NO_CHANGES, locks });
  expect(leaves(lock(1, { waiting: 1 }))).toBe(true);
  expect(leaves(lock(1), lock(2, { waiting: 1, limit: 5 }))).toBe(false);
  expect(leaves(lock(1, { waiting: 1, limit: 0 }))).toBe(false);
  expect(leaves(lock(1), lock(2, { waiting: 1 }))).toBe(true);
  expect(leaves()).toBe(false);
});

describe("records", () => {
  const remembers = (id: number, more: Partial<LockRecord> = {}, of: Partial<Lock> = {}) =>
    lock(id, { ...of, record: { ...RECORD, ...more } });
  const statements = (before: Lock[], after: Lock[]) =>
    written({ locks: after }, { locks: before }).filter((sql) => sql.includes("rowlock_record"));

  test("are selected by their locks, and tied to the guard rows", () => {
    const before = [remembers(1), remembers(2), remembers(3)];
    const after = [remembers(1, { status: "x" }), remembers(2, { status: "y" }), lock(3)];
    expect(statements(before, after)).toEqual([
      "UPDATE rowlock_record SET status = CASE CAST(lock_id AS SIGNED) WHEN 1 THEN 'x' WHEN 2 THEN 'y' END " +
        "WHERE lock_id IN (1, 2) AND ROW_COUNT() = 3",
      "DELETE r FROM rowlock_record r WHERE r.lock_id IN (3) AND ROW_COUNT() = 2",
    ]);
  });

  test("of a lock without one, or that did not change, are not written", () => {
    const record = { ...RECORD };
    expect(recordWrites([lock(1)], { lock: () => lock(1), claim: () => undefined })).toBeNull();
    const same = [lock(1, { record })];
    expect(statements(same, [lock(1, { record, limit: 3 })])).toEqual([]);
    // A different object with the same content.
    expect(statements(same, [remembers(1)])).toEqual([]);
  });

  test.each([
    ["nobody holds it any more", { holders: 1 }, {}, true],
    ["somebody holds it", {}, { holders: 1 }, true],
    ["somebody waits for it", {}, { waiting: 1 }, true],
    ["nobody waits for it any more", { waiting: 1 }, {}, true],
    ["its last waiter holds it", { waiting: 1 }, { holders: 1 }, false],
    ["one of its two holders is left", { holders: 2 }, { holders: 1 }, false],
    ["its holder is gone and its waiter is left", { holders: 1, waiting: 1 }, { waiting: 1 }, false],
  ])("are checked if %s", (_, before, after, expected) => {
    const record = { ...RECORD };
    const from = lock(1, { ...before, record });
    const writes = recordWrites([lock(1, { ...after, record })], {
      lock: () => from,
      claim: () => undefined,
    });
    expect(writes?.changed).toHaveLength(expected ? 1 : 0);
  });

  test("are added if there was none, even for a lock that was not read", () => {
    const writes = recordWrites([remembers(1)], { lock: () => undefined, claim: () => undefined });
    expect(writes).toEqual({ added: [remembers(1)], changed: [], removed: [] });
    expect(statements([lock(1)], [remembers(1)])).toEqual([
      expect.stringMatching(
        /^INSERT INTO rowlock_record \(lock_id, folder, name, .* VALUES \(IF\(.*, 1, NULL\), 'etl\/'/,
      ),
    ]);
  });

  test("that a guard row mentions and that are missing are a bug", () => {
    const run = [null, null, null, null, null, null];
    const row = ["4", Buffer.from("failed"), "10", 3, "8", null, ...run, "2", Buffer.from("token:a")];
    const read = { notBeforeUs: 10, attemptsLeft: 3, version: 8n, attemptsSince: 2n, principal: "token:a" };
    expect([...recordsOf([4n], [row])]).toEqual([[4n, { ...RECORD, status: "failed", ...read }]]);
    expect(() => recordsOf([4n, 5n], [row])).toThrow("Lock 5 has no record");
    expect(recordsOf([], [])).toEqual(new Map());
  });
});

describe("rows that an impatient transaction is about to write", () => {
  const locked = (
    moves: Partial<Moves>,
    guards: readonly Lock[] = [],
    records: { changed?: readonly Lock[]; removed?: readonly Lock[]; added?: readonly Lock[] } | null = null,
    setsPatience = false,
  ) => {
    const { trip, statements } = openTrip();
    const recordChanges = records && { added: [], changed: [], removed: [], ...records };
    const all = { ...movesOf(NO_CHANGES, NOW_US), ...moves };
    const before = { lock: () => undefined, claim: () => held(1) };
    addRowLocks(trip, { setsPatience } as Connection, all, guards, recordChanges, before);
    return statements.map(textOf);
  };
  const ONE = /SELECT 1 FROM rowlock_\w+ WHERE [^()]* FOR UPDATE NOWAIT/g;

  test("are locked one by one if they are few", () => {
    const records = { changed: [lock(3)], removed: [lock(4)], added: [lock(5)] };
    const [sql, ...others] = locked({ removed: [held(7)] }, [lock(1)], records);
    expect(others).toEqual([]);
    expect(locked({ changed: [held(7)] }, [lock(1)], records)).toEqual([sql]);
    expect(sql?.match(ONE)).toEqual([
      "SELECT 1 FROM rowlock_lock WHERE id = 1 FOR UPDATE NOWAIT",
      "SELECT 1 FROM rowlock_claim WHERE lock_id = 1 AND place = 0 AND ticket_number = 7 FOR UPDATE NOWAIT",
      "SELECT 1 FROM rowlock_record WHERE lock_id = 3 FOR UPDATE NOWAIT",
      "SELECT 1 FROM rowlock_record WHERE lock_id = 4 FOR UPDATE NOWAIT",
    ]);
  });

  test("are counted if they are more, so that a missing one fails the statement", () => {
    const records = { changed: [lock(3)], removed: [lock(4)] };
    const [sql] = locked({ changed: [held(7)], removed: [held(8)] }, [lock(1)], records);
    expect(sql).toBe(
      "DO (SELECT COUNT(*) FROM rowlock_lock WHERE id IN (1) FOR UPDATE SKIP LOCKED) " +
        "+ (SELECT COUNT(*) FROM rowlock_claim WHERE (lock_id, place, ticket_number) IN ((1, 0, 7), (1, 0, 8)) FOR UPDATE SKIP LOCKED) " +
        "+ (SELECT COUNT(*) FROM rowlock_record WHERE lock_id IN (3, 4) FOR UPDATE SKIP LOCKED) - CAST(5 AS UNSIGNED)",
    );
    expect(
      locked(
        {},
        numbers(1, 5).map((id) => lock(id)),
      ),
    ).toEqual([
      expect.stringMatching(/^DO \(SELECT COUNT\(\*\) FROM rowlock_lock [^+]* - CAST\(5 AS UNSIGNED\)$/),
    ]);
    const claims = numbers(1, 5).map((number) => held(number));
    expect(locked({ changed: claims })[0]).toMatch(
      /^DO \(SELECT COUNT\(\*\) FROM rowlock_claim [^+]* - CAST\(5/,
    );
    const five = numbers(1, 5).map((id) => lock(id));
    expect(locked({}, [], { changed: five })[0]).toMatch(
      /^DO \(SELECT COUNT\(\*\) FROM rowlock_record [^+]* - CAST\(5/,
    );
  });

  test("are locked with the request ids that callers chose, which others may be adding", () => {
    const own = held(1, { requestId: "a caller's own" });
    expect(locked({ requests: [own] })).toEqual([
      `DO (SELECT COUNT(*) FROM rowlock_request WHERE request_key IN (${keyOf("a caller's own")}) FOR UPDATE NOWAIT)`,
    ]);
    // Their claims may be in the guard row, or in a table to which the decision only adds.
    expect(locked({ added: [own], ended: [own] })).toEqual([]);
  });

  test("are locked by the writes themselves on a server with a statement for not waiting", () => {
    expect(locked({ changed: [held(7)] }, [lock(1)], null, true)).toEqual([]);
  });

  test("are none if nothing is there yet", () => {
    expect(locked({})).toEqual([]);
    expect(locked({}, [], { added: [lock(1)] })).toEqual([]);
  });
});
