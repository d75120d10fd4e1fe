// Several `rowlock migrate up` processes on one database, one of which may die in the middle of its work.

import { createConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { migrations } from "../../migrations/index.ts";
import { freshDatabase, freshSqlite, mysqlFamily, reportLeftOut } from "../support/database.ts";
import { until } from "../support/until.ts";
import { processStage } from "./stage.ts";

const { afterwards, rowlock, database } = processStage();

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  test("one of two servers migrates; the other waits, and goes on if the first one is killed", async () => {
    const url = await database(() => freshDatabase(server));
    const env = { ROWLOCK_DATABASE_URL: url };
    expect(await rowlock(["migrate", "up"], env).exited).toMatchObject({ code: 0 });
    const connection = await createConnection({ uri: url });
    afterwards(() => connection.end());
    // Only the last statement is left, and it must wait for this row.
    await connection.query("DELETE FROM rowlock_migration");
    await connection.query("DROP TABLE rowlock_replica");
    await connection.query("BEGIN");
    await connection.query("SELECT id FROM rowlock_meta FOR UPDATE");

    const killed = rowlock(["migrate", "up"], env);
    await until(async () => {
      const [rows] = await connection.query(
        "SELECT info FROM information_schema.processlist WHERE db = DATABASE()",
      );
      return /INSERT IGNORE INTO rowlock_meta/.test(JSON.stringify(rows));
    });
    const next = rowlock(["migrate", "up"], env);
    await next.logged(/Waiting for another server to migrate the database/);
    killed.kill("SIGKILL");
    await killed.exited;
    await connection.query("ROLLBACK");
    expect(await next.exited).toMatchObject({ code: 0, out: expect.stringContaining("ran 0001") });
    expect(await rowlock(["doctor"], env).exited).toMatchObject({ code: 0 });
  });
});

test("one of two servers migrates an SQLite file, and the other comes after it or is refused", async () => {
  const env = { ROWLOCK_DATABASE_URL: await database(freshSqlite) };
  const exits = await Promise.all([1, 2].map(() => rowlock(["migrate", "up"], env).exited));
  expect(exits.map(({ out }) => out.match(/^ran /gm)?.length ?? 0).sort()).toEqual([0, migrations.length]);
  for (const { code, err } of exits) if (code !== 0) expect(err).toContain("is in use by another process");
  expect(await rowlock(["doctor"], env).exited).toMatchObject({ code: 0 });
});
