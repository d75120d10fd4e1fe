// The store contract on each MySQL-family server of this run, with two stores on each database, as two servers have
// them. Also the migrations, which several servers may start at the same time.

import { createConnection } from "mysql2/promise";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { migrations } from "../../../migrations/index.ts";
import { type MysqlAddress, parseDatabaseUrl } from "../../../server/storage/database-url.ts";
import { migrateUp, migrationStatus } from "../../../server/storage/migrate/migrate.ts";
import { withMysqlSchema } from "../../../server/storage/migrate/mysql-schema.ts";
import type { MigratePatience } from "../../../server/storage/migrate/patient-statements.ts";
import { runPending } from "../../../server/storage/migrate/schema.ts";
import { openStore } from "../../../server/storage/open.ts";
import type { FoundServer, FreshDatabase } from "../../support/database.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../support/database.ts";
import { refusal } from "../../support/mysql-stage.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { runStoreContract } from "../contract/contract.ts";

async function freshOn(server: FoundServer): Promise<FreshStore> {
  const { url, drop } = await freshDatabase(server);
  await migrateUp(url);
  const [store, other] = [await openStore(url), await openStore(url)];
  const behind = await createConnection({ uri: url });
  return {
    store,
    other,
    tamper: async (sql, ...values) => void (await behind.query(sql, values)),
    close: async () => {
      await Promise.all([store.close(), other.close(), behind.end()]);
      await drop();
    },
  };
}

reportLeftOut(mysqlFamily());

for (const server of mysqlFamily()) {
  const label = `${server.flavour} ${server.version}`;
  runStoreContract(label, () => freshOn(server));

  describe(`migrations on ${label}`, () => {
    const NAMES = migrations.map(({ name }) => name);
    let fresh: FreshDatabase;
    beforeEach(async () => {
      fresh = await freshDatabase(server);
    });
    afterEach(() => fresh.drop());

    async function run(...statements: string[]): Promise<void> {
      const connection = await createConnection({ uri: fresh.url });
      for (const statement of statements) await connection.query(statement);
      await connection.end();
    }

    const address = () => {
      const parsed = parseDatabaseUrl(fresh.url);
      if (parsed.dialect !== "mysql") throw new Error("The database is not of the MySQL family.");
      return parsed;
    };

    const migrate = (patience: MigratePatience, at: Partial<MysqlAddress> = {}) =>
      withMysqlSchema({ ...address(), ...at }, "be brought up to date", runPending, patience);

    test("run once, and report the state of the schema without changing it", async () => {
      const fleet = { levelMin: { level: 0, by: "" }, members: [] };
      const none = { unknown: [], breaking: [], isOfTrial: false, fleet };
      expect(await migrationStatus(fresh.url)).toEqual({ ...none, applied: [], pending: NAMES });
      expect(await migrateUp(fresh.url)).toEqual(NAMES);
      expect(await migrateUp(fresh.url)).toEqual([]);
      expect(await migrationStatus(fresh.url)).toEqual({ ...none, applied: NAMES, pending: [] });
    });

    test("are run by one of several servers that start at once, and the others wait", async () => {
      const ran = await Promise.all(Array.from({ length: 4 }, () => migrateUp(fresh.url)));
      expect(ran.flat()).toEqual(NAMES);
      await (await openStore(fresh.url)).close();
    });

    /** Another server, whose migration of a database without one takes a while. */
    async function slowOther() {
      await migrateUp(fresh.url);
      const other = await createConnection({ uri: fresh.url });
      await other.query("DELETE FROM rowlock_migration");
      await other.query("BEGIN");
      await other.query("SELECT id FROM rowlock_migration_turn FOR UPDATE");
      return other;
    }

    test("wait for one that takes a while, log it, and give up in time", async () => {
      const other = await slowOther();
      const logged: string[] = [];
      const waiting = migrate({ log: (message) => logged.push(message), lockWaitMs: 1 });
      await expect(waiting).rejects.toMatchObject({ kind: "unavailable", reason: "migration_locked" });
      expect(logged).toEqual([expect.stringContaining("Waiting for another server")]);
      await other.end();
      expect(await migrateUp(fresh.url)).toEqual(NAMES);
    });

    test("end the wait when the other server is done", async () => {
      const other = await slowOther();
      const logged = Promise.withResolvers<void>();
      const waiting = migrate({ log: () => logged.resolve() });
      await logged.promise;
      for (const name of NAMES) await run(`INSERT INTO rowlock_migration (name) VALUES ('${name}')`);
      await other.end();
      expect(await waiting).toEqual([]);
    });

    test("go on after a cut-off", async () => {
      await migrateUp(fresh.url);
      await run(
        "DROP VIEW rowlock_queue",
        "DROP TABLE rowlock_meta, rowlock_replica, rowlock_record",
        "DELETE FROM rowlock_migration",
      );
      expect(await migrateUp(fresh.url)).toEqual(NAMES);
      await (await openStore(fresh.url)).close();
    });

    test("change nothing in a database of a trial version, and say what to do", async () => {
      await run(
        "CREATE TABLE rowlock_migration (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(255))",
        "INSERT INTO rowlock_migration (name) VALUES ('0001-locks-and-claims')",
        "CREATE TABLE rowlock_meta (id INT PRIMARY KEY)",
        "CREATE TABLE rowlock_replica (id INT PRIMARY KEY)",
      );
      expect(await migrationStatus(fresh.url)).toMatchObject({ isOfTrial: true, pending: NAMES });
      await expect(migrateUp(fresh.url)).rejects.toMatchObject({
        reason: "schema",
        message: expect.stringContaining("create another database"),
      });
      await expect(run("SELECT 1 FROM rowlock_lock")).rejects.toThrow("doesn't exist");
    });

    test("of a newer server are recognised", async () => {
      await migrateUp(fresh.url);
      await run("INSERT INTO rowlock_migration (name) VALUES ('9999-of-the-future')");
      expect((await migrationStatus(fresh.url)).unknown).toEqual(["9999-of-the-future"]);
      expect(await migrateUp(fresh.url)).toEqual([]);
    });

    test("without the right password do not mention it", async () => {
      const wrong = new URL(fresh.url);
      wrong.password = "s3cret-and-wrong";
      const refused = await refusal(migrateUp(wrong.href));
      expect(`${refused.stack}${JSON.stringify(refused)}`).not.toContain("s3cret");
    });

    test("of a server that cannot be reached name it", async () => {
      const unreachable = migrate({}, { host: "127.0.0.1", port: 1 });
      await expect(unreachable).rejects.toMatchObject({ name: "StoreError", kind: "unavailable" });
      await expect(unreachable).rejects.toThrow("127.0.0.1:1");
    });
  });
}
