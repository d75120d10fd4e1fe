// Opens the store that a database URL names. The only place that knows both kinds.

import { parseDatabaseUrl } from "./database-url.ts";
import { openSqliteStore, sqliteDurability } from "./sqlite/sqlite-store.ts";
import type { Finding, Store, StoreObserver } from "./store.ts";

export interface OpenOptions {
  readonly observer?: StoreObserver;
  /** Connections to a database server at the most, and transactions there at once. SQLite has one of each. */
  readonly poolSize?: number;
  readonly lanes?: number;
}

/**
 * Opens the store at `url`: `mysql://user:password@host:port/database`, `sqlite:path` or `sqlite::memory:`. The schema
 * must be up to date. Throws an Error that says what is accepted for a URL that cannot be read, and a StoreError for a
 * database that cannot be used; no message holds the password.
 */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") {
    const { observer } = options;
    return await openSqliteStore({ path: target.path, ...(observer ? { observer } : {}) });
  }
  // The driver takes a while to load, which a server on SQLite need not wait for.
  const { openMysqlStore } = await import("./mysql/mysql-store.ts");
  return await openMysqlStore({ ...target, ...options });
}

/**
 * What the settings of the database at `url` could lose; its schema need not be there, and nothing is changed. Throws what
 * openStore does.
 */
export async function durabilityOf(url: string): Promise<Finding[]> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") return sqliteDurability(target.path);
  const { mysqlDurability } = await import("./mysql/mysql-store.ts");
  return await mysqlDurability(target);
}
