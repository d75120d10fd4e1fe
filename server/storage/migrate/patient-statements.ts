// Statements of a migration, on tables that others use. A change of a table waits for all transactions that have read it,
// and everybody else then waits behind the change. So each attempt waits for a second at most, and the servers decide
// between attempts. Says for whom it waits, as far as the database says: perhaps for a report or a forgotten transaction.

import type { Knex } from "knex";
import { classify } from "../mysql/connection/errors.ts";
import type { ConnectionLimits } from "../mysql/connection/session.ts";
import { retry } from "../retry.ts";
import { textOf } from "../rows/from-rows.ts";
import { ROW_LOCKED, StoreError } from "../store.ts";

/** StoreError.reason if others used a table for too long. */
export const TABLE_IN_USE = "table_in_use";

/** In all: long enough for a short report or the migrations of another server, and not for a backup. */
const WAIT_MS = 30_000;
/** How long one attempt waits for a table, and for a row. The statements themselves may take long. */
export const ATTEMPT_LIMITS: ConnectionLimits = {
  silentS: 28_800,
  rowLockS: 5,
  statementS: null,
  tableLockS: 1,
};
const PAUSE_MS = 1_000;
/** When a waiting attempt asks who is in the way. Only they still use the table then, because all others wait behind it. */
const LOOK_AFTER_MS = 500;
const LOG_EVERY_MS = 5_000;
const USERS_MAX = 3;
const STATEMENT_LENGTH_MAX = 80;

/** How long a migration waits for others. Unset times: WAIT_MS. */
export interface MigratePatience {
  /** Called with a message while it waits, at most every LOG_EVERY_MS. */
  readonly log?: (message: string) => void;
  readonly lockWaitMs?: number;
  readonly tableWaitMs?: number;
}

export interface MigratingConnections {
  readonly knex: Knex;
  readonly ids: ReadonlySet<number>;
  /** To be called before each statement that changes the schema. */
  keepTurn(): Promise<void>;
}

/** What `repeatPatiently` waits for, and what it says. `waitedS`: for how long so far. */
interface Obstacle {
  readonly waitMs?: number | undefined;
  readonly pauseMs: number;
  isInTheWay(error: unknown): error is unknown;
  log(waitedS: number): void;
  /** The error when it gives up. `log` logs once more. */
  givenUp(waitedS: number, cause: unknown, log: () => void): StoreError;
}

/** Repeats `attempt` while others are in its way. Throws its error, or `givenUp`. */
export async function repeatPatiently<Answer>(
  { waitMs = WAIT_MS, pauseMs, isInTheWay, log, givenUp }: Obstacle,
  attempt: (waitedS: number) => Promise<Answer>,
): Promise<Answer> {
  const startedMs = performance.now();
  let loggedMs = Number.NEGATIVE_INFINITY;
  const waitedS = () => Math.floor((performance.now() - startedMs) / 1_000);
  const logSometimes = () => {
    if (performance.now() - loggedMs < LOG_EVERY_MS) return;
    loggedMs = performance.now();
    log(waitedS());
  };
  return await retry(
    {
      attempts: Number.POSITIVE_INFINITY,
      longestMs: waitMs,
      pauseMs: () => pauseMs,
      isWorthIt: isInTheWay,
    },
    () => attempt(waitedS()),
    logSometimes,
    (error) => (isInTheWay(error) ? givenUp(waitedS(), error, logSometimes) : error),
  );
}

/**
 * Runs the statement, again and again while others use its table. Throws what the database says, or a StoreError,
 * `table_in_use`, which names them. The statement must be safe to repeat after an attempt that did nothing.
 */
export async function runPatiently(
  { knex, ids, keepTurn }: MigratingConnections,
  statement: string,
  { log = () => {}, tableWaitMs }: MigratePatience,
): Promise<void> {
  let inTheWay = UNKNOWN;
  const waits = (waitedS: number) =>
    `\`${beginningOf(statement)}\` has waited for ${waitedS} s for ${inTheWay}`;
  const obstacle: Obstacle = {
    waitMs: tableWaitMs,
    pauseMs: PAUSE_MS,
    isInTheWay: isInUse,
    log: (waitedS) => log(`The migration goes on when others let it: ${waits(waitedS)}.`),
    givenUp: (waitedS, cause) => {
      const message = `${waits(waitedS)}. End that (KILL and the number of the connection), or wait for its end, then start again.`;
      return new StoreError("unavailable", TABLE_IN_USE, message, { cause });
    },
  };
  await repeatPatiently(obstacle, async (waitedS) => {
    await keepTurn();
    const connection: { readonly threadId: number } = await knex.client.acquireConnection();
    const looking = Promise.withResolvers<string>();
    const timer = setTimeout(() => {
      usersOf(knex, connection.threadId, ids, waitedS).then(looking.resolve, looking.reject);
    }, LOOK_AFTER_MS);
    try {
      await knex.raw(statement).connection(connection);
    } catch (error) {
      if (isInUse(error)) inTheWay = await looking.promise;
      throw error;
    } finally {
      clearTimeout(timer);
      // The statement may have ended while the question was under way; then nobody needs its answer.
      looking.promise.catch(() => {});
      await knex.client.releaseConnection(connection);
    }
  });
}

