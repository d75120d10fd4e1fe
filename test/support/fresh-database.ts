// Databases with unique names, also for code outside the test runner.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import type { FoundServer } from "./mysql-family/found-server.ts";

/** An empty database, with a URL for ROWLOCK_DATABASE_URL. */
export interface FreshDatabase {
  readonly url: string;
  /** If several servers form one database: its URL on each of them. */
  readonly nodes?: readonly string[];
  /** Removes it; can be called twice. */
  drop(): Promise<void>;
}

/** Creates an empty database with a unique name on `server`. */
export async function freshDatabase(server: FoundServer): Promise<FreshDatabase> {
  const name = `rowlock_test_${randomBytes(8).toString("hex")}`;
  await administer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `DROP DATABASE IF EXISTS ${name}`) };
}

/** A path for an SQLite file in a new directory; its first user creates the file. */
export async function freshSqlite(): Promise<FreshDatabase> {
  const directory = await mkdtemp(join(tmpdir(), "rowlock-sqlite-"));
  return {
    url: `sqlite:${join(directory, "rowlock.db")}`,
    drop: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Runs one statement as a user that may create databases. */
async function administer(server: FoundServer, statement: string): Promise<void> {
  const connection = await createConnection(server.url);
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}
