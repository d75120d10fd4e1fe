// A separate database for each test file, on every kind of database that this run uses.

import { inject, test } from "vitest";
import { type FreshDatabase, freshDatabase, freshSqlite } from "./fresh-database.ts";
import type { FoundServer } from "./mysql-family/found-server.ts";

export { type FreshDatabase, freshDatabase, freshSqlite } from "./fresh-database.ts";
export type { FoundServer } from "./mysql-family/found-server.ts";

/** A kind of database that this run uses. */
export interface TestDatabase {
  readonly kind: "sqlite" | "mysql" | "mariadb";
  /** For titles of tests: "sqlite", "mysql 9.7.0". */
  readonly label: string;
  /** The server, for tests that need more than a database on it; undefined for SQLite. */
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
 * Reports in the test results that ROWLOCK_TEST_DATABASES leaves out what this file tests. A run that needs a server
 * and finds none has already failed before this.
 */
export function reportLeftOut(servers: readonly unknown[]): void {
  if (servers.length === 0) test.skip("on a server that ROWLOCK_TEST_DATABASES leaves out");
}

/** The test databases that are servers. */
export function testServers(): (TestDatabase & { readonly server: FoundServer })[] {
  return testDatabases().filter((database) => database.server !== undefined) as ReturnType<
    typeof testServers
  >;
}
