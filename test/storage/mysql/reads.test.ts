// How rows read outside transactions become results, and which reads are skipped because there is nothing to read.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { DatabaseClock } from "../../../server/core/database-clock.ts";
import type { Lock } from "../../../server/core/lock.ts";
import type { LockRecord } from "../../../server/core/record.ts";
import type { Row } from "../../../server/storage/mysql/connection/connection.ts";
import { RuleCache } from "../../../server/storage/mysql/meta.ts";
import { reads } from "../../../server/storage/mysql/reads.ts";
import { NEVER_DUE_US } from "../../../server/storage/rows/columns.ts";
import { changingRecordValues } from "../../../server/storage/rows/values.ts";
import { BRANCHES_MAX, LIST_ROWS_MAX } from "../../../server/storage/storage-bounds.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { RECORD, TERMS } from "../../support/claims.ts";
import { ScriptedPool, written } from "./scripted-pool.ts";
import * as fixture from "./transaction/lock-fixture.ts";
import { asRead, ended, keyOf, LOCK } from "./transaction/lock-fixture.ts";

const bytes = (text: string) => Buffer.from(text);
/** As the driver returns it: a value too large for a number comes as text. */
const driven = (values: readonly unknown[]): Row =>
  values.map((value) => (typeof value === "bigint" ? `${value}` : value)) as unknown as Row;
const guardRow = (lock: Lock): Row => driven(fixture.guardRow(lock));
const claimRow = (claim: Claim): Row => driven(fixture.claimRow(claim));
const held = (...of: Parameters<typeof fixture.held>): Claim => asRead(fixture.held(...of));
const waiting = (...of: Parameters<typeof fixture.waiting>): Claim => asRead(fixture.waiting(...of));
const recordRow = (lock: Lock): Row => {
  const values = changingRecordValues(lock);
  // All fields but the lookup time.
  return driven([lock.id, values[0], ...values.slice(2)]);
};
const lock = (id: number, more: Partial<Lock> = {}): Lock => ({
  ...LOCK,
  id: BigInt(id),
  name: `lock ${id}`,
  ...more,
});

function scene(answer: ConstructorParameters<typeof ScriptedPool>[0] = () => undefined) {
  const scripted = new ScriptedPool(
    (sql) => answer(sql) ?? (sql.startsWith("SELECT CAST") ? [["900"]] : undefined),
  );
  const clock = new DatabaseClock();
  return { scripted, clock, ...reads(scripted.pool, clock) };
}

describe("a poll", () => {
  const RULES: Row = [null, "4", null];
  const watching = (...rows: Row[]) => scene(() => [RULES, ...rows]).poll([1n, 2n, 3n], 50);

  test("returns each lock's revision, and whether it is due or when, by the earliest cause", async () => {
    const watched = await watching(
      ["1", "11", null],
      ["2", "12", "40"],
      ["3", "13", null],
      ["1", null, "0"],
      ["2", null, "30"],
      ["3", null, "-5"],
      ["3", null, "20"],
    );
    expect(watched).toEqual({
      revisions: new Map([
        [1n, 11n],
        [2n, 12n],
        [3n, 13n],
      ]),
      due: [1n, 3n],
      dueSoon: new Map([[2n, 30]]),
      rulesRevision: 4n,
    });
  });

  test("returns no due time later than requested", async () => {
    expect(await watching(["1", "11", "50"], ["2", "12", "51"])).toMatchObject({
      due: [],
      dueSoon: new Map([[1n, 50]]),
    });
    // A lock whose bound was too early, and whose claims never end.
    expect(await watching(["1", "11", null], ["1", null, NEVER_DUE_US - 900])).toMatchObject({
      due: [],
      dueSoon: new Map(),
    });
  });

  test("looks only at locks whose bound of deadlines is near, and at all of their deadlines", async () => {
    const { scripted, poll } = scene(() => [RULES]);
    await poll([1n, 2n], 50);
    const near = scripted.sql[0]?.split(" UNION ALL ").find((branch) => branch.includes("next_deadline"));
    expect(near).toMatch(/WHERE l\.id IN \(1, 2\) AND l\.next_deadline <= .* \+ 50$/);
    expect(near).toContain("holder_deadline");
    expect(near).toContain("MIN(c.deadline)");
  });

  test("for no lock reads the revision of the rules alone", async () => {
    const { scripted, poll } = scene(() => [RULES]);
    expect(await poll([], 50)).toEqual({
      revisions: new Map(),
      due: [],
      dueSoon: new Map(),
      rulesRevision: 4n,
    });
    expect(scripted.names).toEqual(["watch_rules"]);
  });
});

