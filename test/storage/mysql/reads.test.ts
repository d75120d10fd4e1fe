// How rows read outside transactions become results, and which reads are skipped because there is nothing to read.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { DatabaseClock } from "../../../server/core/database-clock.ts";
import type { Lock } from "../../../server/core/lock.ts";
import type { LockRecord } from "../../../server/core/record.ts";
import type { Row } from "../../../server/storage/mysql/connection/connection.ts";
import { RuleCache } from "../../../server/storage/mysql/meta.ts";
import { reads } from "../../../server/storage/mysql/reads.ts";
import { changingRecordValues, claimValues, lockValues } from "../../../server/storage/rows/values.ts";
import { BRANCHES_MAX, LIST_ROWS_MAX } from "../../../server/storage/storage-bounds.ts";
import { RECORD, TERMS } from "../../support/claims.ts";
import { ScriptedPool } from "./scripted-pool.ts";
import { ended, held, LOCK, waiting } from "./transaction/lock-fixture.ts";

const bytes = (text: string) => Buffer.from(text);
/** As the driver returns it: a value too large for a number comes as text. */
const driven = (values: readonly unknown[]): Row =>
  values.map((value) => (typeof value === "bigint" ? `${value}` : value)) as unknown as Row;
const guardRow = (lock: Lock): Row => driven([lock.id, bytes(lock.name), ...lockValues(lock)]);
const claimRow = (claim: Claim): Row => driven(claimValues(claim));
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
  const CLAIMS: Claim[] = [
    held(1, { ttlUs: 5, deadlineUs: 2 ** 50, replica: 2n ** 60n, provisional: true, labels: { a: "é" } }),
    waiting(2, {
      waitUntilUs: 7,
      replica: 3n,
      endedAtUs: null,
      endReason: null,
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

  test("treat NULL and 0 alike", async () => {
    const [, claim] = CLAIMS as [Claim, Claim];
    const row = [...claimRow({ ...claim, replica: null })];
    for (const at of [13, 16, 17, 18]) row[at] = null;
    const { claimsByRequest } = scene((sql) => (sql.includes("rowlock_claim") ? [row] : undefined));
    expect((await claimsByRequest(["r"])).claims).toEqual([{ ...claim, replica: null }]);
  });

  test("are none if none are requested, and the time is known all the same", async () => {
    const { scripted, claims, claimsByRequest } = scene();
    expect(await claims([])).toEqual({ nowUs: 900, claims: [] });
    expect(await claimsByRequest([])).toEqual({ nowUs: 900, claims: [] });
    expect(scripted.names).toEqual(["clock", "clock"]);
  });

  test("of a queue and holders come with the time after they were read", async () => {
    const { scripted, queue, holders } = scene((sql) => {
      if (sql.startsWith("SELECT ticket_number"))
        return [
          ["4", 1],
          ["9", 2],
        ];
      return sql.startsWith("SELECT lock_id") ? [claimRow(CLAIMS[0] as Claim)] : undefined;
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

  test("and are due are as of a reading of the clock, which others use from then on", async () => {
    const { clock, dueLocks } = scene((sql) =>
      sql.startsWith("(SELECT DISTINCT") ? [["3"], ["5"]] : undefined,
    );
    expect(await dueLocks(2n, 10)).toEqual({ nowUs: 900, lockIds: [3n, 5n] });
    expect(clock.latestUs(performance.now() * 1_000)).toBeGreaterThanOrEqual(900);
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
      return sql.startsWith("(SELECT lock_id") ? claims.map(claimRow) : undefined;
    });

  test("is in the requested order, without missing locks", async () => {
    const { scripted, views } = viewing([lock(1), lock(2), lock(3)]);
    expect((await views([3n, 9n, 1n], 5)).map((view) => view.lock.id)).toEqual([3n, 1n]);
    expect(scripted.names).toEqual(["begin_snapshot", "views", "end_snapshot"]);
    scripted.trips.length = 0;
    expect(await views([], 5)).toEqual([]);
    expect(scripted.trips).toEqual([]);
  });

  test("shows holders and waiters of each lock apart, in their order, as of one moment", async () => {
    const [one, two] = [lock(1, { holders: 2, waiting: 1 }), lock(2, { waiting: 1 })];
    const claims = [waiting(9), held(10), held(8), waiting(3, { lockId: 2n })];
    const { scripted, views } = viewing([one, two], claims);
    const [first, second] = await views([1n, 2n], 5);
    expect(first?.holders.map(({ ticketNumber }) => ticketNumber)).toEqual([8n, 10n]);
    expect(first?.waiters.map(({ ticketNumber }) => ticketNumber)).toEqual([9n]);
    expect(second).toMatchObject({ holders: [], waiters: [{ ticketNumber: 3n }] });
    // The query does not look for holders of the second lock.
    expect(
      scripted.sql.find((sql) => sql.startsWith("(SELECT lock_id"))?.match(/lock_id = \d/g),
    ).toHaveLength(3);
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
      ? [["7", bytes("a:1"), bytes("1.2"), bytes("s"), "5", "3", "9"]]
      : undefined,
  );
  expect(await replicas(10)).toEqual({
    nowUs: 900,
    replicas: [
      { id: 7n, address: "a:1", version: "1.2", secret: "s", sinceUs: 5, rulesRevision: 3n, deadlineUs: 9 },
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
