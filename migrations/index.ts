// All migrations, in order. Listed by hand, so that they load the same way from source and from a build. There are no
// down migrations: an operator who wants an older schema restores a backup.

import * as tables from "./0001-tables.ts";
import type { MigrationTarget } from "./target.ts";

export interface Migration {
  /** The name that the database stores. Never changes after its release. */
  readonly name: string;
  /**
   * The latest migration that a server must know to use the schema after this one. The database stores it. An earlier
   * migration if this one only adds, or removes what no server that knows the earlier one uses. Unset: this migration
   * itself.
   */
  readonly needs?: string;
  up(target: MigrationTarget): Promise<void>;
}

export const migrations: readonly Migration[] = [{ name: "0001-tables", up: tables.up }];

/** The first migration of the versions from before the first release. Their tables have other keys. */
export const FIRST_OF_TRIAL = "0001-locks-and-claims";
