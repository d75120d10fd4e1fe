// Brings the schema in MySQL or MariaDB up to date through knex, whose lock row lets one of several servers that start
// at once do it while the others wait. Only this file imports knex.

import { setTimeout as sleep } from "node:timers/promises";
import knexOf, { type Knex } from "knex";
import type { Migration } from "../../migrations/index.ts";
import { migrations } from "../../migrations/index.ts";
import type { MysqlAddress } from "./database-url.ts";
import { classify } from "./mysql-errors.ts";
import {
  MIGRATION_CONNECT_MS_MAX,
  MIGRATION_LOG_EVERY_MS,
  MIGRATION_RETRY_MS,
  MIGRATION_WAIT_MS,
} from "./storage-bounds.ts";
import { StoreError } from "./store.ts";

const TABLE = "rowlock_migration";
const LOCK_TABLE = "rowlock_migration_lock";

// As knex would make them, but safe for several servers that do so at once: it looks first and creates then, and its
// lock would be two rows if two servers had made it.
const MAKE_TABLES = [
  `CREATE TABLE IF NOT EXISTS ${TABLE} (
     id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
     name VARCHAR(255),
     batch INT,
     migration_time TIMESTAMP NULL
   ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS ${LOCK_TABLE} (
     \`index\` INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
     is_locked INT
   ) ENGINE=InnoDB`,
  `INSERT IGNORE INTO ${LOCK_TABLE} (\`index\`, is_locked) VALUES (1, 0)`,
];

export interface MigratePatience {
  /** Is told of each wait that takes long enough for a person to wonder. */
  readonly log?: (message: string) => void;
  readonly lockWaitMs?: number;
}

/** Runs what is pending; the names of those that it ran, none if another server was first. */
export async function migrateMysql(address: MysqlAddress, patience: MigratePatience = {}): Promise<string[]> {
  return withKnex(address, async (knex) => {
    if (pendingAfter(await applied(knex)).length === 0) return [];
    for (const statement of MAKE_TABLES) await knex.raw(statement);
    return await runWhenUnlocked(knex, patience);
  });
}

/** Names of the migrations that the database has had, in order. Changes nothing. */
export async function appliedToMysql(address: MysqlAddress): Promise<string[]> {
  return withKnex(address, applied);
}

/** Takes away the lock that a migrator left behind that died. */
export async function unlockMysql(address: MysqlAddress): Promise<void> {
  await withKnex(address, async (knex) => {
    if (await knex.schema.hasTable(LOCK_TABLE)) await knex(LOCK_TABLE).update({ is_locked: 0 });
  });
}

async function runWhenUnlocked(knex: Knex, patience: MigratePatience): Promise<string[]> {
  const { log = () => {}, lockWaitMs = MIGRATION_WAIT_MS } = patience;
  const startedMs = performance.now();
  let loggedMs = startedMs - MIGRATION_LOG_EVERY_MS;
  for (;;) {
    try {
      const [, names]: [number, string[]] = await knex.migrate.latest();
      return names;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "MigrationLocked") throw error;
      // The other one may have finished, and may have left its lock at the very end.
      if (pendingAfter(await applied(knex)).length === 0) return [];
      const waitedMs = performance.now() - startedMs;
      if (performance.now() - loggedMs >= MIGRATION_LOG_EVERY_MS) {
        loggedMs = performance.now();
        log(`Waiting for another server to migrate the database (${Math.round(waitedMs / 1000)} s so far).`);
      }
      if (waitedMs >= lockWaitMs) throw locked(waitedMs, error);
      await sleep(MIGRATION_RETRY_MS);
    }
  }
}

function locked(waitedMs: number, cause: Error): StoreError {
  const message =
    `The database is locked for a migration, and was so for ${Math.round(waitedMs / 1000)} s. If no other server is ` +
    "migrating it, one died while it did: run `rowlock migrate unlock`, then start again.";
  return new StoreError("unavailable", "migration_locked", message, { cause });
}

async function applied(knex: Knex): Promise<string[]> {
  if (!(await knex.schema.hasTable(TABLE))) return [];
  const rows: { name: string }[] = await knex(TABLE).select("name").orderBy("id");
  return rows.map(({ name }) => name);
}

function pendingAfter(names: readonly string[]): readonly Migration[] {
  return migrations.filter(({ name }) => !names.includes(name));
}

async function withKnex<Answer>(
  address: MysqlAddress,
  use: (knex: Knex) => Promise<Answer>,
): Promise<Answer> {
  const { host, port, user, password, database } = address;
  const silent = { warn() {}, error() {}, debug() {}, deprecate() {} };
  const knex = knexOf({
    client: "mysql2",
    connection: { host, port, user, password, database, connectTimeout: MIGRATION_CONNECT_MS_MAX },
    pool: { min: 0, max: 2 },
    acquireConnectionTimeout: MIGRATION_CONNECT_MS_MAX + 1_000,
    // What it would print, it also throws; and it would print SQL.
    log: silent,
    migrations: {
      tableName: TABLE,
      migrationSource: SOURCE,
      // A newer server's migrations are not an error to migrate up: the caller is told of them.
      disableMigrationsListValidation: true,
    },
  });
  try {
    return await use(knex);
  } catch (error) {
    throw withServer(error, address);
  } finally {
    await knex.destroy();
  }
}

const SOURCE: Knex.MigrationSource<Migration> = {
  getMigrations: async () => [...migrations],
  getMigrationName: ({ name }) => name,
  getMigration: async (migration) => ({
    up: (knex: Knex) =>
      migration.up({ dialect: "mysql", run: async (statement) => void (await knex.raw(statement)) }),
    down: async () => {
      throw new Error("Migrations are not taken back.");
    },
  }),
};

/** In the store's words, with the server that it was, as far as a store has words for it. */
function withServer(error: unknown, { host, port }: MysqlAddress): unknown {
  if (error instanceof StoreError) return error;
  const known = classify(error).error;
  if (known.reason === "unexpected") return error;
  const message = `Migrating the database at ${host}:${port} failed. ${known.message}`;
  return new StoreError(known.kind, known.reason, message, { cause: error });
}