function isInUse(error: unknown): error is unknown {
  return !(error instanceof StoreError) && classify(error).error.reason === ROW_LOCKED;
}

const UNKNOWN = "somebody whom the database does not name";
const MAY_NOT_SEE =
  "somebody whom the database does not name to this user (GRANT PROCESS ON *.*, on MySQL also SELECT ON performance_schema.*)";

// The last statement of a transaction is there although it may have ended.
const ON_MYSQL = `SELECT DISTINCT u.PROCESSLIST_ID, u.PROCESSLIST_USER, u.PROCESSLIST_HOST,
    TIMESTAMPDIFF(SECOND, x.trx_started, NOW()), s.SQL_TEXT
  FROM performance_schema.threads me
  JOIN performance_schema.metadata_locks w ON w.OWNER_THREAD_ID = me.THREAD_ID AND w.LOCK_STATUS = 'PENDING'
  JOIN performance_schema.metadata_locks g ON g.LOCK_STATUS = 'GRANTED' AND g.OBJECT_TYPE = w.OBJECT_TYPE
    AND g.OBJECT_SCHEMA <=> w.OBJECT_SCHEMA AND g.OBJECT_NAME <=> w.OBJECT_NAME
  JOIN performance_schema.threads u ON u.THREAD_ID = g.OWNER_THREAD_ID AND u.THREAD_ID <> me.THREAD_ID
  LEFT JOIN performance_schema.events_statements_current s ON s.THREAD_ID = u.THREAD_ID
  LEFT JOIN information_schema.INNODB_TRX x ON x.trx_mysql_thread_id = u.PROCESSLIST_ID
  WHERE me.PROCESSLIST_ID = ? ORDER BY 4 DESC LIMIT ${USERS_MAX}`;
// MariaDB does not say who uses a table, but which transactions are older than this wait, and do not wait themselves. Those of
// other databases on the same server are left out: nobody should be asked to end them.
const ON_MARIADB = `SELECT u.ID, u.USER, u.HOST, TIMESTAMPDIFF(SECOND, x.trx_started, NOW()), u.INFO
  FROM information_schema.INNODB_TRX x
  JOIN information_schema.PROCESSLIST u ON u.ID = x.trx_mysql_thread_id
  WHERE u.ID NOT IN (?) AND (u.DB IS NULL OR u.DB = DATABASE()) AND x.trx_started <= NOW() - INTERVAL ? SECOND
    AND COALESCE(u.STATE, '') NOT LIKE 'Waiting for % metadata lock'
  ORDER BY x.trx_started LIMIT ${USERS_MAX}`;

async function usersOf(
  knex: Knex,
  waiting: number,
  ids: ReadonlySet<number>,
  waitedS: number,
): Promise<string> {
  try {
    const [[{ version }]] = await knex.raw("SELECT VERSION() AS version");
    const [rows] = /mariadb/i.test(version)
      ? await knex.raw(ON_MARIADB, [[...ids], waitedS] as never)
      : await knex.raw(ON_MYSQL, [waiting]);
    const users = (rows as Record<string, unknown>[]).map((row) => inWords(Object.values(row)));
    return users.length === 0 ? UNKNOWN : users.join(", and ");
  } catch (error) {
    if (classify(error).error.reason !== "access_denied") throw error;
    return MAY_NOT_SEE;
  }
}

/** A row of ON_MYSQL or ON_MARIADB in words. Its time or its statement may be NULL: unknown, or not shown. */
function inWords([id, user, host, openS, sql]: unknown[]): string {
  const text = (value: unknown) => (value instanceof Uint8Array ? textOf(value) : String(value));
  const since = new Date(Date.now() - Number(openS) * 1_000).toISOString();
  const open = openS === null ? "" : `, whose transaction is open for ${Number(openS)} s, since ${since}`;
  const does = sql === null ? ", and runs nothing now" : `: \`${beginningOf(text(sql))}\``;
  return `connection ${BigInt(String(id))} of ${text(user)}@${text(host)}${open}${does}`;
}

/** The first words of a statement, in one line, without texts that it contains. */
function beginningOf(sql: string): string {
  const line = sql
    .replace(/'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?/g, "'...'")
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= STATEMENT_LENGTH_MAX ? line : `${line.slice(0, STATEMENT_LENGTH_MAX)}...`;
}
