// What a database remembers of a migration that it has had.

export interface Applied {
  readonly name: string;
  /** The latest migration that a server has to know to use the schema after this one. */
  readonly needs: string;
}
