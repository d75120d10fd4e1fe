// The schema of a database of MySQL or MariaDB, through knex. A row lock ensures that one of several starting servers
// migrates while the others wait. The lock ends with the connection of a server that dies. On Galera, a row that is written
// does the same.

import { randomUUID } from "node:crypto";
import knexOf, { type Knex } from "knex";
import type { MigrationTarget } from "../../../migrations/target.ts";
import { describeDatabaseUrl, type MysqlAddress } from "../database-url.ts";
import type { Fleet } from "../fleet.ts";
import { chosenAddress } from "../mysql/connection/chosen-server.ts";
import { openConnection, UNOBSERVED } from "../mysql/connection/connect.ts";
import { classify, reworded } from "../mysql/connection/errors.ts";
import { connectTo, logIn, loginOptions, withPassword } from "../mysql/connection/login.ts";
import {
  correctSession,
  endedAtOnce,
  firstStatements,
  SESSION_VARIABLES,
} from "../mysql/connection/session.ts";
import { NOW_US } from "../mysql/statements.ts";
import { levelMinFromRow, textOf } from "../rows/from-rows.ts";
import { ROW_LOCKED, StoreError } from "../store.ts";
import {
  ATTEMPT_LIMITS as MIGRATING,
  type MigratePatience,
  type MigratingConnections,
  repeatPatiently,
  runPatiently,
  TABLE_IN_USE,
} from "./patient-statements.ts";
import type { Applied, Schema } from "./schema.ts";

/** How long one attempt waits for the row lock: the shortest that the database allows, so that the log soon reports it. */
const LOCK_WAIT_S = 1;
/** Then the database ends an idle connection, which frees the row lock of a migrator whose machine has died. */
const IDLE_S_MAX = 600;
const CONNECT_MS_MAX = 10_000;

const META = "rowlock_meta";
const REGISTER = "rowlock_replica";
const TABLE = "rowlock_migration";
const MAKE_TABLE = `CREATE TABLE IF NOT EXISTS ${TABLE} (
     id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
     name VARCHAR(255),
     migration_time TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP,
     needs VARCHAR(255) NULL
   ) ENGINE=InnoDB`;

/** Error number: the table already has a column of this name. */
const COLUMN_EXISTS = 1060;

// Two nodes of Galera that change the same view at once may block each other, and all that is written, for ever (seen with
// MariaDB 10.11), and row locks are local to a node there. So a migrator writes its name into a row before each statement.
// The nodes agree on who wrote first.

/** Its single row is the turn. Migrators lock it, or on Galera write it. */
const TURN_TABLE = "rowlock_migration_turn";
const MAKE_TURN_TABLE = `CREATE TABLE IF NOT EXISTS ${TURN_TABLE} (
     id INT UNSIGNED NOT NULL PRIMARY KEY,
     taken_by VARCHAR(36) NOT NULL DEFAULT '',
     taken_at DATETIME(6) NOT NULL DEFAULT '1970-01-01'
   ) ENGINE=InnoDB`;

/** Then a silent migrator is gone: while a statement of it takes longer, the cluster commits nothing of others. */
const GONE_AFTER_S = 15;
const WRITE = `UPDATE ${TURN_TABLE} SET taken_by = ?, taken_at = UTC_TIMESTAMP(6)
  WHERE id = 1 AND (taken_by = ? OR taken_at < UTC_TIMESTAMP(6) - INTERVAL ${GONE_AFTER_S} SECOND)`;
const GIVE_BACK = `UPDATE ${TURN_TABLE} SET taken_at = DEFAULT WHERE id = 1 AND taken_by = ?`;

/**
 * Runs `use` with the schema of the database. Throws a StoreError: `migration_locked` if another server migrates for too
 * long; otherwise the reason, with a message that says that the schema cannot `what`.
 */
