// Translates errors of MySQL, MariaDB, Galera and the network into StoreErrors. Only this table knows error codes. It
// uses numbers only, because messages are in the server's language. Never puts SQL, values or a password into a
// message; the cause is attached without its SQL.

import { CHANGED, ROW_LOCKED, StoreError } from "../../store.ts";
import { SECURE_TRANSPORT_REQUIRED, TLS } from "./tls-errors.ts";

interface Meaning {
  readonly reason: string;
  readonly kind: "transient" | "unavailable";
  readonly message: string;
  /** The connection, or the server behind it, must not be used again. */
  readonly reconnect?: true;
  /** If COMMIT fails with this error, the outcome is unknown. */
  readonly openAtCommit?: true;
}

const LOST: Meaning = {
  reason: "connection_lost",
  kind: "transient",
  message: "The connection to the database was lost.",
  reconnect: true,
  openAtCommit: true,
};
const READ_ONLY: Meaning = {
  reason: "read_only",
  kind: "unavailable",
  message: "The database server is read-only: it is a replica, or a switch-over is in progress.",
  reconnect: true,
};
const CLUSTER: Meaning = {
  reason: "cluster_not_ready",
  kind: "unavailable",
  message: "The database node is not part of the cluster's majority.",
  reconnect: true,
  openAtCommit: true,
};
const FULL: Meaning = {
  reason: "full",
  kind: "unavailable",
  message: "The database server has no room left on its disk or in its tables.",
};
const SCHEMA: Meaning = {
  reason: "schema",
  kind: "unavailable",
  message:
    "The database lacks tables or columns that this server needs: run `rowlock migrate up`. If that finds nothing to do, " +
    "only a part of a backup is there: restore it again.",
  reconnect: true,
};
const NO_DATABASE: Meaning = {
  reason: "no_database",
  kind: "unavailable",
  message:
    "The database server has no database of that name: create it (CREATE DATABASE), or correct the name in " +
    "ROWLOCK_DATABASE_URL.",
  reconnect: true,
};
/** StoreError.reason if the user lacks a right. */
export const ACCESS_DENIED = "access_denied";
const ACCESS: Meaning = {
  reason: ACCESS_DENIED,
  kind: "unavailable",
  message:
    "The database denies access to this user: check the user, its password and its privileges on the database.",
  reconnect: true,
};
const TLS_REQUIRED: Meaning = {
  reason: TLS,
  kind: "unavailable",
  message: SECURE_TRANSPORT_REQUIRED,
  reconnect: true,
};
const BINLOG: Meaning = {
  reason: "binlog_format",
  kind: "unavailable",
  message:
    "binlog_format is STATEMENT, which does not support writes at READ COMMITTED: set it to ROW or MIXED.",
};
const BUSY: Meaning = {
  reason: "too_many_connections",
  kind: "unavailable",
  message: "The database server accepts no more connections.",
  reconnect: true,
};
const DEADLOCK: Meaning = {
  reason: "deadlock",
  kind: "transient",
  message: "The database rolled this transaction back to resolve a deadlock or a conflict between nodes.",
};
const LOCK_WAIT: Meaning = {
  reason: ROW_LOCKED,
  kind: "transient",
  message: "Another transaction holds a row lock that this one needs.",
};
const STATEMENT_TIMEOUT: Meaning = {
  reason: "timeout",
  kind: "unavailable",
  message: "The database took too long to answer.",
  reconnect: true,
  openAtCommit: true,
};
/**
 * Raised only by our own statements that insert NULL on purpose to make a transaction fail: those in
 * storage/mysql/transaction/assertions.ts.
 */
const CHANGED_MEANWHILE: Meaning = {
  reason: CHANGED,
  kind: "transient",
  message: "Rows that this decision relied on have changed, or its transaction was no longer open.",
};
/** storage/mysql/transaction/write.ts makes sure that the duplicate key is the request id and not another key. */
const DUPLICATE_REQUEST: Meaning = {
  reason: "duplicate_request",
  kind: "transient",
  message: "Another claim with the same request id was committed first.",
};

const ROW_CHANGED: Meaning = {
  ...DEADLOCK,
  reason: "row_changed",
  message: "A row changed after this transaction had read it.",
};
const COMMIT_FAILED: Meaning = {
  ...LOST,
  reason: "commit_failed",
  message: "The database could not say whether it committed.",
};
const SHUTTING_DOWN: Meaning = {
  ...LOST,
  reason: "shutting_down",
  kind: "unavailable",
  message: "The database server is shutting down.",
};

/** Meanings by the server's error numbers. */
const BY_NUMBER = mapOf<number>(
  [DEADLOCK, 1213, 3101],
  [ROW_CHANGED, 1020],
  // 1690 is raised only by addRowLocks in storage/mysql/transaction/row-locks.ts.
  [LOCK_WAIT, 1205, 3572, 1690],
  [CHANGED_MEANWHILE, 1048],
  [DUPLICATE_REQUEST, 1062],
  [COMMIT_FAILED, 1180],
  [LOST, 1927, 4031, 1184, 1317, 1158, 1159, 1160, 1161],
  [SHUTTING_DOWN, 1053],
  [CLUSTER, 1047],
  [{ ...CLUSTER, kind: "transient" }, 3100],
  [READ_ONLY, 1290, 1792, 1836, 1874],
  [FULL, 3, 1021, 1026, 1114],
  [BINLOG, 1665],
  [NO_DATABASE, 1049],
  [SCHEMA, 1054, 1109, 1146],
  // The last four: the password has expired, or the account is locked.
  [ACCESS, 1044, 1045, 1142, 1143, 1227, 1698, 1820, 1862, 3118, 4151],
  [TLS_REQUIRED, 3159],
  [BUSY, 1040, 1203, 1226, 1129],
  [STATEMENT_TIMEOUT, 1969, 3024],
);

