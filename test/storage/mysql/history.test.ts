// Ended claims and changes on MySQL and MariaDB: how many rows each read and each cleaning touches among many. What they
// return and delete is in the contract suite.

import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MysqlAddress, parseDatabaseUrl } from "../../../server/storage/database-url.ts";
import { migrateUp } from "../../../server/storage/migrate/migrate.ts";
import { UNOBSERVED } from "../../../server/storage/mysql/connection/connect.ts";
import { query } from "../../../server/storage/mysql/connection/connection.ts";
import { MysqlPool } from "../../../server/storage/mysql/connection/pool.ts";
import { stepsOn } from "../../../server/storage/mysql/steps.ts";
import { coldReads } from "../../../server/storage/reads/reads.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../support/database.ts";

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

  const reads = () => coldReads(stepsOn(pool, null));

  async function rowsRead(): Promise<number> {
    const rows = await pool.use((connection) =>
      query(connection, "status", "SHOW STATUS LIKE 'Handler_read%'"),
    );
    return rows.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  const END = { endedAtUs: 5_000_000 + 500_000, lockId: 5n, ticketNumber: 2_003n };

  test.for([
    ["all ended claims", () => reads().endedClaims(null, MAX)],
    ["all ended claims from a position on", () => reads().endedClaims(END, MAX)],
    ["the ended claims of a lock", () => reads().endedClaimsOf(3n, null, MAX)],
    ["the ended claims of a lock below a number", () => reads().endedClaimsOf(3n, 3_000n, MAX)],
    ["all changes", () => reads().changes(null, null, MAX)],
    ["all changes before one", () => reads().changes(null, { atUs: 700, id: 2_801n }, MAX)],
    ["changes of two targets", () => reads().changes(["lock 1", "lock 2"], null, MAX)],
    [
      "changes of two targets before one",
      () => reads().changes(["lock 1", "lock 2"], { atUs: 700, id: 2_801n }, MAX),
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
    const ticket = await reads().ticketAfter(3n, 3_000_500_000);
    expect(ticket).toBeGreaterThan(2_992n);
    expect(ticket).toBeLessThanOrEqual(3_012n);
    expect((await rowsRead()) - before).toBeLessThan(200);
  });

  test("the statistics touch a few rows of each class, and the estimate follows what is added", async () => {
    const before = await rowsRead();
    const { rows, overdueUs } = await reads().historyStats();
    expect((await rowsRead()) - before).toBeLessThan(300);
    expect(rows).toBeGreaterThan(ROWS / 2);
    expect(rows).toBeLessThan(ROWS * 2);
    expect(overdueUs).toBeGreaterThan(0);
  });

  test("a round of cleaning touches what it deletes", async () => {
    await reads().historyStats();
    const before = await rowsRead();
    expect(await reads().purgeClaims(Number.MAX_SAFE_INTEGER, MAX)).toBe(MAX);
    expect(await reads().trimHistory(Number.MAX_SAFE_INTEGER, MAX)).toBe(MAX);
    expect(await reads().purgeChanges(1_000, 1_000_000, MAX)).toBe(MAX);
    expect((await rowsRead()) - before).toBeLessThan(60 * MAX);
  });
});
