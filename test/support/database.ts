// A database of its own for each test file, on every kind of database that this run uses.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { inject, test } from "vitest";
import type { FoundServer } from "./mysql-family/found-server.ts";

export type { FoundServer } from "./mysql-family/found-server.ts";

/** An empty database, as ROWLOCK_DATABASE_URL takes it. */
export interface FreshDatabase {
  readonly url: string;
  /** Where several servers are one database: as each of them serves it. */
  readonly nodes?: readonly string[];
  /** Removes it; can be called twice. */
  drop(): Promise<void>;
}

/** A kind of database that this run uses. */
export interface TestDatabase {
  readonly kind: "sqlite" | "mysql" | "mariadb";
  /** For titles of tests: "sqlite", "mysql 9.7.0". */
  readonly label: string;
  /** The server, for tests that need more than a database of it; undefined for SQLite. */
  readonly server: FoundServer | undefined;
  fresh(): Promise<FreshDatabase>;
}

/** The MySQL-family servers of this run; empty when ROWLOCK_TEST_DATABASES leaves them out. */
export const mysqlFamily = (): readonly FoundServer[] => inject("mysqlFamily");

/** Every kind of database of this run: `describe.each(testDatabases())("on $label", ({ fresh }) => ...)`. */
export function testDatabases(): TestDatabase[] {
  const sqlite: TestDatabase[] = inject("sqlite")
    ? [{ kind: "sqlite", label: "sqlite", server: undefined, fresh: freshSqlite }]
    : [];
  const servers = mysqlFamily().map(
    (server): TestDatabase => ({
      kind: server.flavour,
      label: `${server.flavour} ${server.version}`,
      server,
      fresh: () => freshDatabase(server),
    }),
  );
  return [...sqlite, ...servers];
}

/**
 * Says in the report that ROWLOCK_TEST_DATABASES leaves out what a file tests. A run that was not told so, and finds no
 * server, has failed before it comes here.
 */
export function reportLeftOut(servers: readonly unknown[]): void {
  if (servers.length === 0) test.skip("on a server that ROWLOCK_TEST_DATABASES leaves out");
}

/** Those of them that are servers. */
export function testServers(): (TestDatabase & { readonly server: FoundServer })[] {
  return testDatabases().filter((database) => database.server !== undefined) as ReturnType<
    typeof testServers
  >;
}

/** Creates an empty database on `server`, of a name that nobody else has. */
export async function freshDatabase(server: FoundServer): Promise<FreshDatabase> {
  const name = `rowlock_test_${randomBytes(8).toString("hex")}`;
  await administer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `DROP DATABASE IF EXISTS ${name}`) };
}

/** A path for an SQLite file in a directory of its own; the file comes with the first user. */
export async function freshSqlite(): Promise<FreshDatabase> {
  const directory = await mkdtemp(join(tmpdir(), "rowlock-sqlite-"));
  return {
    url: `sqlite:${join(directory, "rowlock.db")}`,
    drop: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Runs one statement as the user that may create databases. */
async function administer(server: FoundServer, statement: string): Promise<void> {
  const connection = await createConnection(server.url);
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}
