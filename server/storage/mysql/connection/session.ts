// What every session with a database server relies on, whatever the server's own settings are: those of migrations, of
// doctor and of looks at servers too. Sets it, and says in a sentence what this user cannot set. Sends nothing itself.

import { LOCK_WAIT_S, PACKET_BYTES_MIN } from "../../storage-bounds.ts";
import { StoreError } from "../../store.ts";

/** StoreError.reason if a setting of the server is in the way, and this user may not change it for its sessions. */
const SESSION_SETTINGS = "session_settings";

export interface ConnectionLimits {
  /** The server ends a session that is silent for so long, which frees the row locks of a process that stopped. */
  readonly silentS: number;
  readonly rowLockS: number;
  /** null: none. */
  readonly statementS: number | null;
  /** How long a statement waits for a table that is being changed; null: as the server says, and not less than MDL_S. */
  readonly tableLockS: number | null;
}

/** A replica that was stopped in mid-transaction blocks others no longer than these. */
export const SERVING: ConnectionLimits = {
  silentS: 8,
  rowLockS: LOCK_WAIT_S,
  statementS: 5,
  tableLockS: null,
};

/**
 * Statements that every server knows, to be sent before anything else. READ COMMITTED, so that a read after a row lock
 * sees what was committed before it. Our statements name their indexes (eq_range_index_dive_limit). MariaDB would turn long
 * lists of keys into joins, which lock rows in an order of their own (in_predicate_conversion_threshold).
 */
export function firstStatements({ silentS, rowLockS, statementS, tableLockS }: ConnectionLimits): string[] {
  const statement = statementS ?? 0;
  return [
    // Whatever init_connect has begun, and whatever completion_type says.
    "ROLLBACK AND NO CHAIN NO RELEASE",
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
    `SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1,
  sql_safe_updates = 0, sql_select_limit = 18446744073709551615, max_join_size = 18446744073709551615, sql_big_selects = 1,
  optimizer_switch = 'default',
  wait_timeout = ${silentS}, innodb_lock_wait_timeout = ${rowLockS}, eq_range_index_dive_limit = 1
  ${tableLockS === null ? "" : `, lock_wait_timeout = ${tableLockS}`}
  /*!80000 , max_execution_time = ${statement * 1_000} */
  /*M!100304 , max_statement_time = ${statement}, in_predicate_conversion_threshold = 0 */`,
  ];
}

/** The least time, in seconds, that a statement waits for a table which somebody changes. */
const MDL_S = 5;

/** A setting as SHOW shows it, and the value that it gets if it is not right; null: it is right. */
type Correction = (value: string, all: ReadonlyMap<string, string>) => string | null;

const exactly =
  (wanted: string): Correction =>
  (value) =>
    value === wanted ? null : wanted;
/** 0 means that there is no bound. */
const atLeast =
  (least: number, isZeroNone = false): Correction =>
  (value) =>
    Number(value) >= least || (isZeroNone && value === "0") ? null : String(least);

/** Not every server has each of these, and few users have changed one, so they are set only where they differ. */
const CORRECTIONS: Readonly<Record<string, Correction>> = {
  // COMMIT must neither begin a transaction nor end the session.
  completion_type: (value) => (["NO_CHAIN", "0"].includes(value) ? null : "NO_CHAIN"),
  // Without it, InnoDB may accept a second row with the same name.
  unique_checks: exactly("ON"),
  foreign_key_checks: exactly("ON"),
  sql_auto_is_null: exactly("OFF"),
  sql_log_bin: exactly("ON"),
  // READ COMMITTED cannot be logged by statements.
  binlog_format: (value, all) => (all.get("log_bin") === "ON" && value === "STATEMENT" ? "ROW" : null),
  // Names that are compared only by their beginning are in no order.
  max_sort_length: atLeast(1_024),
  sort_buffer_size: atLeast(262_144),
  // With less, a list of keys becomes a scan that locks every row.
  range_optimizer_max_mem_size: atLeast(8_388_608, true),
  optimizer_max_sel_arg_weight: atLeast(32_000, true),
  join_cache_level: exactly("2"),
  query_cache_type: exactly("OFF"),
  lock_wait_timeout: atLeast(MDL_S),
  net_read_timeout: atLeast(30),
  net_write_timeout: atLeast(60),
  idle_transaction_timeout: exactly("0"),
  idle_readonly_transaction_timeout: exactly("0"),
  idle_write_transaction_timeout: exactly("0"),
};

/** SHOW returns no row for a variable that a server lacks, whereas @@name would fail. */
export const SESSION_VARIABLES = [...Object.keys(CORRECTIONS), "log_bin", "max_allowed_packet"];

/**
 * Sets each of these settings that is not right, which on most servers is none; returns how many bytes the server takes at
 * once. Throws a StoreError if these are fewer than the smallest things that are sent as one, or if a setting stays wrong.
 */
export async function correctSession(
  variables: ReadonlyMap<string, string>,
  { tableLockS }: ConnectionLimits,
  run: (statement: string) => Promise<unknown>,
): Promise<number> {
  const bytes = Number(variables.get("max_allowed_packet") ?? Number.POSITIVE_INFINITY);
  if (bytes < PACKET_BYTES_MIN) {
    throw new StoreError(
      "unavailable",
      SESSION_SETTINGS,
      `The database server takes at most ${bytes} bytes at once (max_allowed_packet), and Rowlock needs ${PACKET_BYTES_MIN}: ` +
        `SET GLOBAL max_allowed_packet = ${16 * PACKET_BYTES_MIN}, and write it into the settings file of the database server.`,
    );
  }
  for (const [name, correct] of Object.entries(CORRECTIONS)) {
    const value = variables.get(name);
    if (value === undefined || (name === "lock_wait_timeout" && tableLockS !== null)) continue;
    const wanted = correct(value, variables);
    if (wanted === null) continue;
    const statement = `SET SESSION ${name} = ${wanted}`;
    await run(statement).catch((error: unknown) => {
      if (error instanceof StoreError && error.kind === "transient") throw error;
      throw cannotSet(name, statement, error instanceof Error ? (error.cause ?? error) : error);
    });
  }
  return bytes;
}

function cannotSet(name: string, statement: string, cause: unknown): StoreError {
  const { errno } = cause as { readonly errno?: number };
  const label = errno === undefined ? "" : ` (error ${errno})`;
  return new StoreError(
    "unavailable",
    SESSION_SETTINGS,
    `The database server's setting of ${name} is in the way, and this user may not change it for its own sessions${label}: ` +
      `run \`${statement.replace("SESSION", "GLOBAL")}\` as an administrator, and write it into the settings file of the database server.`,
    { cause },
  );
}

export function endedAtOnce(cause: unknown): StoreError {
  return new StoreError(
    "unavailable",
    "connection_lost",
    "The database server ended the connection as soon as it had let this user in. It does so if its init_connect fails, and " +
      "while it shuts down: its error log says which.",
    { cause },
  );
}
