// The schema of a database of MySQL or MariaDB, through knex. A row lock ensures that one of several starting servers
// migrates while the others wait. The lock ends with the connection of a server that dies. On Galera, a row that is written
// does the same (cluster-turn.ts). Only this file imports knex.

import knexOf, { type Knex } from "knex";
import type { MigrationTarget } from "../../../migrations/target.ts";
import { describeDatabaseUrl, type MysqlAddress } from "../database-url.ts";
import type { Fleet } from "../fleet.ts";
import { chosenAddress } from "../mysql/connection/chosen-server.ts";
import { openConnection, UNOBSERVED } from "../mysql/connection/connect.ts";
import { classify } from "../mysql/connection/errors.ts";
import { connectTo, logIn, loginOptions, withPassword } from "../mysql/connection/login.ts";
import {
  cannotSet,
  corrections,
  endedAtOnce,
  firstStatements,
  packetMax,
  SESSION_VARIABLES,
} from "../mysql/connection/session.ts";
import { NOW_US } from "../mysql/statements.ts";
import { type RetryPolicy, retry } from "../retry.ts";
import { levelMinFromRow, textOf } from "../rows/from-rows.ts";
import { StoreError } from "../store.ts";
import { ClusterTurn, MAKE_TURN_TABLE, TURN_TABLE, TurnTaken } from "./cluster-turn.ts";
import {
  ATTEMPT_LIMITS as MIGRATING,
  type MigratingConnections,
  runPatiently,
  TABLE_IN_USE,
  type TablePatience,
} from "./patient-statements.ts";
import type { Applied, Schema } from "./schema.ts";

/**
 * How long a server waits for another one that migrates. Our migrations take seconds; a longer one is worth an
 * operator's attention.
 */
const WAIT_MS = 30_000;
const LOG_EVERY_MS = 5_000;
/**
 * How long one attempt waits for the row lock: the shortest wait that the database allows, so that the log soon reports
 * it.
 */
const LOCK_WAIT_S = 1;
/**
 * The database ends an idle connection after this time, which frees the row lock if the migrator's machine has died.
 */
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

export interface MigratePatience extends TablePatience {
  /** How long to wait for another server that migrates; unset: WAIT_MS. */
  readonly lockWaitMs?: number;
}

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
  const accepted = await chosenAddress(address)
    .then(acceptedAddress)
    .catch((error: StoreError) => {
      throw named(error, address, what);
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
    return await use(schemaOf({ knex, ids, turn: new ClusterTurn(knex) }, accepted, patience));
  } catch (error) {
    throw withServer(error, address, what);
  } finally {
    await knex.destroy();
  }
}

/**
 * Returns the address with the password that the database accepts. Knex would not renew a password, nor say what an error of
 * TLS means.
 */
async function acceptedAddress(address: MysqlAddress): Promise<MysqlAddress> {
  return await withPassword(address, async (present) => {
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

/** A connection of the driver. */
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
  packetMax(variables);
  for (const [name, statement] of corrections(variables, MIGRATING))
    await run(statement).catch((error: unknown) => {
      throw cannotSet(name, statement, error);
    });
}

function schemaOf(
  connections: MigratingConnections,
  address: MysqlAddress,
  patience: MigratePatience,
): Schema {
  const { knex } = connections;
  const target = targetOf(connections, patience);
  return {
    applied: () => applied(knex),
    fleet: () => fleetOf(knex),
    inTurn: (work) =>
      inTurn(patience, () => whenOthersDoNot(connections, address, () => prepared(knex, work))),
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

/** Repeats `attempt` while another server migrates, and logs that it waits. */
async function inTurn<Answer>(
  { log = () => {}, lockWaitMs = WAIT_MS }: MigratePatience,
  attempt: () => Promise<Answer>,
): Promise<Answer> {
  const startedMs = performance.now();
  let loggedMs = startedMs - LOG_EVERY_MS;
  const waitedS = () => Math.round((performance.now() - startedMs) / 1_000);
  const logWait = () => {
    if (performance.now() - loggedMs < LOG_EVERY_MS) return;
    loggedMs = performance.now();
    log(`Waiting for another server to migrate the database (${waitedS()} s so far).`);
  };
  const policy: RetryPolicy<unknown> = {
    attempts: Number.POSITIVE_INFINITY,
    longestMs: lockWaitMs,
    pauseMs: () => 250,
    isWorthIt: doesAnotherMigrate,
  };
  try {
    return await retry(policy, attempt, logWait);
  } catch (error) {
    if (!doesAnotherMigrate(error)) throw error;
    logWait();
    const message =
      `Another server is migrating the database, and has not finished within ${waitedS()} s. ` +
      "Wait until it is done, then start again.";
    throw new StoreError("unavailable", "migration_locked", message, { cause: error });
  }
}

/**
 * Runs `work` under the row lock, which lasts as long as its transaction, or on Galera in its turn. Two servers may still
 * migrate at once if a statement of a killed migrator continues in the database. So each statement of a migration can
 * safely run twice.
 */
async function whenOthersDoNot<Answer>(
  { knex, turn }: MigratingConnections,
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

/** Makes the table that records migrations before they run. */
async function prepared<Answer>(knex: Knex, work: () => Promise<Answer>): Promise<Answer> {
  await knex.raw(MAKE_TABLE);
  return await work();
}

/**
 * Checks before it creates, because even a statement with nothing to do would wait for the server that holds the row.
 */
async function makeTurn(knex: Knex): Promise<void> {
  if (!(await knex.schema.hasTable(TURN_TABLE))) await knex.raw(MAKE_TURN_TABLE);
  if ((await knex(TURN_TABLE).select("id")).length === 0) {
    await knex.raw(`INSERT IGNORE INTO ${TURN_TABLE} (id) VALUES (1)`);
  }
}

/**
 * Whether the error means that another server is migrating: its turn, a lock wait time-out, or a deadlock when two nodes
 * of a cluster write the turn at once.
 */
function doesAnotherMigrate(error: unknown): error is unknown {
  if (error instanceof TurnTaken) return true;
  return (
    !(error instanceof StoreError) && ["lock_wait_timeout", "deadlock"].includes(classify(error).error.reason)
  );
}

function targetOf(connections: MigratingConnections, patience: TablePatience): MigrationTarget {
  return {
    dialect: "mysql",
    run: (statement) => runPatiently(connections, statement, patience),
    async addColumn(table, column, definition) {
      try {
        await runPatiently(connections, `ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`, patience);
      } catch (error) {
        if ((error as { errno?: unknown }).errno !== COLUMN_EXISTS) throw error;
      }
    },
  };
}

/** The error as a StoreError that names the database; unchanged if the store does not know its meaning. */
function withServer(error: unknown, address: MysqlAddress, what: string): unknown {
  if (error instanceof StoreError) return error.reason === TABLE_IN_USE ? named(error, address, what) : error;
  const known = classify(error).error;
  if (known.reason === "unexpected") return error;
  return named(known, address, what);
}

function named(
  { kind, reason, message, cause }: StoreError,
  address: MysqlAddress,
  what: string,
): StoreError {
  const database = describeDatabaseUrl({ dialect: "mysql", ...address });
  return new StoreError(kind, reason, `The schema of ${database} cannot ${what}. ${message}`, { cause });
}
