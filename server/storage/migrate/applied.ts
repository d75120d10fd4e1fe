// What a database stores about a migration that it has had.

export interface Applied {
  readonly name: string;
  /** The latest migration that a server must know to use the schema after this one. */
  readonly needs: string;
}