export async function withMysqlSchema<Answer>(
  address: MysqlAddress,
  what: string,
  use: (schema: Schema) => Promise<Answer>,
  patience: MigratePatience = {},
): Promise<Answer> {
  const database = describeDatabaseUrl({ dialect: "mysql", ...address });
  const named = (error: StoreError) =>
    reworded(error, `The schema of ${database} cannot ${what}. ${error.message}`);
  const accepted = await chosenAddress(address)
    .then(acceptedAddress)
    .catch((error: StoreError) => {
      throw named(error);
    });
  const ids = new Set<number>();
  const silent = { warn() {}, error() {}, debug() {}, deprecate() {} };
  const knex = knexOf({
    client: "mysql2",
    connection: {
      ...loginOptions(accepted, () => connectTo(accepted)),
      connectTimeout: CONNECT_MS_MAX,
    },
    // One connection holds the row lock, and another one migrates: a schema statement would end the lock's transaction. The
    // third one finds out who is in the way.
    pool: {
      min: 0,
      max: 3,
      afterCreate: (connection: DriverConnection, done: (error: unknown, connection: unknown) => void) => {
        ids.add(connection.threadId);
        setUp(connection).then(
          () => done(null, connection),
          (error: unknown) => done(error, connection),
        );
      },
    },
    acquireConnectionTimeout: CONNECT_MS_MAX + 1_000,
    // Knex also throws what it would log, and its log would contain SQL.
    log: silent,
  });
  try {
    return await use(schemaOf(knex, ids, accepted, patience));
  } catch (error) {
    throw withServer(error, named);
  } finally {
    await knex.destroy();
  }
}