describe("claims that are read", () => {
  // The first one is in its guard row, the second in rowlock_claim, and the third in the history.
  const CLAIMS: Claim[] = [
    held(1, { ttlUs: 5, deadlineUs: 2 ** 50, replica: 2n ** 60n, provisional: true, labels: { a: "é" } }),
    waiting(2, {
      waitUntilUs: 7,
      replica: 3n,
      mode: "shared",
      owner: "me",
      terms: { ...TERMS, ifStatus: ["é"] },
    }),
    ended(3, { endReason: "exhausted", endNote: "why", mode: "exclusive" }),
  ];

  test("have the values that were written", async () => {
    const { claims } = scene((sql) => (sql.includes("rowlock_claim") ? CLAIMS.map(claimRow) : undefined));
    expect(await claims(CLAIMS)).toEqual({ nowUs: 900, claims: CLAIMS });
  });

  test("come in order of their locks and numbers, whatever table they are in", async () => {
    const all = [held(9), waiting(10), held(3, { lockId: 2n }), ended(8), ended(4, { lockId: 2n })];
    const read = scene((sql) => (sql.includes("rowlock_claim") ? all.map(claimRow) : undefined));
    const inOrder = ["1.8", "1.9", "1.10", "2.3", "2.4"];
    const requestIds = all.map(({ requestId }) => requestId);
    for (const { claims } of [await read.claims(all), await read.claimsByRequest(requestIds)])
      expect(claims.map(({ lockId, ticketNumber }) => `${lockId}.${ticketNumber}`)).toEqual(inOrder);
  });

  test("by key are searched in all tables by one statement, so that none moves meanwhile", async () => {
    for (const [keys, condition, places] of [
      [[held(4)], "(lock_id = 1 AND ticket_number = 4)", "(1, 0, 4), (1, 4, 4)"],
      [
        [held(4), held(5)],
        "(lock_id, ticket_number) IN ((1, 4), (1, 5))",
        "(1, 0, 4), (1, 4, 4), (1, 0, 5), (1, 5, 5)",
      ],
    ] as const) {
      const { scripted, claims } = scene();
      await claims(keys);
      expect(scripted.names).toEqual(["claims"]);
      const branches = scripted.sql[0]?.split(" UNION ALL ");
      expect(branches).toEqual([
        expect.stringMatching(/FROM rowlock_lock l WHERE l\.holder_state = 2 AND l\.id IN \(1(, 1)?\) AND /),
        expect.stringContaining(`FROM rowlock_claim c WHERE (lock_id, place, ticket_number) IN (${places})`),
        expect.stringContaining(`FROM rowlock_history h WHERE ${condition})`),
      ]);
      const ofGuard = condition.replace("lock_id", "l.id").replace("ticket_number", "l.holder_ticket_number");
      expect(branches?.[0]?.endsWith(`AND ${ofGuard})`)).toBe(true);
    }
  });

  test("by request id are found where the row of the id says, by one statement", async () => {
    const { scripted, claimsByRequest } = scene();
    await claimsByRequest(["a", "b"]);
    const branches = scripted.sql[0]?.split(" UNION ALL ");
    expect(branches?.map((sql) => / STRAIGHT_JOIN (\w+) /.exec(sql)?.[1])).toEqual([
      ...["rowlock_lock", "rowlock_claim", "rowlock_claim", "rowlock_history"],
    ]);
    expect(branches?.map((sql) => / c\.place = (\S+) /.exec(sql)?.[1])).toEqual([
      ...[undefined, "0", "r.ticket_number", undefined],
    ]);
    for (const sql of branches ?? []) {
      expect(sql).toContain("FROM rowlock_request r ");
      expect(sql).toContain(`r.request_key IN (${keyOf("a")}, ${keyOf("b")})`);
    }
  });

  test("by request id see what other nodes of a cluster have committed, and other reads do not wait for that", async () => {
    const { scripted, claims, claimsByRequest } = scene();
    await claimsByRequest(["a"]);
    expect(scripted.sql).toHaveLength(2);
    scripted.connection.mayLag = true;
    await claims([held(4)]);
    expect(scripted.sql).toHaveLength(4);
    await claimsByRequest(["a"]);
    expect(scripted.sql.slice(4)).toEqual([
      "SET SESSION wsrep_sync_wait = 1",
      expect.stringContaining("FROM rowlock_request r "),
      "SET SESSION wsrep_sync_wait = DEFAULT",
      expect.stringMatching(/^SELECT CAST/),
    ]);
  });

  test("have no replica and no time of a grant if these are 0", async () => {
    const [, claim] = CLAIMS as [Claim, Claim];
    const row = claimRow({ ...claim, replica: null, grantedAtUs: null });
    expect([row[14], row[17]].map(Number)).toEqual([0, 0]);
    const { claimsByRequest } = scene((sql) => (sql.includes("rowlock_claim") ? [row] : undefined));
    expect((await claimsByRequest([claim.requestId])).claims).toEqual([{ ...claim, replica: null }]);
  });

  test("are none if none are requested, and the time is known all the same", async () => {
    const { scripted, claims, claimsByRequest } = scene();
    expect(await claims([])).toEqual({ nowUs: 900, claims: [] });
    expect(await claimsByRequest([])).toEqual({ nowUs: 900, claims: [] });
    expect(scripted.names).toEqual(["clock", "clock"]);
  });

  test("of a queue and holders come with the time after they were read", async () => {
    const { scripted, queue, holders } = scene((sql) => {
      if (sql.startsWith("SELECT c.ticket_number"))
        return [
          ["4", 1],
          ["9", 2],
        ];
      return sql.startsWith("(SELECT l.id") ? [claimRow(CLAIMS[0] as Claim)] : undefined;
    });
    expect(await queue(1n)).toEqual({
      nowUs: 900,
      places: [
        { ticketNumber: 4n, permits: 1 },
        { ticketNumber: 9n, permits: 2 },
      ],
    });
    expect(await holders(1n, 3)).toEqual({ nowUs: 900, claims: [CLAIMS[0]] });
    for (const { sql } of scripted.trips) expect(sql.at(-1)).toMatch(/^SELECT CAST/);
  });

  test("as holders are the first one of the guard row and further ones, the lowest numbers first", async () => {
    const all = [held(7), held(3), held(5)];
    const { scripted, holders } = scene((sql) =>
      sql.startsWith("(SELECT l.id") ? all.map(claimRow) : undefined,
    );
    expect((await holders(1n, 2)).claims).toEqual([held(3), held(5)]);
    expect(scripted.sql[0]).toMatch(/ UNION ALL .* c\.place = 0 ORDER BY c\.ticket_number LIMIT 2\)$/);
  });
});

