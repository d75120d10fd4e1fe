// The databases of a run: a private server of the MySQL family, MariaDB if there is a choice, or SQLite files if
// there is neither.

import { type FreshDatabase, freshDatabase, freshSqlite } from "../../support/fresh-database.ts";
import { chosenDatabases } from "../../support/mysql-family/chosen-databases.ts";
import { findServers } from "../../support/mysql-family/find-servers.ts";

export interface Databases {
  readonly kind: "mysql" | "sqlite";
  /** The product name with its version. */
  readonly label: string;
  fresh(): Promise<FreshDatabase>;
  stop(): Promise<void>;
}

export const SQLITE: Databases = {
  kind: "sqlite",
  label: "SQLite",
  fresh: freshSqlite,
  stop: async () => {},
};

/** Throws if ROWLOCK_TEST_DATABASES names a database that is not available. */
export async function openDatabases(env: NodeJS.ProcessEnv): Promise<Databases> {
  const chosen = chosenDatabases(env.ROWLOCK_TEST_DATABASES);
  if (chosen.flavours.size === 0) return SQLITE;
  const flavour = chosen.flavours.has("mariadb") ? "mariadb" : "mysql";
  try {
    const [running] = await findServers({ ...chosen, flavours: new Set([flavour]), byName: true }, env);
    if (!running) throw new Error(`no ${flavour}`);
    const { server } = running;
    return {
      kind: "mysql",
      label: `${server.flavour === "mariadb" ? "MariaDB" : "MySQL"} ${server.version}`,
      fresh: () => freshDatabase(server),
      stop: () => running.stop(),
    };
  } catch (error) {
    if (chosen.byName) throw error;
    console.error(`on SQLite, as there is no MySQL or MariaDB: ${(error as Error).message}`);
    return SQLITE;
  }
}
