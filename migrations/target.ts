// What a migration is given: the database as far as a migration may know it, so that the same list runs through knex
// on MySQL and by itself on SQLite.

export interface MigrationTarget {
  readonly dialect: "sqlite" | "mysql";
  /** Runs one statement to its end. In SQLite all of a migration is one transaction; in MySQL there is none. */
  run(statement: string): Promise<void>;
  /** Adds a column. Where it is there already, as the migration was cut off or two servers run it at once, does nothing. */
  addColumn(table: string, column: string, definition: string): Promise<void>;
}
