// Brings the schema in MySQL or MariaDB up to date through knex. A row lock lets one of several servers that start at
// once do it while the others wait; it ends with the connection of whoever dies. Only this file imports knex.

import knexOf, { type Knex } from "knex";
import type { Migration } from "../../../migrations/index.ts";
import { migrations } from "../../../migrations/index.ts";
import type { MigrationTarget } from "../../../migrations/target.ts";
import { describeDatabaseUrl, type MysqlAddress } from "../database-url.ts";
import { openSession, UNOBSERVED } from "../mysql/connection/connect.ts";
import { classify } from "../mysql/connection/errors.ts";
import { type RetryPolicy, retry } from "../retry.ts";
import { StoreError } from "../store.ts";
import type { Applied } from "./applied.ts";

/** How long a server waits for another one that migrates. Ours take seconds; a longer one is worth a person's look. */
const WAIT_MS = 30_000;
const LOG_EVERY_MS = 5_000;
/** For each try to get the row lock; as short as the database can, so that the wait is told of early. */
const TURN_S = 1;
/** After which time the database ends the connection, and with it the lock, of a migrator whose machine has died. */
const IDLE_S_MAX = 600;
const CONNECT_MS_MAX = 10_000;

const TABLE = "rowlock_migration";
/** What a migration needs is noted after knex has noted the migration: until then, and where it is not, it needs itself. */
const NEEDS = "VARCHAR(255) NULL";
/** Its one row is the lock. Never changed. */
const TURN_TABLE = "rowlock_migration_turn";
/** Knex's own lock is a value that stays when its process dies. Whoever has the row lock takes it for free. */
const KNEX_LOCK_TABLE = "rowlock_migration_lock";

/** The database's number of the error that a table has a column of this name. */
const COLUMN_EXISTS = 1060;

// As knex would make them, but safe where two do so at once: it looks first and creates then, and its lock would be two
// rows if two servers had made it.
const MAKE_TABLES = [
  `CREATE TABLE IF NOT EXISTS ${TABLE} (
     id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
     name VARCHAR(255),
     batch INT,
     migration_time TIMESTAMP NULL,
     needs ${NEEDS}
   ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS ${KNEX_LOCK_TABLE} (
     \`index\` INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
     is_locked INT
   ) ENGINE=InnoDB`,
  `INSERT INTO ${KNEX_LOCK_TABLE} (\`index\`, is_locked) VALUES (1, 0) ON DUPLICATE KEY UPDATE is_locked = 0`,
];

export interface MigratePatience {
  /** Is told of each wait that takes long enough for a person to wonder. */
  readonly log?: (message: string) => void;
  readonly lockWaitMs?: number;
}

/** Runs what is pending; the names of those that it ran, none if another server was first. */
export async function migrateMysql(address: MysqlAddress, patience: MigratePatience = {}): Promise<string[]> {
  const { log = () => {}, lockWaitMs = IN_TURN.longestMs } = patience;
  return withKnex(address, "be brought up to date", async (knex) => {
    const startedMs = performance.now();
    let loggedMs = startedMs - LOG_EVERY_MS;
    const waitedS = () => Math.round((performance.now() - startedMs) / 1_000);
    const tell = () => {
      if (performance.now() - loggedMs < LOG_EVERY_MS) return;
      loggedMs = performance.now();
      log(`Waiting for another server to migrate the database (${waitedS()} s so far).`);
    };
    try {
      return await retry({ ...IN_TURN, longestMs: lockWaitMs }, () => migrateInTurn(knex, address), tell);
    } catch (error) {
      if (!isTurnOfAnother(error)) throw error;
      tell();
      throw locked(waitedS(), error);
    }
  });
}

/** The migrations that the database has had, in order. Changes nothing. */
export async function appliedToMysql(address: MysqlAddress): Promise<Applied[]> {
  return withKnex(address, "be looked at", applied);
}

/** Looks before it makes, as even a statement that has nothing to do would wait for whoever holds the row. */
async function makeTurn(knex: Knex): Promise<void> {
  if (!(await knex.schema.hasTable(TURN_TABLE))) {
    await knex.raw(
      `CREATE TABLE IF NOT EXISTS ${TURN_TABLE} (id INT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB`,
    );
  }
  if ((await knex(TURN_TABLE).select("id")).length === 0) {
    await knex.raw(`INSERT IGNORE INTO ${TURN_TABLE} (id) VALUES (1)`);
  }
}