describe("due locks", () => {
  /** With rows of a lock and its exact bound, and locks that wake; `locked`: those that no other transaction holds. */
  const passing = (bounds: readonly Row[], woken: readonly string[] = [], locked: readonly string[] = []) =>
    scene((sql) => {
      if (sql.startsWith("SELECT l.id, CASE")) return bounds;
      if (sql.startsWith("SELECT lock_id FROM rowlock_record")) return woken.map((id) => [id]);
      return sql.startsWith("SELECT id FROM rowlock_lock") ? locked.map((id) => [id]) : undefined;
    });

  test("are as of a reading of the clock, which others use from then on", async () => {
    const { scripted, clock, dueLocks } = passing(
      [
        ["3", "899"],
        ["5", "900"],
      ],
      ["4"],
    );
    expect(await dueLocks(2n, 10)).toEqual({ nowUs: 900, lockIds: [3n, 4n, 5n], next: null });
    expect(clock.latestUs(performance.now() * 1_000)).toBeGreaterThanOrEqual(900);
    expect(scripted.names).toEqual(["due_locks"]);
    expect(scripted.writes).toBe(0);
  });

  test("are searched in steps, of so many locks whose bounds have passed, and so many that wake", async () => {
    const { scripted, dueLocks } = passing(
      [
        ["3", "1"],
        ["7", "1"],
      ],
      ["4"],
    );
    expect(await dueLocks(2n, 2)).toEqual({ nowUs: 900, lockIds: [3n, 4n], next: 4n });
    const [passed, woken] = scripted.sql;
    expect(passed).toMatch(/next_deadline <= .* AND id > 2 ORDER BY id LIMIT 2\)/);
    expect(woken).toMatch(/wakes_at <= .* AND lock_id > 2 ORDER BY lock_id LIMIT 2$/);
  });

  test("are no others whose bound has passed: these get their exact bounds, unless another transaction holds them", async () => {
    const { scripted, dueLocks } = passing(
      [
        ["3", null],
        ["4", "900"],
        ["5", "901"],
        ["6", `${NEVER_DUE_US}`],
      ],
      [],
      ["3", "6"],
    );
    scripted.connection.skipsLocked = true;
    expect(await dueLocks(2n, 4)).toEqual({ nowUs: 900, lockIds: [4n], next: 6n });
    expect(scripted.names).toEqual(["due_locks", "due_locks_load", "due_locks_save"]);
    expect(scripted.trips[1]?.sql).toEqual([
      "START TRANSACTION",
      "SELECT id FROM rowlock_lock WHERE id IN (3, 5, 6) ORDER BY id FOR UPDATE SKIP LOCKED",
    ]);
    expect(scripted.trips[2]?.sql).toEqual([
      expect.stringMatching(
        /^UPDATE rowlock_lock l SET l\.next_deadline = CASE .* END WHERE l\.id IN \(3, 6\)$/,
      ),
      "COMMIT",
    ]);
    expect(scripted.connection.inTransaction).toBe(false);
    expect(scripted.writes).toBe(1);
  });

  test("are found although another transaction holds all those that are not due", async () => {
    const { scripted, dueLocks } = passing([
      ["3", null],
      ["4", "1"],
    ]);
    expect((await dueLocks(2n, 9)).lockIds).toEqual([4n]);
    expect(scripted.trips[1]?.sql[1]?.endsWith("FOR UPDATE")).toBe(true);
    expect(scripted.trips.at(-1)?.sql).toEqual(["COMMIT"]);
  });

  test("are found after a second try, if the database has rolled the first one back", async () => {
    const { scripted, dueLocks } = passing([["3", null]], [], ["3"]);
    scripted.failures.set("due_locks_load", [new StoreError("transient", "deadlock", "A test's.")]);
    expect(await dueLocks(2n, 9)).toEqual({ nowUs: 900, lockIds: [], next: null });
    expect(scripted.names.slice(1)).toEqual([
      "due_locks_load",
      "rollback",
      "due_locks_load",
      "due_locks_save",
    ]);
    // A node of a cluster says only by the status of an answer that it has rolled back.
    let isOpen = false;
    const cut = scene((sql) => {
      if (sql.startsWith("SELECT l.id, CASE")) return [["3", null]];
      if (sql.startsWith("SELECT id FROM rowlock_lock")) return [["3"]];
      if (!sql.startsWith("UPDATE")) return undefined;
      const answer = isOpen ? written(1) : { ...written(1), serverStatus: 0b10 };
      isOpen = true;
      return answer;
    });
    await cut.dueLocks(2n, 9);
    expect(cut.scripted.names.filter((name) => name === "due_locks_save")).toHaveLength(2);
  });
});

