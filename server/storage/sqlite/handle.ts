// The open file: its statements, its clock and its transactions. SQLite is synchronous, so each method of the store runs
// from its first statement to its last without interruption by other work of this process. Transactions are therefore
// serial, and reads of several statements are consistent.

import { type Clock, DatabaseClock } from "../../core/database-clock.ts";
import { RecentMap } from "../../core/recent-map.ts";
import { CachedLocks } from "../cached-locks.ts";
import { bigintOf, limitRuleFromRow } from "../rows/from-rows.ts";
import { CACHED_LOCKS_DEFAULT, CLOCK_COARSE_US } from "../storage-bounds.ts";
import { type Loaded, StoreError, type StoreOptions } from "../store.ts";
import type { OpenDatabase } from "./file.ts";
import type { GuardTimes } from "./guard-writes.ts";
import { SqliteStatements } from "./statements.ts";

export interface SqliteOptions extends Pick<StoreOptions, "observer" | "cachedLocks"> {
  /** A file, or `:memory:` for a database that ends with the store. */
  readonly path: string;
  /** The database's clock in microseconds since 1970. Unset: the system clock, in whole milliseconds. */
  readonly clock?: () => number;
}

type Meta = Pick<Loaded, "failOver" | "rulesRevision" | "levelMin" | "limitRules">;

/** Only this process writes the file, so what the handle knows of it is always current. */
export class SqliteHandle {
  readonly clock = new DatabaseClock();
  readonly nowUs: () => number;
  /** The size of the clock's steps in microseconds; a lower bound of the time subtracts it. */
  readonly coarseUs: number;
  readonly statements: SqliteStatements;
  readonly cache: CachedLocks;
  /** Set with what was read, or is written in a transaction; forgotten if that is rolled back. */
  readonly times: GuardTimes;
  readonly #database: OpenDatabase;
  readonly #files: OpenDatabase["files"];
  readonly #options: SqliteOptions;
  #meta: Meta | null = null;
  #ended: number | null = null;

  constructor(database: OpenDatabase, options: SqliteOptions) {
    this.#database = database;
    this.#files = database.files;
    this.#options = options;
    this.cache = new CachedLocks(options.cachedLocks);
    this.times = new RecentMap(options.cachedLocks ?? CACHED_LOCKS_DEFAULT);
    this.nowUs = options.clock ?? (() => Date.now() * 1000);
    this.coarseUs = options.clock ? 0 : CLOCK_COARSE_US;
    this.statements = new SqliteStatements(database, options.path, options.observer);
    options.observer?.connection("opened");
    // Migrations have written since it was opened.
    this.#files?.wrote();
  }

  /** Throws a StoreError if the file is not the one that was opened, or another program has changed it. */
  checkFile(): void {
    // A store that was closed says so itself.
    if (this.isOpen) this.#files?.check();
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  get version(): string {
    return String(this.#database.prepare("SELECT sqlite_version() AS version").get()?.version);
  }

  readClock(): Clock {
    const readUs = performance.now() * 1_000;
    return this.clock.read(this.nowUs(), readUs, readUs, this.coarseUs);
  }

  /** What decisions use of rowlock_meta, and the rules. Read once; code that changes either calls `forgetMeta`. */
  meta(): Meta {
    if (this.#meta) return this.#meta;
    const [rulesRevision, epoch, atUs, grantsFromUs, levelMin] = this.statements.get("meta") ?? [];
    this.#meta = {
      failOver: { epoch: bigintOf(epoch), atUs: Number(atUs), grantsFromUs: Number(grantsFromUs) },
      rulesRevision: bigintOf(rulesRevision),
      levelMin: Number(levelMin),
      limitRules: this.statements.all("rules").map(limitRuleFromRow),
    };
    return this.#meta;
  }

  forgetMeta(): void {
    this.#meta = null;
  }

  /** How many ended claims there are. Counted once. */
  get endedCount(): number {
    this.#ended ??= Number(this.statements.get("count_history")?.[0]);
    return this.#ended;
  }

  /** Call after the commit of a transaction that has added, or (a negative number) deleted ended claims. */
  countEnded(claims: number): void {
    if (this.#ended !== null) this.#ended += claims;
  }

  /** Throws what `run` throws, SQLite's errors, and a StoreError if the file is not the one that was opened. */
  inTransaction<Answer>(run: () => Answer): Answer {
    this.checkFile();
    this.statements.run("begin");
    let answer: Answer;
    try {
      answer = run();
      this.statements.run("commit");
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    try {
      this.#files?.wrote();
    } catch (error) {
      // It was committed, perhaps into a file that nobody will open again.
      const { reason, message } = error as StoreError;
      throw new StoreError("unknown_outcome", reason, message, { cause: error });
    }
    return answer;
  }

  close(): void {
    if (!this.isOpen) return;
    this.#database.close();
    this.#options.observer?.connection("closed");
  }

  #rollBack(): void {
    // `meta` may have read rows that the rollback undoes, and `times` has what was written.
    this.forgetMeta();
    this.times.clear();
    // Some errors have already ended the transaction.
    if (this.#database.isTransaction) this.statements.run("rollback");
    try {
      // A large transaction writes into the log before it is committed.
      this.#files?.wrote();
    } catch (error) {
      // The error that is thrown already matters more, and the next check finds this one again.
      if (!(error instanceof StoreError)) throw error;
    }
  }
}
