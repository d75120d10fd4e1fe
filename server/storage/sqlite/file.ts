// Opens the SQLite file: durable on every commit, and for this process alone. Knows nothing of what is in it.

import { accessSync, closeSync, constants, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { IN_MEMORY } from "../database-url.ts";
import { READONLY, sqliteError } from "./errors.ts";

/**
 * Opens or creates the file and locks it until the handle is closed. Throws a StoreError, `in_use` if another process
 * or another handle of this one has it.
 */
export function openSqliteFile(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (path !== IN_MEMORY) makePrivate(path);
    // No time-out: the lock is held for as long as the other server runs, so waiting for it only delays the message.
    database = new DatabaseSync(path, { readBigInts: true, timeout: 0 });
    // In exclusive mode before the first access: the write-ahead log then needs no shared memory, and the lock is
    // taken at that access and never given back.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec("BEGIN IMMEDIATE; COMMIT");
    return database;
  } catch (error) {
    database?.close();
    throw sqliteError(isReadOnly(path) ? new ReadOnlyDisk(error) : error, path);
  }
}

/** With the result code that SQLite would have for it, had it not failed at its log before. */
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

/** Ids of leases in the file are secrets, so a new file is for its owner only. SQLite gives its log the same mode. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // It is there already, or it cannot be made, which SQLite is about to find out and to say in its own words.
  }
}
