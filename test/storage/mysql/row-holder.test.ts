// Who holds a guard row, asked of real databases; a user without the right is answered with nothing.

import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { migrateUp } from "../../../server/storage/migrate/migrate.ts";
import type { Connection as MysqlConnection } from "../../../server/storage/mysql/connection/connection.ts";
import type { MysqlPool } from "../../../server/storage/mysql/connection/pool.ts";
import { rowHolder } from "../../../server/storage/mysql/row-holder.ts";
import { openStore } from "../../../server/storage/open.ts";
import { type Store, StoreError } from "../../../server/storage/store.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../support/database.ts";
import { load, lockId, planned } from "../../support/store-fixture.ts";

reportLeftOut(mysqlFamily());

test("a question that the end of the store overtakes fails, and does not end the process", async () => {
  const closed = new StoreError("unavailable", "closed", "A test's.");
  const connection = { setsPatience: true, run: async () => [[]] } as unknown as MysqlConnection;
  let uses = 0;
  const pool = {
    connectionIds: [1],
    async use<Answer>(work: (connection: MysqlConnection) => Promise<Answer>) {
      // The second use waits for the row beside the first one.
      if (++uses > 1) throw closed;
      return await work(connection);
    },
  } as unknown as MysqlPool;
  const unhandled: unknown[] = [];
  const listener = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", listener);
  try {
    await expect(rowHolder(pool).rowHolder(1n)).rejects.toBe(closed);
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", listener);
  }
});

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let url: string;
  let drop: () => Promise<void>;
  let store: Store;
  let behind: Connection;
  /** Whether this server keeps the tables that tell who holds a row. */
  let tells = true;

  beforeAll(async () => {
    ({ url, drop } = await freshDatabase(server));
    await migrateUp(url);
    store = await openStore(url);
    behind = await createConnection({ uri: url });
    const [rows] = await behind.query("SELECT @@performance_schema AS is_on");
    tells = server.flavour === "mariadb" || Number((rows as { is_on: unknown }[])[0]?.is_on) === 1;
  });
  afterEach(() => behind.query("ROLLBACK"));
  afterAll(async () => {
    await behind?.end();
    await store?.close();
    await drop?.();
  });

  const hold = async (id: bigint, sql = "SELECT id FROM rowlock_lock WHERE id = ? FOR UPDATE") => {
    await behind.query("START TRANSACTION");
    await behind.query(sql, [id]);
  };

  test("a row that nobody holds has no holder, and the question leaves it free", async () => {
    const id = await lockId(store, "free");
    expect(await store.rowHolder(id)).toBeNull();
    expect((await load(store, { locks: planned(id), impatient: true })).locks.size).toBe(1);
  });

  test("the connection and the user of a transaction that holds the row are found, if the database tells", async () => {
    const id = await lockId(store, "held");
    const other = await lockId(store, "another");
    await hold(id);
    const holder = { connectionId: BigInt(behind.threadId), user: new URL(url).username };
    expect(await store.rowHolder(id)).toEqual(tells ? holder : null);
    expect(await store.rowHolder(other)).toBeNull();
    await behind.query("ROLLBACK");
    await hold(id, "UPDATE rowlock_lock SET decided_at = 7 WHERE id = ?");
    expect(await store.rowHolder(id)).toEqual(tells ? holder : null);
  });

  test("several questions at once are all answered", async () => {
    const id = await lockId(store, "held");
    await hold(id);
    const answers = await Promise.all([id, id, id].map((each) => store.rowHolder(each)));
    expect(answers.map((holder) => holder?.connectionId ?? null)).toEqual(
      [1, 1, 1].map(() => (tells ? BigInt(behind.threadId) : null)),
    );
  });

  test("a user without the right gets no answer and no error, and keeps its connections", async () => {
    const name = `r${Math.random().toString(36).slice(2, 10)}`;
    const database = new URL(url).pathname.slice(1);
    await behind.query(`CREATE USER '${name}'@'%' IDENTIFIED BY 'secret'`);
    await behind.query(`GRANT ALL ON ${database}.* TO '${name}'@'%'`);
    const own = new URL(url);
    [own.username, own.password] = [name, "secret"];
    let closed = 0;
    const observer = {
      statement() {},
      transaction() {},
      connection(event: string) {
        if (event !== "opened") closed += 1;
      },
    };
    const limited = await openStore(own.href, { observer });
    try {
      const id = await lockId(store, "held");
      await hold(id);
      expect(await limited.rowHolder(id)).toBeNull();
      expect(await limited.rowHolder(id)).toBeNull();
      expect(closed).toBe(0);
    } finally {
      await limited.close();
      await behind.query(`DROP USER '${name}'@'%'`);
    }
  });
});
