// The upper limit for one hot name: how many consecutive transactions per second the database does on one row, with
// only the row's lock, one write and the commit. A lock cannot be handed over faster.

import { createConnection } from "mysql2/promise";
import { openSqliteFile } from "../server/storage/sqlite/file.ts";

const CREATE = "CREATE TABLE rowlock_bench (id INTEGER PRIMARY KEY, counter BIGINT)";
const INSERT = "INSERT INTO rowlock_bench VALUES (1, 0)";
const UPDATE = "UPDATE rowlock_bench SET counter = counter + 1 WHERE id = 1";

/** MySQL or MariaDB, with all statements in one trip. */
export async function bareMysqlTransactions(databaseUrl: string, seconds: number): Promise<number> {
  const connection = await createConnection({ uri: databaseUrl, multipleStatements: true });
  try {
    await connection.query(`DROP TABLE IF EXISTS rowlock_bench; ${CREATE} ENGINE=InnoDB; ${INSERT}`);
    const transaction = `START TRANSACTION; SELECT counter FROM rowlock_bench WHERE id = 1 FOR UPDATE; ${UPDATE}; COMMIT`;
    const startedMs = performance.now();
    let done = 0;
    for (; performance.now() < startedMs + seconds * 1_000; done++) await connection.query(transaction);
    const tookMs = performance.now() - startedMs;
    await connection.query("DROP TABLE rowlock_bench");
    return (done / tookMs) * 1_000;
  } finally {
    await connection.end();
  }
}

/** SQLite, opened as the server opens it. Blocks this process while it runs. */
export function bareSqliteTransactions(path: string, seconds: number): number {
  const database = openSqliteFile(path);
  try {
    database.exec(`DROP TABLE IF EXISTS rowlock_bench; ${CREATE}; ${INSERT}`);
    const begin = database.prepare("BEGIN IMMEDIATE");
    const update = database.prepare(UPDATE);
    const commit = database.prepare("COMMIT");
    const startedMs = performance.now();
    let done = 0;
    for (; performance.now() < startedMs + seconds * 1_000; done++) {
      begin.run();
      update.run();
      commit.run();
    }
    return (done / (performance.now() - startedMs)) * 1_000;
  } finally {
    database.close();
  }
}
