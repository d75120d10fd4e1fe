// The open file: its statements, its clock and its transactions. SQLite is synchronous, so each method of the store runs
// from its first statement to its last without interruption by other work of this process. Transactions are therefore
// serial, and reads of several statements are consistent.

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../core/database-clock.ts";
import { DatabaseClock } from "../../core/database-clock.ts";
import { KnownLocks } from "../known-locks/known-locks.ts";
import { bigintOf, limitRuleFromRow } from "../rows/from-rows.ts";
import { CLOCK_COARSE_US } from "../storage-bounds.ts";
import type { Loaded, StoreOptions } from "../store.ts";
import { SqliteStatements } from "./statements.ts";

export interface SqliteOptions extends Pick<StoreOptions, "observer" | "knownLocks"> {
  /** A file, or `:memory:` for a database that ends with the store. */
  readonly path: string;
  /** The database's clock in microseconds since 1970. Unset: the system clock, in whole milliseconds. */
  readonly clock?: () => number;
}

type Meta = Pick<Loaded, "failOver" | "rulesRevision" | "levelMin" | "limitRules">;

export class SqliteHandle {
  readonly clock = new DatabaseClock();
  readonly nowUs: () => number;
  /** The size of the clock's steps in microseconds; a lower bound of the time subtracts it. */
  readonly coarseUs: number;
  readonly statements: SqliteStatements;
  /** Always current, because only this process writes the file. */
  readonly known: KnownLocks;
  readonly #database: DatabaseSync;
  readonly #options: SqliteOptions;
  #meta: Meta | null = null;
  #ended: number | null = null;

  /** Takes ownership of an open database. */
  constructor(database: DatabaseSync, options: SqliteOptions) {
    this.#database = database;
    this.#options = options;
    this.known = new KnownLocks(options.knownLocks);
    this.nowUs = options.clock ?? (() => Date.now() * 1000);
    this.coarseUs = options.clock ? 0 : CLOCK_COARSE_US;
    this.statements = new SqliteStatements(database, options.path, options.observer);
    options.observer?.connection("opened");
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
    this.#meta ??= this.#readMeta();
    return this.#meta;
  }

  forgetMeta(): void {
    this.#meta = null;
  }

  /** How many ended claims there are. Counted once: only this process adds and deletes them. */
  get endedCount(): number {
    this.#ended ??= Number(this.statements.get("count_history")?.[0]);
    return this.#ended;
  }

  /** Call after the commit of a transaction that has added, or (a negative number) deleted ended claims. */
  countEnded(claims: number): void {
    if (this.#ended !== null) this.#ended += claims;
  }

  #readMeta(): Meta {
    const [rulesRevision, epoch, atUs, grantsFromUs, levelMin] = this.statements.get("meta") ?? [];
    return {
      failOver: { epoch: bigintOf(epoch), atUs: Number(atUs), grantsFromUs: Number(grantsFromUs) },
      rulesRevision: bigintOf(rulesRevision),
      levelMin: Number(levelMin),
      limitRules: this.statements.all("rules").map(limitRuleFromRow),
    };
  }

  inTransaction<Answer>(run: () => Answer): Answer {
    this.statements.run("begin");
    try {
      const answer = run();
      this.statements.run("commit");
      return answer;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Can be called twice. */
  close(): void {
    if (!this.isOpen) return;
    this.#database.close();
    this.#options.observer?.connection("closed");
  }

  #rollBack(): void {
    // `meta` may have read rows that the rollback undoes.
    this.forgetMeta();
    // Some errors have already ended the transaction.
    if (this.#database.isTransaction) this.statements.run("rollback");
  }
}
