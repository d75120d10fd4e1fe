// The history is cleaned beside Acquires: while 200,000 ended claims are deleted, an Acquire takes no longer than before.

import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openStore } from "../../server/storage/open.ts";
import { openSqliteFile } from "../../server/storage/sqlite/file.ts";
import { sqliteStore } from "../../server/storage/sqlite/sqlite-store.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { type FreshDatabase, testDatabases } from "../support/database.ts";
import { ask, claimOf, type Replica, startReplica } from "../support/replicas.ts";

const ROWS = 200_000;
const ROWS_AT_ONCE = 20_000;
/** A new Acquire begins after this time, whether the ones before have ended or not: what holds all of them up shows. */
const EACH_MS = 10;
const LONG_US = 3_600_000_000;
/** Acquires in the calm. */
const CALM = 600;

/** The statement that adds many claims which ended long ago, with numbers from one on. */
function adding(dialect: "sqlite" | "mysql", from: number): string {
  const bytes = (text: string) => (dialect === "sqlite" ? `CAST(${text} AS BLOB)` : text);
  const name = dialect === "sqlite" ? "'request ' || n" : "CONCAT('request ', n)";
  return `INSERT INTO rowlock_history (kept_for, ended_at, lock_id, ticket_number, secret, request_id, mode, permits, owner,
      principal, labels, requested_at, replica, provisional, fencing_token, granted_at, end_reason, end_note, ended_by)
    WITH RECURSIVE d (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM d WHERE i < 199)
    SELECT 60 + n % 2, 1000000 + n, 1 + n % 100, n, ${bytes("'secret of an old claim'")}, ${bytes(name)}, 1, 1,
      ${bytes("'owner'")}, ${bytes("''")}, ${bytes("'{}'")}, n, 0, 0, n, n, 1, ${bytes("''")}, ${bytes("''")}
    FROM (SELECT ${from} + a.i * 200 + b.i AS n FROM d a CROSS JOIN d b WHERE a.i < ${ROWS_AT_ONCE / 200}) numbers`;
}

describe.each(testDatabases())("on $label", (database) => {
  let fresh: FreshDatabase;
  let store: Store;
  let replica: Replica;
  let addOld: () => Promise<void>;

  beforeAll(async () => {
    fresh = await database.fresh();
    await migrateUp(fresh.url);
    const address = parseDatabaseUrl(fresh.url);
    const froms = Array.from({ length: ROWS / ROWS_AT_ONCE }, (_, index) => 1 + index * ROWS_AT_ONCE);
    if (address.dialect === "sqlite") {
      const file = openSqliteFile(address.path);
      store = sqliteStore(file, { path: address.path });
      addOld = async () => {
        for (const from of froms) file.exec(adding("sqlite", from));
        // The store did not write that.
        file.files?.wrote();
      };
    } else {
      store = await openStore(fresh.url);
      addOld = async () => {
        const behind = await createConnection({ uri: fresh.url });
        for (const from of froms) await behind.query(adding("mysql", from));
        await behind.end();
      };
    }
    replica = await startReplica(store, {}, null);
  });
  afterAll(async () => {
    await replica?.engine.stop();
    await store?.close();
    await fresh?.drop();
    expect(replica.failures).toEqual([]);
  });

  /** Begins Acquires until it is over; returns how long each took from when it was due, in milliseconds. */
  async function use(isOver: (count: number) => boolean): Promise<number[]> {
    const using: Promise<number>[] = [];
    const beganMs = performance.now();
    while (!isOver(using.length)) {
      const dueMs = beganMs + using.length * EACH_MS;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
      using.push(useOnce(dueMs));
    }
    return await Promise.all(using);
  }

  /** Names that nobody uses now. */
  const free: string[] = [];
  let made = 0;

  async function useOnce(dueMs: number): Promise<number> {
    const name = free.pop() ?? `beside ${++made}`;
    const lease = claimOf(await replica.engine.acquire(ask(name), null), "held");
    const tookMs = performance.now() - dueMs;
    await replica.engine.ask(asks.release(lease));
    free.push(name);
    return tookMs;
  }

  test("an Acquire takes about as long as in the calm", { timeout: 600_000 }, async () => {
    await use((count) => count === CALM);
    const calmMs = await use((count) => count === CALM);
    await addOld();
    expect((await store.historyStats()).overdueUs).toBeGreaterThan(LONG_US);
    let left = true;
    const watching = (async () => {
      while (left) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        left = (await store.historyStats()).overdueUs > LONG_US;
      }
    })();
    const besideMs = await use(() => !left);
    await watching;
    // Other work of the machine comes and goes, so it is calm before and after.
    const afterMs = await use((count) => count === CALM);
    const [calm, beside] = [Math.max(p99(calmMs), p99(afterMs)), p99(besideMs)];
    const figures = `p99 ${beside.toFixed(1)} ms beside ${ROWS} deletions, ${calm.toFixed(1)} ms in the calm`;
    console.info(`${database.label}: ${figures}, ${besideMs.length} Acquires`);
    expect(beside, figures).toBeLessThan(10 * Math.max(calm, 20));
  });
});

function p99(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? Number.NaN;
}