/** Meanings by the codes that Node or the driver gives to network errors. */
const BY_CODE = mapOf<string>(
  [LOST, "PROTOCOL_CONNECTION_LOST", "PROTOCOL_UNEXPECTED_PACKET", "PROTOCOL_SEQUENCE_TIMEOUT"],
  [LOST, "ECONNRESET", "ECONNABORTED", "EPIPE", "ERR_SOCKET_CLOSED"],
  [LOST, "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"],
  [unreachable("nothing listens at its address and port"), "ECONNREFUSED"],
  [unreachable("there is no route to its address"), "EHOSTUNREACH", "ENETUNREACH"],
  [unreachable("the network is down"), "ENETDOWN"],
  [unreachable("its host name does not exist"), "ENOTFOUND"],
  [unreachable("its host name cannot be resolved now"), "EAI_AGAIN"],
  [unreachable("its address does not answer"), "ETIMEDOUT"],
  [unreachable("there is no socket at this path"), "ENOENT", "ENOTSOCK"],
  [unreachable("the account that runs Rowlock may not open its socket"), "EACCES"],
  [STATEMENT_TIMEOUT, "ROWLOCK_DEADLINE"],
);

function mapOf<Key>(...meanings: readonly [Meaning, ...Key[]][]): ReadonlyMap<Key, Meaning> {
  return new Map(meanings.flatMap(([meaning, ...keys]) => keys.map((key) => [key, meaning] as const)));
}

function unreachable(why: string): Meaning {
  return {
    reason: "unreachable",
    kind: "unavailable",
    message: `The database server cannot be reached: ${why}.`,
    reconnect: true,
    openAtCommit: true,
  };
}

const UNEXPECTED: Meaning = {
  reason: "unexpected",
  kind: "unavailable",
  message: "The database answered with an error that this server does not know.",
  reconnect: true,
  openAtCommit: true,
};

/** The error when a deadline of ours passes, with a code that identifies it. */
export function deadlineError(): Error {
  return Object.assign(new Error("The database did not answer in time."), { code: "ROWLOCK_DEADLINE" });
}

/** SQLSTATE classes that only a bug can cause: invalid statements, and invalid values or keys. */
const BUG_STATES = ["21", "22", "23", "42"];

/**
 * Returns the error for a failure that only a bug can cause, so that a retry is useless; null for any other failure.
 */
export function bugOf(cause: unknown): Error | null {
  if (!(cause instanceof Error) || meaningOf(cause) !== UNEXPECTED) return null;
  if (!BUG_STATES.includes(textOf(cause, "sqlState").slice(0, 2))) return null;
  return new Error(`The database refused a statement (error ${numberOf(cause)}).`, {
    cause: withoutSql(cause),
  });
}

/**
 * Returns the StoreError for a driver's error, and whether the connection must not be used again.
 *
 * @param commitSent whether COMMIT had been sent: if so, an error that does not prove a rollback leaves the outcome
 *   unknown.
 */
export function classify(
  cause: unknown,
  commitSent = false,
): { readonly error: StoreError; readonly reconnect: boolean } {
  const meaning = meaningOf(cause);
  const label = labelOf(cause);
  const message = label === null ? meaning.message : `${meaning.message.replace(/\.$/, "")} (${label}).`;
  const kind = commitSent && meaning.openAtCommit ? "unknown_outcome" : meaning.kind;
  const error = new StoreError(kind, meaning.reason, message, { cause: withoutSql(cause) });
  return { error, reconnect: meaning.reconnect ?? false };
}

function meaningOf(cause: unknown): Meaning {
  if (!(cause instanceof Error)) return UNEXPECTED;
  const number = numberOf(cause);
  const known = (number !== null && BY_NUMBER.get(number)) || BY_CODE.get(textOf(cause, "code"));
  if (known) return known;
  if (textOf(cause, "sqlState") === "40001") return DEADLOCK;
  if ("fatal" in cause && cause.fatal === true && number === null) return LOST;
  return UNEXPECTED;
}

/** Returns the server's error number. Node's errors have a negative `errno` of the operating system instead. */
function numberOf(cause: unknown): number | null {
  if (!(cause instanceof Error) || !("errno" in cause)) return null;
  return typeof cause.errno === "number" && cause.errno > 0 ? cause.errno : null;
}

/** Returns the number or code by which an operator can look up the cause, because its message may not be shown. */
function labelOf(cause: unknown): string | null {
  const number = numberOf(cause);
  if (number !== null) return `error ${number}`;
  const code = cause instanceof Error ? textOf(cause, "code") : "";
  return /^E[A-Z_]+$/.test(code) ? code : null;
}

function textOf(cause: Error, property: "code" | "sqlState"): string {
  const value = (cause as Error & { readonly [name in typeof property]?: unknown })[property];
  return typeof value === "string" ? value : "";
}

// The driver attaches the statement to its errors. It contains the ids that allow a client to release a lease, so it
// must not reach a log.
function withoutSql(cause: unknown): unknown {
  if (cause instanceof Error && "sql" in cause) delete cause.sql;
  return cause;
}
