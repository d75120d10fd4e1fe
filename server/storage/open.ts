// Opens the store that a database URL names. The only file that knows both kinds of store.

import { parseDatabaseUrl } from "./database-url.ts";
import { openSqliteStore, sqliteDurability } from "./sqlite/sqlite-store.ts";
import type { Finding, Store, StoreObserver } from "./store.ts";

export interface OpenOptions {
  readonly observer?: StoreObserver;
  /** The most connections to a database server. SQLite always has one. */
  readonly poolSize?: number;
  /** Transactions at once. SQLite always runs one. */
  readonly lanes?: number;
}

/**
 * Opens the store at `url`: `mysql://user:password@host:port/database`, `sqlite:path` or `sqlite::memory:`. The schema
 * must be up to date. Throws an Error that lists the accepted forms if the URL cannot be parsed, and a StoreError if
 * the database cannot be used; no message contains the password.
 */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") {
    const { observer } = options;
    return await openSqliteStore({ path: target.path, ...(observer ? { observer } : {}) });
  }
  // The driver takes a while to load, and a server on SQLite does not need it.
  const { openMysqlStore } = await import("./mysql/mysql-store.ts");
  return await openMysqlStore({ ...target, ...options });
}

/**
 * Reports which settings of the database at `url` could lose acknowledged commits. The schema may be missing, and
 * nothing is changed. Throws what openStore throws.
 */
export async function durabilityOf(url: string): Promise<Finding[]> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") return sqliteDurability(target.path);
  const { mysqlDurability } = await import("./mysql/mysql-store.ts");
  return await mysqlDurability(target);
}