describe("a listing", () => {
  const listing = async (count: number, max: number) => {
    const rows = Array.from({ length: count }, (_, index) => guardRow(lock(index + 1)));
    const { scripted, list } = scene(() => rows);
    return { page: await list({ prefix: "lock", afterName: null, max, which: "all" }), sql: scripted.sql[0] };
  };

  test("goes on behind its last lock if it is full, and is at its end if it is not", async () => {
    expect((await listing(3, 3)).page.next).toBe("lock 3");
    expect((await listing(2, 3)).page.next).toBeNull();
    expect((await listing(0, 0)).page.next).toBeNull();
  });

  test("is read in pages of a bounded size", async () => {
    expect((await listing(0, LIST_ROWS_MAX + 1)).sql).toMatch(new RegExp(`LIMIT ${LIST_ROWS_MAX}$`));
    expect((await listing(0, 7)).sql).toMatch(/LIMIT 7$/);
  });

  test("shows for each lock whether it has a record, and for waited locks how many have them", async () => {
    const { list, waitedLocks } = scene((sql) =>
      sql.includes("JOIN") ? [["1", 2, 3]] : [guardRow(lock(1)), guardRow(lock(2, { record: RECORD }))],
    );
    const { locks } = await list({ prefix: "", afterName: null, max: 9, which: "busy" });
    expect(locks.map(({ hasRecord }) => hasRecord)).toEqual([false, true]);
    expect(await waitedLocks("", "most_waiters", 9)).toEqual([{ id: 1n, holders: 2, waiting: 3 }]);
  });
});

