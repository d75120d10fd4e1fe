// Opens the store that a database URL names. The only file that knows both kinds of store.

import { type DatabaseLogin, parseDatabaseUrl } from "./database-url.ts";
import { openSqliteStore, sqliteDurability } from "./sqlite/sqlite-store.ts";
import type { Finding, Store, StoreOptions } from "./store.ts";

/**
 * The schema must be up to date. Throws an Error that lists the accepted forms of URLs if this one cannot be parsed,
 * and a StoreError if the database cannot be used; no message contains the password.
 */
export async function openStore(
  url: string,
  options: StoreOptions & { readonly login?: DatabaseLogin | undefined } = {},
): Promise<Store> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") return await openSqliteStore({ ...options, path: target.path });
  // The driver takes a while to load, and a server on SQLite does not need it.
  const { openMysqlStore } = await import("./mysql/mysql-store.ts");
  return await openMysqlStore({ ...target, ...options });
}

/**
 * Which settings of the database could lose acknowledged commits. The schema may be missing, and nothing is changed.
 * Throws what openStore throws.
 */
export async function durabilityOf(url: string, login?: DatabaseLogin): Promise<Finding[]> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") return sqliteDurability(target.path);
  const { mysqlDurability } = await import("./mysql/mysql-store.ts");
  return await mysqlDurability({ ...target, login });
}
