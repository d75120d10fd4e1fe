// Opens the SQLite file: durable on every commit, and locked for this process alone. Also notices that the path leads to
// another file or that another program has changed it: what is committed then is lost with the file, or another server grants
// the same locks in the file that took its place. Knows nothing of its contents. No descriptor of an open file may be opened
// besides: closing it would end the locks that SQLite holds.

import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  openSync,
  realpathSync,
  statfsSync,
  statSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { IN_MEMORY } from "../database-url.ts";
import { CACHE_KIB, LOG_PAGES, OPEN_PAUSE_MS_MAX, OPEN_TRIES_MAX } from "../storage-bounds.ts";
import { StoreError } from "../store.ts";
import { READONLY, sqliteError } from "./errors.ts";

export type OpenDatabase = DatabaseSync & { readonly files?: OpenFiles | null };

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
    // The result code that SQLite would report for a read-only disk if it had not failed earlier, at its log.
    const readOnly =
      isReadOnly(path) &&
      Object.assign(new Error("The disk is read-only.", { cause: error }), { errcode: READONLY });
    throw sqliteError(readOnly || error, path);
  }
}

const isInUse = (error: unknown) => error instanceof StoreError && error.reason === "in_use";

/** Blocks the thread, because a process that opens its database can do nothing else. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}

/** The file has the secret ids of leases, so a new one is readable by its owner only. SQLite gives its log the same mode. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch {
    // The file exists, or cannot be created; SQLite will detect the latter and report it.
  }
}

const FILE_CHANGED = "file_changed";

/**
 * The kinds of file systems, as Linux numbers them, on which only a write changes a file's time, at once: ext, XFS, Btrfs,
 * F2FS, ZFS, tmpfs and overlayfs. Network file systems and those that a virtual machine shares with its host may correct the
 * time later by the other side's clock, and other systems have other numbers; there, only the size shows a change.
 */
const TIMES_OF_WRITES = [0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630];

interface OpenFile {
  readonly path: string;
  readonly isLog: boolean;
  /** As this process saw it last. */
  stats: BigIntStats;
}

/** The database file and its log, while SQLite has them open. */
class OpenFiles {
  readonly #path: string;
  readonly #known: OpenFile[] = [];
  #hasTimesOfWrites = false;
  #fault: string | null = null;

  /** Call before SQLite opens the path, which must lead to a file. */
  constructor(path: string) {
    this.#path = path;
    const stats = this.#look(path);
    if (stats) this.#known.push({ path, isLog: false, stats });
  }

  /** Call when SQLite has opened them. Throws a StoreError if the path led to another file before. */
  opened(): void {
    // SQLite follows links once, when it opens the file, and its log is beside the file itself.
    const log = `${realpathSync(this.#path)}-wal`;
    const stats = this.#look(log);
    this.#mustBeSame();
    if (this.#known.length === 0 || !stats) {
      const message = `${stats ? this.#path : log} was removed while the database file was opened.`;
      throw new StoreError("unavailable", "cannot_open", message);
    }
    this.#known.push({ path: log, isLog: true, stats });
    this.#hasTimesOfWrites = TIMES_OF_WRITES.includes(statfsSync(log).type);
    this.wrote();
  }

  /** Throws a StoreError if a file is not the one that is open, or was changed by another program. */
  check(): void {
    this.#mustBeSame((known, now) => {
      const isLater = this.#hasTimesOfWrites && now.mtimeNs !== known.stats.mtimeNs;
      if (isLater || now.size !== known.stats.size) throw this.#faulty(adviceIfChanged(known.path));
    });
  }

  /** Call after each write of this process. Throws a StoreError if a file is not the one that is open. */
  wrote(): void {
    this.#mustBeSame((known, now) => {
      known.stats = now;
    });
  }

  #mustBeSame(each: (known: OpenFile, now: BigIntStats) => void = () => {}): void {
    // A path that leads back to the same file proves nothing: another server may have used the other one meanwhile.
    if (this.#fault !== null) throw new StoreError("unavailable", FILE_CHANGED, this.#fault);
    for (const known of this.#known) {
      const now = this.#look(known.path);
      if (!now || now.ino !== known.stats.ino || now.dev !== known.stats.dev)
        throw this.#faulty(known.isLog ? adviceWithoutLog(known.path) : adviceIfReplaced(known.path));
      each(known, now);
    }
  }

  #look(path: string): BigIntStats | undefined {
    try {
      return statSync(path, { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const message = `Whether ${path} is still the database file that is open cannot be checked (${code}).`;
      throw new StoreError("unavailable", "io_error", message, { cause: error });
    }
  }

  #faulty(message: string): StoreError {
    this.#fault = message;
    return new StoreError("unavailable", FILE_CHANGED, message);
  }
}

const adviceIfReplaced = (path: string) =>
  `The database file ${path} was removed, moved or replaced while this server used it, so nothing is granted any more: ` +
  "stop this server, put the right file back (a file that was moved, together with its -wal), run " +
  "`rowlock restored` unless it is the same file, and start the server again.";

const adviceWithoutLog = (path: string) =>
  `${path}, the log of the database file, was removed or replaced while this server used it, so nothing is granted any ` +
  "more: stop this server in good order (SIGTERM), which saves what the log had, and start it again.";

const adviceIfChanged = (path: string) =>
  `Another program has changed ${path} while this server used it, so nothing is granted any more: stop this server, ` +
  "restore the database file from a backup and remove the -wal beside it, run `rowlock restored`, and start the server again.";