describe("a view", () => {
  const LAST_RUN: LockRecord = {
    ...RECORD,
    lastRun: { owner: "me", fencingToken: 7n, grantedAtUs: 1, endedAtUs: 2, end: "released", status: "done" },
  };
  /** Answers with the guard rows, records and claims of these locks. */
  const viewing = (locks: readonly Lock[], claims: readonly Claim[] = []) =>
    scene((sql) => {
      if (sql.startsWith("SELECT l.id")) return locks.map(guardRow);
      if (sql.includes("FROM rowlock_record")) return locks.filter(({ record }) => record).map(recordRow);
      return sql.startsWith("(SELECT") ? claims.map(claimRow) : undefined;
    });
  const branchesOf = (scripted: ScriptedPool) =>
    scripted.sql.filter((sql) => sql.startsWith("(SELECT")).flatMap((sql) => sql.split(" UNION ALL "));

  test("is in the requested order, without missing locks", async () => {
    const { scripted, views } = viewing([lock(1), lock(2), lock(3)]);
    expect((await views([3n, 9n, 1n], 5)).map((view) => view.lock.id)).toEqual([3n, 1n]);
    expect(scripted.names).toEqual(["begin_snapshot", "views", "end_snapshot"]);
    scripted.trips.length = 0;
    expect(await views([], 5)).toEqual([]);
    expect(scripted.trips).toEqual([]);
  });

  test("shows holders and waiters of each lock apart, in their order, as of one moment", async () => {
    const [one, two] = [lock(1, { holders: 2, waiting: 1, firstHolder: 10n }), lock(2, { waiting: 1 })];
    const claims = [waiting(9), held(10), held(8), waiting(3, { lockId: 2n })];
    const { scripted, views } = viewing([one, two], claims);
    const [first, second] = await views([1n, 2n], 5);
    expect(first?.holders.map(({ ticketNumber }) => ticketNumber)).toEqual([8n, 10n]);
    expect(first?.waiters.map(({ ticketNumber }) => ticketNumber)).toEqual([9n]);
    expect(second).toMatchObject({ holders: [], waiters: [{ ticketNumber: 3n }] });
    // The query does not look for holders of the second lock.
    expect(branchesOf(scripted)).toEqual([
      expect.stringMatching(/FROM rowlock_lock l WHERE l\.id = 1 AND l\.holder_state = 2\)$/),
      expect.stringMatching(/c\.lock_id = 1 AND c\.place = 0 .* LIMIT 5\)$/),
      expect.stringMatching(/c\.lock_id = 1 AND c\.place > 0 .* LIMIT 5\)$/),
      expect.stringMatching(/c\.lock_id = 2 AND c\.place > 0 .* LIMIT 5\)$/),
    ]);
  });

  test("looks for further holders only if there are some, and for the first one only if it is in the guard row", async () => {
    const branches = async (...locks: Lock[]) => {
      const { scripted, views } = viewing(locks);
      await views(
        locks.map(({ id }) => id),
        5,
      );
      return branchesOf(scripted).map((sql) => / WHERE (.*?\d)\b/.exec(sql)?.[1]);
    };
    expect(await branches(lock(1, { holders: 1, firstHolder: 1n }))).toEqual(["l.id = 1"]);
    expect(await branches(lock(1, { holders: 1 }))).toEqual(["c.lock_id = 1"]);
    expect(await branches(lock(1, { holders: 2, firstHolder: 1n }))).toEqual(["l.id = 1", "c.lock_id = 1"]);
    expect(await branches(lock(1), lock(2))).toEqual([]);
  });

  test("shows no more holders than requested, although the first one is read apart", async () => {
    const claims = [held(8), held(9), held(10)];
    const { views } = viewing([lock(1, { holders: 3, firstHolder: 9n })], claims);
    expect((await views([1n], 2))[0]?.holders).toEqual([held(8), held(9)]);
  });

  test("without holders and waiters reads no claims", async () => {
    const { scripted, views } = viewing([lock(1, { holders: 2 })]);
    await views([1n], 0);
    expect(scripted.names).not.toContain("shown_claims");
  });

  test("of very many locks reads their claims in parts", async () => {
    const many = Array.from({ length: BRANCHES_MAX + 1 }, (_, index) => lock(index + 1, { holders: 1 }));
    const { scripted, views } = viewing(many);
    await views(
      many.map(({ id }) => id),
      1,
    );
    expect(scripted.names.filter((name) => name === "shown_claims")).toHaveLength(2);
  });

  test("has the record of each lock, as it was written", async () => {
    const { view } = viewing([lock(1, { record: LAST_RUN })]);
    expect(await view("lock 1", 5)).toEqual({
      lock: lock(1, { record: LAST_RUN }),
      holders: [],
      waiters: [],
    });
    const never = viewing([lock(1, { record: RECORD, limit: 3 })]);
    expect((await never.view("lock 1", 5))?.lock).toEqual(lock(1, { record: RECORD, limit: 3 }));
    expect(await viewing([]).view("lock 1", 5)).toBeNull();
  });

  test("of a lock whose record is missing is damage, and not a lock without one", async () => {
    const { views } = scene((sql) =>
      sql.startsWith("SELECT l.id") ? [guardRow(lock(1, { record: RECORD }))] : undefined,
    );
    await expect(views([1n], 1)).rejects.toThrow("has no record");
  });
});