/** The address with the accepted password. Knex would not renew a password, nor say what an error of TLS means. */
function acceptedAddress(address: MysqlAddress): Promise<MysqlAddress> {
  return withPassword(address, async (present) => {
    const socket = connectTo(present);
    try {
      const driver = await logIn(present, socket, { connectTimeout: CONNECT_MS_MAX });
      driver.end();
      return present;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  });
}

interface DriverConnection {
  readonly threadId: number;
  query(sql: string, done: (error: unknown, rows: unknown) => void): void;
}

/** As the connections of a server are, but for the times. Throws a StoreError that says what this user cannot set. */
async function setUp(connection: DriverConnection): Promise<void> {
  const run = (sql: string) =>
    new Promise<unknown>((resolve, reject) => {
      connection.query(sql, (error, rows) => (error ? reject(error) : resolve(rows)));
    });
  for (const statement of firstStatements(MIGRATING))
    await run(statement).catch((error: unknown) => {
      throw classify(error).error.reason === "connection_lost" ? endedAtOnce(error) : error;
    });
  const rows = (await run(
    `SHOW VARIABLES WHERE Variable_name IN ('${SESSION_VARIABLES.join("', '")}')`,
  )) as Record<string, unknown>[];
  const variables = new Map(rows.map((row) => Object.values(row).map(String) as [string, string]));
  await correctSession(variables, MIGRATING, run);
}

function schemaOf(
  knex: Knex,
  ids: ReadonlySet<number>,
  address: MysqlAddress,
  patience: MigratePatience,
): Schema {
  const turn = new ClusterTurn(knex);
  const connections: MigratingConnections = { knex, ids, keepTurn: () => turn.keep() };
  const run = (statement: string) => runPatiently(connections, statement, patience);
  const target: MigrationTarget = {
    dialect: "mysql",
    run,
    async addColumn(table, column, definition) {
      await run(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`).catch((error: unknown) => {
        if ((error as { errno?: unknown }).errno !== COLUMN_EXISTS) throw error;
      });
    },
  };
  return {
    applied: () => applied(knex),
    fleet: () => fleetOf(knex),
    inTurn: (work) =>
      inTurn(patience, () =>
        whenOthersDoNot(knex, turn, address, async () => {
          await knex.raw(MAKE_TABLE);
          return await work();
        }),
      ),
    async run({ name, needs, up }) {
      await up(target);
      await knex(TABLE).insert({ name, needs: needs ?? null });
    },
  };
}

async function applied(knex: Knex): Promise<Applied[]> {
  if (!(await knex.schema.hasTable(TABLE))) return [];
  // All columns, because the table of a trial version may have no column `needs`.
  const rows: { name: string; needs?: string | null }[] = await knex(TABLE).select("*").orderBy("id");
  // Two nodes that migrated at once have both recorded the migration.
  const byName = new Map(rows.map(({ name, needs }) => [name, { name, needs: needs ?? name }]));
  return [...byName.values()];
}

async function fleetOf(knex: Knex): Promise<Fleet> {
  const [hasMeta, hasRegister] = [await knex.schema.hasTable(META), await knex.schema.hasTable(REGISTER)];
  if (!hasMeta || !hasRegister) return { levelMin: levelMinFromRow(undefined), members: [] };
  const [meta] = await knex(META).select("level_min", "level_min_by").where({ id: 1 });
  const alive: Record<string, string | number | bigint | Buffer | null>[] = await knex(REGISTER)
    .select("address", "version", "level", "knows_migration")
    .whereRaw(`deadline > ${NOW_US}`)
    .orderBy("started_at");
  return {
    levelMin: levelMinFromRow(meta && [meta.level_min, meta.level_min_by]),
    members: alive.map(({ address, version, level, knows_migration: knows }) => ({
      address: textOf(address),
      version: textOf(version),
      level: Number(level),
      knows: textOf(knows),
    })),
  };
}

function inTurn<Answer>(
  { log = () => {}, lockWaitMs }: MigratePatience,
  attempt: () => Promise<Answer>,
): Promise<Answer> {
  const obstacle: Parameters<typeof repeatPatiently>[0] = {
    waitMs: lockWaitMs,
    pauseMs: 250,
    isInTheWay: doesAnotherMigrate,
    log: (waitedS) => log(`Waiting for another server to migrate the database (${waitedS} s so far).`),
    givenUp: (waitedS, cause, logAgain) => {
      logAgain();
      const message =
        `Another server is migrating the database, and has not finished within ${waitedS} s. ` +
        "Wait until it is done, then start again.";
      return new StoreError("unavailable", "migration_locked", message, { cause });
    },
  };
  return repeatPatiently(obstacle, attempt);
}

/**
 * Runs `work` under the row lock, which lasts as long as its transaction, or on Galera in its turn. Two servers may still
 * migrate at once if a statement of a killed migrator continues in the database. So each statement of a migration can
 * safely run twice.
 */
async function whenOthersDoNot<Answer>(
  knex: Knex,
  turn: ClusterTurn,
  address: MysqlAddress,
  work: () => Promise<Answer>,
): Promise<Answer> {
  // `openConnection` refuses a node that fell out of its cluster. A change there would keep the node from rejoining.
  const { connection } = await openConnection(address, UNOBSERVED);
  const { mayLag: isGalera } = connection;
  await connection.end();
  await makeTurn(knex);
  if (isGalera) return await turn.during(work);
  return await knex.transaction(async (lock) => {
    await lock.raw(`SET SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_S}, wait_timeout = ${IDLE_S_MAX}`);
    await lock(TURN_TABLE).select("id").forUpdate();
    return await work();
  });
}

/** Checks before it creates, because even a statement with nothing to do would wait for the server that holds the row. */
async function makeTurn(knex: Knex): Promise<void> {
  if (!(await knex.schema.hasTable(TURN_TABLE))) await knex.raw(MAKE_TURN_TABLE);
  if ((await knex(TURN_TABLE).select("id")).length === 0) {
    await knex.raw(`INSERT IGNORE INTO ${TURN_TABLE} (id) VALUES (1)`);
  }
}

/** A deadlock: two nodes of a cluster have written the turn at once. */
function doesAnotherMigrate(error: unknown): error is unknown {
  if (error instanceof TurnTaken) return true;
  return !(error instanceof StoreError) && [ROW_LOCKED, "deadlock"].includes(classify(error).error.reason);
}

class TurnTaken extends Error {}

class ClusterTurn {
  readonly #knex: Knex;
  readonly #name = randomUUID();
  #isTaken = false;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** Runs `work` in this migrator's turn. Throws TurnTaken if it is another one's, and later if it no longer is this one's. */
  async during<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    await this.#write();
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#isTaken = false;
      // If the database is away, others wait until this migrator counts as gone.
      await this.#knex.raw(GIVE_BACK, [this.#name]).catch(() => {});
    }
  }

  /** Does nothing where a row lock is the turn. */
  async keep(): Promise<void> {
    if (this.#isTaken) await this.#write();
  }

  async #write(): Promise<void> {
    const [{ affectedRows }] = await this.#knex.raw(WRITE, [this.#name, this.#name]);
    if (affectedRows === 0) throw new TurnTaken();
  }
}

/** The error as a StoreError that names the database; unchanged if it is another one of ours, or has no known meaning. */
function withServer(error: unknown, named: (error: StoreError) => StoreError): unknown {
  if (error instanceof StoreError) return error.reason === TABLE_IN_USE ? named(error) : error;
  const known = classify(error).error;
  return known.reason === "unexpected" ? error : named(known);
}
