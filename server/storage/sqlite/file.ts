// Opens the SQLite file: durable on every commit, and locked for this process alone. Knows nothing of its contents.

import { accessSync, closeSync, constants, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { IN_MEMORY } from "../database-url.ts";
import { CACHE_KIB, LOG_PAGES, OPEN_PAUSE_MS_MAX, OPEN_TRIES_MAX } from "../storage-bounds.ts";
import { StoreError } from "../store.ts";
import { READONLY, sqliteError } from "./errors.ts";
import { OpenFiles } from "./open-files.ts";

/** An open database, and the files that it is in; none: it is in memory. */
export type OpenDatabase = DatabaseSync & { readonly files?: OpenFiles | null };

/** An open database that knows its files. */
class SqliteFile extends DatabaseSync {
  readonly files: OpenFiles | null;

  constructor(path: string) {
    const files = path === IN_MEMORY ? null : new OpenFiles(path);
    // No time-out: a running server keeps the lock, so a longer wait would only delay the message.
    super(path, { readBigInts: true, timeout: 0 });
    this.files = files;
  }
}

/**
 * Opens or creates the file and locks it until the handle is closed. Throws a StoreError: `in_use` if another process,
 * or another handle of this one, keeps it locked for longer than a few short pauses.
 */
export function openSqliteFile(path: string, pause = block): OpenDatabase {
  for (let tries = 1; ; tries++) {
    try {
      return open(path);
    } catch (error) {
      // Two processes that open a new file at once can each hold the lock that the other one needs.
      if (tries === OPEN_TRIES_MAX || !isInUse(error)) throw error;
      pause(Math.random() * OPEN_PAUSE_MS_MAX);
    }
  }
}

function open(path: string): OpenDatabase {
  let database: SqliteFile | undefined;
  try {
    if (path !== IN_MEMORY) makePrivate(path);
    database = new SqliteFile(path);
    // Exclusive mode before the first access: the write-ahead log then needs no shared memory, and SQLite takes the
    // lock at that access and keeps it.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    // Guard rows, and request ids that do not begin with a time, are in other pages each. With more memory fewer pages are
    // read, and with a longer log a page that is written again and again goes into the file once.
    database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    database.exec("BEGIN IMMEDIATE; COMMIT");
    database.files?.opened();
    return database;
  } catch (error) {
    database?.close();
    throw sqliteError(isReadOnly(path) ? new ReadOnlyDisk(error) : error, path);
  }
}

const isInUse = (error: unknown) => error instanceof StoreError && error.reason === "in_use";

/** Blocks the thread, because a process that opens its database can do nothing else. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Has the result code that SQLite would report for a read-only disk if it had not failed earlier, at its log. */
class ReadOnlyDisk extends Error {
  readonly errcode = READONLY;

  constructor(cause: unknown) {
    super("The disk is read-only.", { cause });
  }
}

function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}

/**
 * The file contains the secret ids of leases, so a new file is readable by its owner only. SQLite gives its log the
 * same mode.
 */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // The file exists, or cannot be created; SQLite will detect the latter and report it.
  }
}
