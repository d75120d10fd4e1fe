// The store in an embedded SQLite file, for a single server. Assembled from parts: each file provides the methods of
// its kind. Opens the file and checks its schema.

import type { DatabaseSync } from "node:sqlite";
import { IN_MEMORY } from "../database-url.ts";
import { pendingOf, runPending, sqliteSchema } from "../migrate/schema.ts";
import { coldReads } from "../reads/reads.ts";
import type { Finding, Store } from "../store.ts";
import { StoreError } from "../store.ts";
import { sqliteError } from "./errors.ts";
import { type OpenDatabase, openSqliteFile } from "./file.ts";
import { SqliteHandle, type SqliteOptions } from "./handle.ts";
import { reads } from "./reads.ts";
import { stepsOn } from "./steps.ts";
import { transactOn } from "./transaction.ts";
import { writes } from "./writes.ts";

/**
 * Opens the file for this process alone. Its schema must be up to date; only a database in memory creates its own.
 * Throws a StoreError.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const database = openSqliteFile(options.path);
  try {
    if (options.path === IN_MEMORY) await runPending(sqliteSchema(database));
    await mustHaveSchema(database, options.path);
    return sqliteStore(database, options);
  } catch (error) {
    database.close();
    throw sqliteError(error, options.path);
  }
}

/** Takes ownership of an open database, whose schema must be up to date. */
export function sqliteStore(database: OpenDatabase, options: SqliteOptions): Store {
  const handle = new SqliteHandle(database, options);
  return {
    product: `SQLite ${handle.version}`,
    localHost: null,
    lanes: 1,
    patientSlots: 1,
    readers: 1,
    clock: handle.clock,
    transact: async (plan, decide) => transactOn(handle, plan, decide, options.observer),
    ...checked(handle, {
      ...writes(handle),
      ...reads(handle),
      ...coldReads(stepsOn(handle)),
      // One process has the file to itself.
      rowHolder: async () => null,
    }),
    // The file was opened for writing.
    checkRights: async () => [],
    checkDurability: async () => sqliteDurability(options.path),
    servers: () => [],
    pool: () => ({ open: Number(handle.isOpen), idle: Number(handle.isOpen), waiting: 0 }),
    bounds: () => [],
    close: async () => handle.close(),
  };
}

/** The same methods, each of which first checks that the file is still the one that was opened. */
function checked<Methods extends Record<string, (...values: never[]) => Promise<unknown>>>(
  handle: SqliteHandle,
  methods: Methods,
): Methods {
  const entries = Object.entries(methods).map(([name, method]) => {
    const checkedMethod = async (...values: never[]) => {
      handle.checkFile();
      return await method(...values);
    };
    return [name, checkedMethod];
  });
  return Object.fromEntries(entries) as Methods;
}

/** Returns what a database at this path could lose; it need not exist. */
export function sqliteDurability(path: string): Finding[] {
  if (path !== IN_MEMORY) return [];
  const message = "The database is in memory: everything in it is lost when the server ends.";
  return [{ severity: "warning", check: "durability", message }];
}

/** Checks the list of migrations, because SQLite reports a missing table with the same code as any mistake in SQL. */
async function mustHaveSchema(database: DatabaseSync, path: string): Promise<void> {
  if ((await pendingOf(sqliteSchema(database))).length === 0) return;
  const message = `The database file ${path} lacks some or all rowlock tables: run \`rowlock migrate up\`.`;
  throw new StoreError("unavailable", "schema", message);
}
