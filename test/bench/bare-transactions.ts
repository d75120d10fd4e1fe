// The limit of one hot name: how many transactions a second the database does one after the other on one row, with
// nothing in them but the row's lock, one write and the commit, all in one trip. A lock cannot be handed over faster.

import { createConnection } from "mysql2/promise";

export async function bareTransactionsPerSecond(databaseUrl: string, seconds: number): Promise<number> {
  const connection = await createConnection({ uri: databaseUrl, multipleStatements: true });
  try {
    await connection.query("DROP TABLE IF EXISTS rowlock_bench");
    await connection.query("CREATE TABLE rowlock_bench (id INT PRIMARY KEY, counter BIGINT) ENGINE=InnoDB");
    await connection.query("INSERT INTO rowlock_bench VALUES (1, 0)");
    const transaction =
      "START TRANSACTION; SELECT counter FROM rowlock_bench WHERE id = 1 FOR UPDATE; " +
      "UPDATE rowlock_bench SET counter = counter + 1 WHERE id = 1; COMMIT";
    const startedMs = performance.now();
    let done = 0;
    for (; performance.now() < startedMs + seconds * 1_000; done++) await connection.query(transaction);
    return (done / (performance.now() - startedMs)) * 1_000;
  } finally {
    await connection.query("DROP TABLE IF EXISTS rowlock_bench");
    await connection.end();
  }
}
