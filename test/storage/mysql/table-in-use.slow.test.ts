// A migration that waits for somebody else's transaction: it says for whom, the servers go on meanwhile, and it ends. The
// MySQL servers of a run do not keep the tables that tell, to save memory, so this file starts one that does.

import { randomBytes } from "node:crypto";
import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Migration } from "../../../migrations/index.ts";
import { parseDatabaseUrl } from "../../../server/storage/database-url.ts";
import { migrateUp } from "../../../server/storage/migrate/migrate.ts";
import { withMysqlSchema } from "../../../server/storage/migrate/mysql-schema.ts";
import { openStore } from "../../../server/storage/open.ts";
import type { Store, StoreError } from "../../../server/storage/store.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../support/database.ts";
import { ownBinaries } from "../../support/mysql-family/own-binaries.ts";
import { startPrivateServer } from "../../support/mysql-family/private-server.ts";
import { load, lockId, planned } from "../../support/store-fixture.ts";

reportLeftOut(mysqlFamily());

/** Changes a table that every decision reads. */
const ADDS: Migration = {
  name: "9001-adds-a-column",
  up: (target) => target.addColumn("rowlock_meta", "colour", "INT NOT NULL DEFAULT 7"),
};
/** Two attempts. */
const BRIEFLY_MS = 1_500;

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let url: string;
  let drop: () => Promise<void>;
  let store: Store;
  let reader: Connection;
  /** Reads a table of another database on the same server. */
  let stranger: Connection;
  let hasColour = false;
  /** Whether this server keeps the tables that tell who uses a table. */
  let tells = true;

  beforeAll(async () => {
    const binary = server.flavour === "mysql" ? (await ownBinaries()).get("mysql") : undefined;
    const own =
      binary === undefined
        ? undefined
        : await startPrivateServer(binary, "mysql", { flags: ["--performance-schema=ON"] });
    const fresh = await freshDatabase(own?.server ?? server);
    const others = await freshDatabase(own?.server ?? server);
    url = fresh.url;
    drop = async () => {
      await fresh.drop();
      await others.drop();
      await own?.stop();
    };
    await migrateUp(url);
    store = await openStore(url);
    reader = await createConnection({ uri: url });
    stranger = await createConnection({ uri: others.url });
    await stranger.query("CREATE TABLE work (id INT PRIMARY KEY) ENGINE = InnoDB");
    const [rows] = await reader.query("SELECT @@performance_schema AS is_on");
    tells = server.flavour === "mariadb" || Number((rows as { is_on: unknown }[])[0]?.is_on) === 1;
  });
  afterEach(async () => {
    await reader.query("ROLLBACK");
    await reader.query("DELETE FROM rowlock_migration WHERE name = ?", [ADDS.name]);
    if (hasColour) await reader.query("ALTER TABLE rowlock_meta DROP COLUMN colour");
    hasColour = false;
  });
  afterAll(async () => {
    await reader?.end();
    await stranger?.end();
    await store?.close();
    await drop?.();
  });

  const migrate = (
    patience: { log?: (message: string) => void; tableWaitMs?: number },
    at = url,
  ): Promise<void> => {
    const target = parseDatabaseUrl(at);
    if (target.dialect !== "mysql") throw new Error("not MySQL");
    return withMysqlSchema(target, "be brought up to date", (schema) => schema.run(ADDS), patience);
  };
  const read = async () => {
    await reader.query("BEGIN");
    await reader.query("SELECT 'a secret', token_floor\n  FROM rowlock_meta");
  };
  /** Who is in the way, as people read it. */
  const inTheWay = () =>
    tells
      ? `connection ${reader.threadId} of ${new URL(url).username}@\\S+, whose transaction is open for \\d+ s, since [-\\d]+T[:.\\d]+Z` +
        (server.flavour === "mariadb"
          ? ", and runs nothing now"
          : ": `SELECT '\\.\\.\\.', token_floor FROM rowlock_meta`")
      : "somebody whom the database does not name";

  test("it names the transaction that has read the table, in the log and when it gives up", async () => {
    await stranger.query("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    await stranger.query("SELECT * FROM work");
    await read();
    const logged: string[] = [];
    const error = (await migrate({ log: (line) => logged.push(line), tableWaitMs: BRIEFLY_MS }).catch(
      (thrown: unknown) => thrown,
    )) as StoreError;
    const waits =
      "`ALTER TABLE rowlock_meta ADD COLUMN colour INT NOT NULL DEFAULT 7` has waited for \\d+ s for ";
    await stranger.query("ROLLBACK");
    expect(logged).toEqual([
      expect.stringMatching(
        new RegExp(`^The migration goes on when others let it: ${waits}${inTheWay()}\\.$`),
      ),
    ]);
    expect(error).toMatchObject({ kind: "unavailable", reason: "table_in_use" });
    expect(error.message).toMatch(
      new RegExp(
        `^The schema of mysql://\\S+ cannot be brought up to date\\. ${waits}${inTheWay()}\\. End that \\(KILL `,
      ),
    );
  });

  test("the servers decide between its attempts, and it ends when the transaction does", async () => {
    const id = await lockId(store, "a");
    await read();
    const waiting = Promise.withResolvers<void>();
    const migrated = migrate({ log: () => waiting.resolve() });
    await waiting.promise;
    for (const _ of [1, 2, 3]) expect((await load(store, { locks: planned(id) })).locks.size).toBe(1);
    await reader.query("COMMIT");
    await migrated;
    hasColour = true;
    const [columns] = await reader.query("SELECT colour FROM rowlock_meta");
    expect(columns).toEqual([{ colour: 7 }]);
  });

  test("it says what to grant if its user may not know who is in the way", async () => {
    const name = `rowlock_${randomBytes(6).toString("hex")}`;
    const at = new URL(url);
    await reader.query(`CREATE USER ${name} IDENTIFIED BY 'a password'`);
    try {
      await reader.query(`GRANT ALL ON ${at.pathname.slice(1)}.* TO ${name}`);
      Object.assign(at, { username: name, password: "a password" });
      await read();
      await expect(migrate({ tableWaitMs: BRIEFLY_MS }, at.href)).rejects.toThrow(
        "for somebody whom the database does not name to this user (GRANT PROCESS ON *.*",
      );
    } finally {
      await reader.query(`DROP USER ${name}`);
    }
  });
});
