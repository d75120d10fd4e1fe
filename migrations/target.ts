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
  /** Adds an index. On MySQL, does nothing if an index of this name exists, for the same reason. */
  addIndex(table: string, index: string, columns: string): Promise<void>;
  hasColumn(table: string, column: string): Promise<boolean>;
}
