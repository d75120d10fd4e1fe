// Translates errors of MySQL, MariaDB, Galera and the network into StoreErrors. Only this table knows error codes. It
// uses numbers only, because messages are in the server's language. Never puts SQL, values or a password into a
// message; the cause is attached without its SQL.

import { CHANGED, ROW_LOCKED, StoreError } from "../../store.ts";

export const ACCESS_DENIED = "access_denied";
/** StoreError.reason when this server and the database server do not agree about TLS. */
export const TLS = "tls";

interface Meaning {
  readonly kind: "transient" | "unavailable";
  readonly reason: string;
  readonly message: string;
}

function transient(reason: string, message: string): Meaning {
  return { kind: "transient", reason, message };
}

function unavailable(reason: string, message: string): Meaning {
  return { kind: "unavailable", reason, message };
}

function unreachable(why: string): Meaning {
  return unavailable("unreachable", `The database server cannot be reached: ${why}.`);
}

const LOST = transient("connection_lost", "The connection to the database was lost.");
const COMMIT_FAILED = transient("commit_failed", "The database could not say whether it committed.");
const SHUTTING_DOWN = unavailable("shutting_down", "The database server is shutting down.");
const READ_ONLY = unavailable(
  "read_only",
  "The database server is read-only: it is a replica, or a switch-over is in progress.",
);
const CLUSTER = unavailable("cluster_not_ready", "The database node is not part of the cluster's majority.");
const FULL = unavailable("full", "The database server has no room left on its disk or in its tables.");
const SCHEMA = unavailable(
  "schema",
  "The database lacks tables or columns that this server needs: run `rowlock migrate up`. If that finds nothing to do, " +
    "only a part of a backup is there: restore it again.",
);
const NO_DATABASE = unavailable(
  "no_database",
  "The database server has no database of that name: create it (CREATE DATABASE), or correct the name in " +
    "ROWLOCK_DATABASE_URL.",
);
const ACCESS = unavailable(
  ACCESS_DENIED,
  "The database denies access to this user: check the user, its password and its privileges on the database.",
);
const TLS_REQUIRED = unavailable(
  TLS,
  "The database server accepts connections over TLS only: set ROWLOCK_DATABASE_CA to the file with the authority that " +
    "signed its certificate, or to system if a public one did.",
);
const BINLOG = unavailable(
  "binlog_format",
  "binlog_format is STATEMENT, which does not support writes at READ COMMITTED: set it to ROW or MIXED.",
);
const BUSY = unavailable("too_many_connections", "The database server accepts no more connections.");
const DEADLOCK = transient(
  "deadlock",
  "The database rolled this transaction back to resolve a deadlock or a conflict between nodes.",
);
const ROW_CHANGED = transient("row_changed", "A row changed after this transaction had read it.");
const LOCK_WAIT = transient(ROW_LOCKED, "Another transaction holds a row lock that this one needs.");
const STATEMENT_TIMEOUT = unavailable("timeout", "The database took too long to answer.");
/** Raised only by statements that insert NULL on purpose: those in storage/mysql/transaction/assertions.ts. */
const CHANGED_MEANWHILE = transient(
  CHANGED,
  "Rows that this decision relied on have changed, or its transaction was no longer open.",
);
/** storage/mysql/transaction/write.ts makes sure that the duplicate key is the request id and not another key. */
const DUPLICATE_REQUEST = transient(
  "duplicate_request",
  "Another claim with the same request id was committed first.",
);
const UNEXPECTED = unavailable(
  "unexpected",
  "The database answered with an error that this server does not know.",
);

/** After these the connection may be used again; after others neither it nor the server behind it may be. */
const KEEP = [DEADLOCK, ROW_CHANGED, LOCK_WAIT, CHANGED_MEANWHILE, DUPLICATE_REQUEST, FULL, BINLOG];
/** A COMMIT that fails with one of these has done nothing. With another one, its outcome is unknown. */
const NOT_COMMITTED = [...KEEP, READ_ONLY, SCHEMA, NO_DATABASE, ACCESS, TLS_REQUIRED, BUSY];

const BY_NUMBER = mapOf<number>(
  [DEADLOCK, 1213, 3101],
  [ROW_CHANGED, 1020],
  // 1690 is raised only by addRowLocks in storage/mysql/transaction/transact.ts.
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

/** The error when a deadline of ours passes, with a code that identifies it. */
export function deadlineError(): Error {
  return Object.assign(new Error("The database did not answer in time."), { code: "ROWLOCK_DEADLINE" });
}

/** SQLSTATE classes that only a bug can cause: invalid statements, and invalid values or keys. */
const BUG_STATES = ["21", "22", "23", "42"];

/** Returns the error for a failure that only a bug can cause, so that a retry is useless; null for any other failure. */
export function bugOf(cause: unknown): Error | null {
  if (!(cause instanceof Error) || meaningOf(cause) !== UNEXPECTED) return null;
  if (!BUG_STATES.includes(textOf(cause, "sqlState").slice(0, 2))) return null;
  return new Error(`The database refused a statement (error ${numberOf(cause)}).`, {
    cause: withoutSql(cause),
  });
}

/**
 * Returns the StoreError for a driver's error, and whether the connection must not be used again. Once COMMIT has been
 * sent, an error that does not prove a rollback leaves the outcome unknown.
 */
export function classify(
  cause: unknown,
  commitSent = false,
): { readonly error: StoreError; readonly reconnect: boolean } {
  const meaning = meaningOf(cause);
  const label = labelOf(cause);
  const message = label === null ? meaning.message : `${meaning.message.replace(/\.$/, "")} (${label}).`;
  const kind = commitSent && !NOT_COMMITTED.includes(meaning) ? "unknown_outcome" : meaning.kind;
  const error = new StoreError(kind, meaning.reason, message, { cause: withoutSql(cause) });
  return { error, reconnect: !KEEP.includes(meaning) };
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

/** The same error with another message. */
export function reworded({ kind, reason, cause }: StoreError, message: string): StoreError {
  return new StoreError(kind, reason, message, { cause });
}

// The driver attaches the statement to its errors. It contains the ids that allow a client to release a lease, so it
// must not reach a log.
function withoutSql(cause: unknown): unknown {
  if (cause instanceof Error && "sql" in cause) delete cause.sql;
  return cause;
}
