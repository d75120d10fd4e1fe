// Brings the schema in MySQL or MariaDB up to date through knex. A row lock ensures that one of several starting
// servers migrates while the others wait. The lock ends with the connection of a server that dies. Only this file
// imports knex.

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

/**
 * How long a server waits for another one that migrates. Our migrations take seconds; a longer one is worth an
 * operator's attention.
 */
const WAIT_MS = 30_000;
const LOG_EVERY_MS = 5_000;
/**
 * The wait of one attempt to get the row lock: the shortest that the database allows, so that the wait is logged early.
 */
const TURN_S = 1;
/**
 * The database ends an idle connection after this time, which frees the row lock if the migrator's machine has died.
 */
const IDLE_S_MAX = 600;
const CONNECT_MS_MAX = 10_000;

const TABLE = "rowlock_migration";
/** Written after knex has recorded the migration. A migration without it needs itself. */
const NEEDS = "VARCHAR(255) NULL";
/** Its single row is the lock. Never changed. */
const TURN_TABLE = "rowlock_migration_turn";
/** Knex's own lock is a value that stays set when its process dies. A server that has the row lock resets it. */
const KNEX_LOCK_TABLE = "rowlock_migration_lock";

/** Error number: the table already has a column of this name. */
const COLUMN_EXISTS = 1060;

// The tables that knex would create, but safe if two servers create them at once: knex checks first and creates
// afterwards, and two servers would create two rows for its lock.
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
  /** Called with a message while the wait is long enough for a person to wonder, at most every LOG_EVERY_MS. */
  readonly log?: (message: string) => void;
  /** How long to wait for another server that migrates; unset: WAIT_MS. */
  readonly lockWaitMs?: number;
}

/**
 * Runs the pending migrations; returns the names of those that it ran, none if another server was first. Safe to
 * repeat. Throws a StoreError, `migration_locked` if another server migrates for too long.
 */
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

/** Returns the migrations that the database has had, in order. Changes nothing. */
export async function appliedToMysql(address: MysqlAddress): Promise<Applied[]> {
  return withKnex(address, "be looked at", applied);
}

/**
 * Checks before it creates, because even a statement with nothing to do would wait for the server that holds the row.
 */
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
 * Runs the pending migrations under the row lock, which lasts as long as its transaction. Two servers may still migrate
 * at once: if a statement of a killed migrator continues in the database, or on two nodes of Galera, where row locks
 * are local to a node. So each statement of a migration can safely run twice, and a cluster runs all of them in one
 * order.
 */
async function migrateInTurn(knex: Knex, address: MysqlAddress): Promise<string[]> {
  if (pendingAfter(await applied(knex)).length === 0) return [];
  // `openSession` refuses a node that fell out of its cluster. A change there would keep the node from rejoining.
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

/** Retries until this server gets the row lock. */
const IN_TURN: RetryPolicy<unknown> = {
  attempts: Number.POSITIVE_INFINITY,
  longestMs: WAIT_MS,
  pauseMs: () => 250,
  isWorthIt: isTurnOfAnother,
};

/**
 * A lock wait time-out means that another server is migrating; the other errors occur when two nodes migrate at once.
 */
function isTurnOfAnother(error: unknown): error is unknown {
  if (error instanceof Error && error.name === "MigrationLocked") return true;
  return ["lock_wait_timeout", "deadlock"].includes(classify(error).error.reason);
}

function locked(waitedS: number, cause: unknown): StoreError {
  const message =
    `Another server is migrating the database, and has not finished within ${waitedS} s. ` +
    "Wait until it is done, then start again.";
  return new StoreError("unavailable", "migration_locked", message, { cause });
}

async function applied(knex: Knex): Promise<Applied[]> {
  if (!(await knex.schema.hasTable(TABLE))) return [];
  // All columns, because an older table has no column `needs`.
  const rows: { name: string; needs?: string | null }[] = await knex(TABLE).select("*").orderBy("id");
  // Two nodes that migrated at once have both recorded the migration.
  const byName = new Map(rows.map(({ name, needs }) => [name, { name, needs: needs ?? name }]));
  return [...byName.values()];
}

function pendingAfter(applied: readonly Applied[]): readonly Migration[] {
  return migrations.filter(({ name }) => !applied.some((had) => had.name === name));
}

/** Runs `use` with a knex instance. The error of a failure says that the schema cannot `what`. */
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
    // Knex also throws what it would log, and its log would contain SQL.
    log: silent,
    migrations: {
      tableName: TABLE,
      migrationSource: SOURCE,
      // A newer server's migrations are no error here; `migrationStatus` reports them to the caller.
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
      throw new Error("Migrations cannot be reverted.");
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

/** The error as a StoreError that names the database; unchanged if the store does not know its meaning. */
function withServer(error: unknown, address: MysqlAddress, what: string): unknown {
  if (error instanceof StoreError) return error;
  const known = classify(error).error;
  if (known.reason === "unexpected") return error;
  const database = describeDatabaseUrl({ dialect: "mysql", ...address });
  const message = `The schema of ${database} cannot ${what}. ${known.message}`;
  return new StoreError(known.kind, known.reason, message, { cause: error });
}
