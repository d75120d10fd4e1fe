// The database as a migration sees it, so that the same list runs on MySQL and on SQLite.

export interface MigrationTarget {
  readonly dialect: "sqlite" | "mysql";
  /** Runs one statement to completion. In SQLite each migration is one transaction; in MySQL there is none. */
  run(statement: string): Promise<void>;
  /**
   * Adds a column. On MySQL, does nothing if the column exists: an interrupted migration or another server may have
   * added it.
   */
  addColumn(table: string, column: string, definition: string): Promise<void>;
}