/**
 * Runs what is pending under the row lock, which lasts as long as its transaction. Two may still be at work at once:
 * where a statement of one that was killed goes on in the database, and on two nodes of Galera, whose row locks are
 * their own. So the statements of a migration are such that they can be done twice, and a cluster does them all in one
 * order.
 */
async function migrateInTurn(knex: Knex, address: MysqlAddress): Promise<string[]> {
  if (pendingAfter(await applied(knex)).length === 0) return [];
  // What is changed on a node that fell out of its cluster keeps it from coming back.
  const { session } = await openSession(address, UNOBSERVED);
  await session.end();
  await makeTurn(knex);
  return await knex.transaction(async (turn) => {
    await turn.raw(`SET SESSION innodb_lock_wait_timeout = ${TURN_S}, wait_timeout = ${IDLE_S_MAX}`);
    await turn(TURN_TABLE).select("id").forUpdate();
    if (pendingAfter(await applied(knex)).length === 0) return [];
    for (const statement of MAKE_TABLES) await knex.raw(statement);
    await targetOf(knex).addColumn(TABLE, "needs", NEEDS);
    const [, names]: [number, string[]] = await knex.migrate.latest();
    for (const { name, needs } of migrations) if (needs) await knex(TABLE).where({ name }).update({ needs });
    return names;
  });
}

/** Until it is this server's turn. */
const IN_TURN: RetryPolicy<unknown> = {
  attempts: Number.POSITIVE_INFINITY,
  longestMs: WAIT_MS,
  pauseMs: () => 250,
  isWorthIt: isTurnOfAnother,
};

/** Whoever has the lock here has it for a while; the rest is what comes of two nodes that migrate at once. */
function isTurnOfAnother(error: unknown): error is unknown {
  if (error instanceof Error && error.name === "MigrationLocked") return true;
  return ["lock_wait_timeout", "deadlock"].includes(classify(error).error.reason);
}

function locked(waitedS: number, cause: unknown): StoreError {
  const message =
    `Another server is migrating the database, and was so for ${waitedS} s. ` +
    "Wait until it has done that, then start again.";
  return new StoreError("unavailable", "migration_locked", message, { cause });
}

async function applied(knex: Knex): Promise<Applied[]> {
  if (!(await knex.schema.hasTable(TABLE))) return [];
  // All columns, as an older database has none of what they need.
  const rows: { name: string; needs?: string | null }[] = await knex(TABLE).select("*").orderBy("id");
  // Two nodes that migrated at once have both noted it.
  const byName = new Map(rows.map(({ name, needs }) => [name, { name, needs: needs ?? name }]));
  return [...byName.values()];
}

function pendingAfter(applied: readonly Applied[]): readonly Migration[] {
  return migrations.filter(({ name }) => !applied.some((had) => had.name === name));
}

/** Where it fails, the error says that the schema cannot `what`. */
async function withKnex<Answer>(
  address: MysqlAddress,
  what: string,
  use: (knex: Knex) => Promise<Answer>,
): Promise<Answer> {
  const { host, port, user, password, database } = address;
  const silent = { warn() {}, error() {}, debug() {}, deprecate() {} };
  const knex = knexOf({
    client: "mysql2",
    connection: { host, port, user, password, database, connectTimeout: CONNECT_MS_MAX },
    pool: { min: 0, max: 2 },
    acquireConnectionTimeout: CONNECT_MS_MAX + 1_000,
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
    throw withServer(error, address, what);
  } finally {
    await knex.destroy();
  }
}

const SOURCE: Knex.MigrationSource<Migration> = {
  getMigrations: async () => [...migrations],
  getMigrationName: ({ name }) => name,
  getMigration: async (migration) => ({
    up: (knex: Knex) => migration.up(targetOf(knex)),
    down: async () => {
      throw new Error("Migrations are not taken back.");
    },
  }),
};

function targetOf(knex: Knex): MigrationTarget {
  return {
    dialect: "mysql",
    run: async (statement) => void (await knex.raw(statement)),
    async addColumn(table, column, definition) {
      try {
        await knex.raw(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`);
      } catch (error) {
        if ((error as { errno?: unknown }).errno !== COLUMN_EXISTS) throw error;
      }
    },
  };
}

/** The error in the store's words, with the server that it was; as it is where a store has no words for it. */
function withServer(error: unknown, address: MysqlAddress, what: string): unknown {
  if (error instanceof StoreError) return error;
  const known = classify(error).error;
  if (known.reason === "unexpected") return error;
  const database = describeDatabaseUrl({ dialect: "mysql", ...address });
  const message = `The schema of ${database} cannot ${what}. ${known.message}`;
  return new StoreError(known.kind, known.reason, message, { cause: error });
}
