// Ended claims and changes on MySQL and MariaDB: which statements clean them, and how many rows each read touches among
// many. What the reads return is in the contract suite.

import { createConnection } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type MysqlAddress, parseDatabaseUrl } from "../../../server/storage/database-url.ts";
import { migrateUp } from "../../../server/storage/migrate/migrate.ts";
import { changes } from "../../../server/storage/mysql/changes.ts";
import { UNOBSERVED } from "../../../server/storage/mysql/connection/connect.ts";
import { query } from "../../../server/storage/mysql/connection/connection.ts";
import { MysqlPool } from "../../../server/storage/mysql/connection/pool.ts";
import { history } from "../../../server/storage/mysql/history.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../support/database.ts";
import { ScriptedPool, written } from "./scripted-pool.ts";
import { keyOf } from "./transaction/lock-fixture.ts";

describe("ended claims that were kept long enough", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Of two classes: the ends, locks and ticket numbers of what is found. */
  const FOUND = [
    ["3600", "70", "9", "1"],
    ["3600", "80", "4", "2"],
    ["60", "75", "5", "3"],
  ] as const;

  /** Of those that are found: request ids, locks and ticket numbers. */
  const OF_CLIENTS = [
    [Buffer.from("a"), "4", "2"],
    [Buffer.from("b"), "5", "3"],
  ];

  function scene(classes: readonly string[] = ["60", "3600"], found: readonly (readonly string[])[] = FOUND) {
    const scripted = new ScriptedPool((sql) => {
      if (sql.startsWith("(SELECT MIN(h.kept_for)")) return [...classes, null].map((each) => [each]);
      if (sql.startsWith("(SELECT kept_for")) return found;
      if (sql.startsWith("SELECT h.request_id"))
        return [[Buffer.from("\0of a server"), "9", "1"], ...OF_CLIENTS];
      return sql.startsWith("DELETE") ? written(3) : undefined;
    });
    return { scripted, ...history(scripted.pool) };
  }

  test("are absent: nothing is deleted", async () => {
    const { scripted, purgeClaims } = scene([], []);
    expect(await purgeClaims(10, 5)).toBe(0);
    expect(scripted.writes).toBe(0);
  });

  test("are searched in each class, until the time of the caller and of the database less what the class keeps", async () => {
    const { scripted, purgeClaims } = scene();
    await purgeClaims(90, 5);
    // The first read finds the classes, and the second one that there are no others.
    expect(scripted.names.slice(0, 3)).toEqual(["history_classes", "history_classes", "ended_keys"]);
    expect(scripted.sql[1]).toMatch(/kept_for >= 0\).*kept_for >= 61\).*kept_for >= 3601\)$/s);
    expect(scripted.sql[2]).toMatch(
      /kept_for = 60 AND h.ended_at <= LEAST\(90, .* - 60000000 ORDER BY ended_at, lock_id, ticket_number LIMIT 5\)/,
    );
    await purgeClaims(90, 5);
    expect(scripted.names.slice(9, 11)).toEqual(["history_classes", "ended_keys"]);
  });

  test("are deleted as one range of each class, up to the last one that was found, with their request ids", async () => {
    const { scripted, purgeClaims } = scene();
    // Not the number of deleted rows, which includes those of request ids.
    expect(await purgeClaims(90, 5)).toBe(3);
    const range =
      "FROM rowlock_history h WHERE h.kept_for = 3600 AND (h.ended_at < 80 OR (h.ended_at = 80 AND h.lock_id < 4) " +
      "OR (h.ended_at = 80 AND h.lock_id = 4 AND h.ticket_number <= 2))";
    // Those that servers made have none, and a later claim may have the same one.
    const forgotten =
      `DELETE r FROM rowlock_request r WHERE r.request_key IN (${keyOf("a")}, ${keyOf("b")}) ` +
      "AND (r.lock_id, r.ticket_number) IN ((4, 2), (5, 3))";
    expect(scripted.sql.slice(3)).toEqual([
      `SELECT h.request_id, h.lock_id, h.ticket_number ${range}`,
      forgotten,
      `DELETE h ${range}`,
      expect.stringContaining("h.kept_for = 60 AND (h.ended_at < 75 "),
      forgotten,
      expect.stringMatching(/^DELETE h .*h\.kept_for = 60 AND \(h\.ended_at < 75 /),
    ]);
    expect(scripted.writes).toBe(4);
  });

  test("are deleted no further than was asked for, the oldest first", async () => {
    const { scripted, purgeClaims } = scene();
    expect(await purgeClaims(90, 2)).toBe(2);
    expect(scripted.sql[5]).toContain("h.kept_for = 3600 AND (h.ended_at < 70 ");
    expect(scripted.sql[8]).toContain("h.kept_for = 60 AND (h.ended_at < 75 ");
  });

  test("are deleted again after the database has rolled it back", async () => {
    const { scripted, purgeClaims } = scene(["3600"], FOUND.slice(0, 2));
    scripted.failures.set("purge_claims", [new StoreError("transient", "deadlock", "A test's.")]);
    const purged = purgeClaims(90, 5);
    await vi.runAllTimersAsync();
    expect(await purged).toBe(2);
    expect(scripted.names.slice(-2)).toEqual(["purge_claims", "purge_claims"]);
  });
});

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("among many rows, on $flavour $version,", (server) => {
  const ROWS = 6_000;
  const CLASSES = 3;
  const MAX = 10;
  let pool: MysqlPool;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const fresh = await freshDatabase(server);
    drop = fresh.drop;
    await migrateUp(fresh.url);
    const behind = await createConnection({ uri: fresh.url });
    const numbers = (from: number) => Array.from({ length: ROWS / 10 }, (_, index) => from + index);
    await behind.query("INSERT INTO rowlock_lock (id, name) VALUES ?", [
      numbers(1)
        .slice(0, 10)
        .map((id) => [id, Buffer.from(`lock ${id}`)]),
    ]);
    for (let from = 1; from <= ROWS; from += ROWS / 10) {
      await behind.query(
        `INSERT INTO rowlock_history (kept_for, ended_at, lock_id, ticket_number, secret, request_id, mode, permits, owner,
          principal, labels, requested_at, replica, provisional, fencing_token, granted_at, end_reason, end_note, ended_by)
          VALUES ?`,
        [
          numbers(from).map((n) => [
            ...[
              60 + (n % CLASSES),
              5_000_000 + Math.floor(n / 4) * 1_000,
              1 + (n % 10),
              n,
              "",
              `${n}`,
              1,
              1,
              "",
              "",
            ],
            ...["{}", n * 1_000_000, 0, 0, 1, 1, 1, "", ""],
          ]),
        ],
      );
      await behind.query(
        `INSERT INTO rowlock_change (changed_at, id, kind, target, is_pattern, changed_by, from_value, to_value, reason)
          VALUES ?`,
        [numbers(from).map((n) => [Math.floor(n / 4), n, 1, `lock ${n % 10}`, 0, "", "", "", ""])],
      );
    }
    await behind.query("ANALYZE TABLE rowlock_history, rowlock_change");
    await behind.end();
    // One connection, whose reads the database counts.
    pool = new MysqlPool(parseDatabaseUrl(fresh.url) as MysqlAddress, 1, UNOBSERVED);
  });
  afterAll(async () => {
    await pool?.close();
    await drop?.();
  });

  async function rowsRead(): Promise<number> {
    const rows = await pool.use((connection) =>
      query(connection, "status", "SHOW STATUS LIKE 'Handler_read%'"),
    );
    return rows.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  const END = { endedAtUs: 5_000_000 + 500_000, lockId: 5n, ticketNumber: 2_003n };

  test.for([
    ["all ended claims", () => history(pool).endedClaims(null, MAX)],
    ["all ended claims from a position on", () => history(pool).endedClaims(END, MAX)],
    ["the ended claims of a lock", () => history(pool).endedClaimsOf(3n, null, MAX)],
    ["the ended claims of a lock below a number", () => history(pool).endedClaimsOf(3n, 3_000n, MAX)],
    ["all changes", () => changes(pool).changes(null, null, MAX)],
    ["all changes before one", () => changes(pool).changes(null, { atUs: 700, id: 2_801n }, MAX)],
    ["changes of two targets", () => changes(pool).changes(["lock 1", "lock 2"], null, MAX)],
    [
      "changes of two targets before one",
      () => changes(pool).changes(["lock 1", "lock 2"], { atUs: 700, id: 2_801n }, MAX),
    ],
  ] as const)("a read of %s touches about as many as it returns", async ([, read]) => {
    // The first read also finds the classes.
    await read();
    const before = await rowsRead();
    expect(await read()).toHaveLength(MAX);
    // Each class or target, the merge, the names, and the status itself.
    expect((await rowsRead()) - before).toBeLessThan(20 * MAX);
  });

  test("a search by time touches a few rows, whatever the number of claims", async () => {
    const before = await rowsRead();
    const ticket = await history(pool).ticketAfter(3n, 3_000_500_000);
    expect(ticket).toBeGreaterThan(2_992n);
    expect(ticket).toBeLessThanOrEqual(3_012n);
    expect((await rowsRead()) - before).toBeLessThan(200);
  });

  test("the statistics touch a few rows of each class, and the estimate follows what is added", async () => {
    const before = await rowsRead();
    const { rows, overdueUs } = await history(pool).historyStats();
    expect((await rowsRead()) - before).toBeLessThan(300);
    expect(rows).toBeGreaterThan(ROWS / 2);
    expect(rows).toBeLessThan(ROWS * 2);
    expect(overdueUs).toBeGreaterThan(0);
  });

  test("a round of cleaning touches what it deletes", async () => {
    await history(pool).historyStats();
    const before = await rowsRead();
    expect(await history(pool).purgeClaims(Number.MAX_SAFE_INTEGER, MAX)).toBe(MAX);
    expect(await history(pool).trimHistory(Number.MAX_SAFE_INTEGER, MAX)).toBe(MAX);
    expect(await changes(pool).purgeChanges(1_000, 1_000_000, MAX)).toBe(MAX);
    expect((await rowsRead()) - before).toBeLessThan(60 * MAX);
  });
});