test("servers are returned with everything that they have registered", async () => {
  const { replicas } = scene((sql) =>
    sql.includes("rowlock_replica")
      ? [["7", bytes("a:1"), bytes("1.2"), bytes("s"), "5", "3", "2", "9"]]
      : undefined,
  );
  expect(await replicas(10)).toEqual({
    nowUs: 900,
    replicas: [
      {
        id: 7n,
        address: "a:1",
        version: "1.2",
        secret: "s",
        sinceUs: 5,
        rulesRevision: 3n,
        level: 2,
        deadlineUs: 9,
      },
    ],
  });
});

describe("limit rules", () => {
  const RULE = { prefix: "a", limit: 3, version: 2n, reason: "why", changeMark: 9n };
  const row = (revision: string): Row => [bytes("a"), 3, "2", bytes("why"), "9", revision];

  test("are read with their revision, even if there are none", async () => {
    expect(await scene(() => [row("4")]).limitRules()).toEqual([RULE]);
    expect(await scene(() => [[null, null, null, null, null, "4"]]).limitRules()).toEqual([]);
  });

  test("are read again if the revision is not the known one, or the known one is forgotten", async () => {
    let revision = "4";
    const { scripted } = scene(() => [row(revision)]);
    const cache = new RuleCache();
    const at = (asked: bigint) => scripted.use((connection) => cache.at(connection, asked));
    expect(await at(4n)).toEqual({ revision: 4n, limitRules: [RULE] });
    await at(4n);
    expect(scripted.trips).toHaveLength(1);
    revision = "6";
    expect(await at(5n)).toMatchObject({ revision: 6n });
    await at(6n);
    expect(scripted.trips).toHaveLength(2);
    cache.forget();
    await at(6n);
    expect(scripted.trips).toHaveLength(3);
  });
});
