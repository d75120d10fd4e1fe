// The set-up of the MySQL store's hazard tests: a separate database with its schema, stores on it, and plain
// connections that do what other servers, operators and accidents do.

import type { RowDataPacket } from "mysql2/promise";
import { createConnection } from "mysql2/promise";
import type { DatabaseUrl } from "../../server/storage/database-url.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openMysqlStore } from "../../server/storage/mysql/mysql-store.ts";
import type { Store, StoreObserver } from "../../server/storage/store.ts";
import { StoreError } from "../../server/storage/store.ts";
import type { FoundServer } from "./database.ts";
import { freshDatabase } from "./database.ts";
import { until } from "./until.ts";

export { until } from "./until.ts";

export const UNOBSERVED: StoreObserver = { statement() {}, transaction() {}, connection() {} };

/** How a server starts that waits for nothing. */
export const START = {
  ...{
    startupTimeoutMs: 0,
    migrate: true,
    weakDurability: false,
    version: "1.2.3",
    poolSize: 3,
    lanes: null,
  },
};

export type MysqlUrl = Extract<DatabaseUrl, { dialect: "mysql" }>;

export interface Stage {
  readonly address: MysqlUrl;
  /** A store that the stage closes. */
  store(options?: Partial<MysqlUrl> & { poolSize?: number; observer?: StoreObserver }): Promise<Store>;
  /** A plain connection that the stage closes. */
  connection(): Promise<PlainConnection>;
  close(): Promise<void>;
}

export interface PlainConnection {
  readonly id: number;
  run(sql: string, values?: readonly unknown[]): Promise<RowDataPacket[]>;
  close(): void;
}

export async function openPlainConnection(url: string): Promise<PlainConnection> {
  const connection = await createConnection({ uri: url, multipleStatements: true });
  return {
    id: connection.threadId,
    run: async (sql, values) => (await connection.query<RowDataPacket[]>(sql, values && [...values]))[0],
    close: () => connection.destroy(),
  };
}

export async function openStage(server: FoundServer): Promise<Stage> {
  const { url, drop } = await freshDatabase(server);
  await migrateUp(url);
  const address = parseDatabaseUrl(url);
  if (address.dialect !== "mysql") throw new Error("The database is not of the MySQL family.");
  const stores: Store[] = [];
  const connections: PlainConnection[] = [];
  return {
    address,
    async store(options = {}) {
      const store = await openMysqlStore({ ...address, poolSize: 4, ...options });
      stores.push(store);
      return store;
    },
    async connection() {
      const connection = await openPlainConnection(url);
      connections.push(connection);
      return connection;
    },
    async close() {
      for (const connection of connections) connection.close();
      await Promise.all(stores.map((store) => store.close()));
      await drop();
    },
  };
}

/** The error that the promise rejects with; fails if it resolves. */
export async function refusal(promise: Promise<unknown>): Promise<StoreError> {
  const error = await promise.then(
    () => new Error("Nothing was refused."),
    (reason: unknown) => reason,
  );
  if (error instanceof StoreError) return error;
  throw error;
}

/**
 * Waits until another connection to this database runs a statement that contains `part`; returns the connection's id.
 */
export async function statementOf(
  connection: PlainConnection,
  database: string,
  part: string,
): Promise<number> {
  let id = 0;
  await until(async () => {
    const [row] = await connection.run(
      "SELECT id FROM information_schema.processlist WHERE db = ? AND id <> ? AND info LIKE ?",
      [database, connection.id, `%${part}%`],
    );
    id = Number(row?.id ?? row?.ID ?? 0);
    return id !== 0;
  });
  return id;
}

/** Ids of the other connections to this database. */
export async function connectionsOf(connection: PlainConnection, database: string): Promise<number[]> {
  const rows = await connection.run(
    "SELECT id AS id FROM information_schema.processlist WHERE db = ? AND id <> ?",
    [database, connection.id],
  );
  return rows.map((row) => Number(row.id));
}

/** The server's clock in microseconds. */
export async function clockUs(connection: PlainConnection): Promise<number> {
  const [row] = await connection.run("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AS now_us");
  return Number(row?.now_us);
}
