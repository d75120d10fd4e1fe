// Translates SQLite's errors into StoreErrors. The only file that knows its result codes.

import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "../store.ts";

// Primary result codes, https://sqlite.org/rescode.html; an extended code contains its primary code in the low byte.
const BUSY = 5;
const LOCKED = 6;
export const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;
const CONSTRAINT_PRIMARYKEY = 1555;

/**
 * Returns the StoreError for an error of SQLite; any other error, and one that only a bug can cause, as it is.
 * `committing`: COMMIT failed, and after a failed write of the log it is unknown what a later recovery will find in it.
 */
export function sqliteError(error: unknown, file: string, committing = false): unknown {
  const code = resultCode(error);
  if (code === null) return error;
  if (code === CONSTRAINT_PRIMARYKEY && (error as Error).message.includes("rowlock_request")) {
    const message = "Another claim with the same request id was committed first.";
    return new StoreError("transient", "duplicate_request", message, { cause: error });
  }
  const unavailable = (reason: string, message: string) =>
    new StoreError("unavailable", reason, message, { cause: error });
  switch (code & 0xff) {
    case BUSY:
    case LOCKED:
      return unavailable(
        "in_use",
        `The database file ${file} is in use by another process, most likely another rowlock server. ` +
          "A SQLite file serves one server at a time: stop the other one, or give each its own file, " +
          "or use MySQL or MariaDB for several servers.",
      );
    case READONLY:
      return unavailable(
        "read_only",
        `The database file ${file} cannot be written. Check the permissions of the file, of its folder and of the disk.`,
      );
    case FULL:
      return unavailable("full", `The disk of the database file ${file} is full.`);
    case CORRUPT:
    case NOTADB:
      return unavailable(
        "corrupt",
        `The database file ${file} is damaged or is not a SQLite database. Restore it from a backup, or move it to another folder.`,
      );
    case CANTOPEN:
      return unavailable("cannot_open", `The database file ${file} cannot be opened: ${whyNotOpened(file)}.`);
    case IOERR:
      if (committing) {
        const message = `Writing to the database file ${file} failed while committing.`;
        return new StoreError("unknown_outcome", "io_error", message, { cause: error });
      }
      return unavailable("io_error", `Reading or writing the database file ${file} failed.`);
    default:
      return error;
  }
}

function whyNotOpened(file: string): string {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return "it is a folder; name a file in it";
  if (!existsSync(dirname(file))) return "its folder does not exist";
  return "check that this user may write the file and its folder";
}

function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error)) return null;
  return typeof error.errcode === "number" ? error.errcode : null;
}
