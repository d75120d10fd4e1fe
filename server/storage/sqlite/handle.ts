// The open file: its statements, its clock, its transactions, and the meaning of its errors. SQLite is synchronous, so
// each method of the store runs from its first statement to its last without interruption by other work of this
// process. Transactions are therefore serial, and reads of several statements are consistent.

import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../core/database-clock.ts";
import { DatabaseClock } from "../../core/database-clock.ts";
import type { LimitRule } from "../../core/limit.ts";
import { CLOCK_COARSE_US } from "../storage-bounds.ts";
import type { Loaded, Store, StoreObserver } from "../store.ts";
import { StoreError } from "../store.ts";
import { sqliteError } from "./errors.ts";
import { limitRuleFromRow } from "./rows.ts";
import { SqliteStatements } from "./statements.ts";

export interface SqliteOptions {
  /** A file, or `:memory:` for a database that ends with the store. */
  readonly path: string;
  /** The database's clock in microseconds since 1970. Unset: the system clock, in whole milliseconds. */
  readonly clock?: () => number;
  readonly observer?: StoreObserver;
}

/** Synchronous versions of a store's methods; `guarded` turns them into the store's methods. */
export type AtOnce<Name extends keyof Store> = {
  readonly [Each in Name]: Store[Each] extends (...given: infer Given) => Promise<infer Answer>
    ? (...given: Given) => Answer
    : never;
};

export class SqliteHandle {
  readonly clock = new DatabaseClock();
  readonly nowUs: () => number;
  /** The size of the clock's steps in microseconds; a lower bound of the time subtracts it. */
  readonly coarseUs: number;
  readonly statements: SqliteStatements;
  readonly #database: DatabaseSync;
  readonly #options: SqliteOptions;
  #rules: { readonly revision: unknown; readonly rules: readonly LimitRule[] } | null = null;
  #closed = false;

  /** Takes ownership of an open database. */
  constructor(database: DatabaseSync, options: SqliteOptions) {
    this.#database = database;
    this.#options = options;
    this.nowUs = options.clock ?? (() => Date.now() * 1000);
    this.coarseUs = options.clock ? 0 : CLOCK_COARSE_US;
    this.statements = new SqliteStatements(database, options.observer);
    options.observer?.connection("opened");
  }

  get isOpen(): boolean {
    return !this.#closed;
  }

  get version(): string {
    return String(this.#database.prepare("SELECT sqlite_version() AS version").get()?.version);
  }

  readClock(): Clock {
    const readUs = performance.now() * 1_000;
    return this.clock.read(this.nowUs(), readUs, readUs, this.coarseUs);
  }

  meta(): Pick<Loaded, "failOver" | "rulesRevision" | "limitRules"> {
    const meta = this.statements.get("meta");
    const revision = meta?.rules_revision as bigint;
    if (this.#rules?.revision !== revision) {
      this.#rules = { revision, rules: this.statements.all("rules").map(limitRuleFromRow) };
    }
    const failOver = {
      epoch: meta?.epoch as bigint,
      atUs: Number(meta?.failed_over_at),
      grantsFromUs: Number(meta?.grants_from),
    };
    return { failOver, rulesRevision: revision, limitRules: this.#rules?.rules ?? [] };
  }

  /**
   * Turns synchronous methods into a store's methods: these refuse if the store is closed, and turn SQLite's errors
   * into StoreErrors.
   */
  guarded<Name extends keyof Store>(methods: AtOnce<Name>): Pick<Store, Name> {
    const all = Object.entries<(...given: unknown[]) => unknown>(methods);
    return Object.fromEntries(
      all.map(([name, run]) => [
        name,
        async (...given: unknown[]) => {
          this.#mustBeOpen();
          try {
            return run(...given);
          } catch (error) {
            throw sqliteError(error, this.#options.path);
          }
        },
      ]),
    ) as unknown as Pick<Store, Name>;
  }

  inTransaction<Answer>(run: () => Answer): Answer {
    this.statements.run("begin");
    try {
      const answer = run();
      this.#commit();
      return answer;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Can be called twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#database.close();
    this.#options.observer?.connection("closed");
  }

  /** Runs `run`. Refuses if the store is closed, and turns SQLite's errors into StoreErrors. */
  guard<Answer>(run: () => Answer): Answer {
    this.#mustBeOpen();
    try {
      return run();
    } catch (error) {
      throw sqliteError(error, this.#options.path);
    }
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new StoreError("unavailable", "closed", "The store is closed.");
  }

  #commit(): void {
    try {
      this.statements.run("commit");
    } catch (error) {
      throw sqliteError(error, this.#options.path, true);
    }
  }

  #rollBack(): void {
    // After a rollback, the revision of rules that were read in the transaction may return with other rules.
    this.#rules = null;
    // Some errors have already ended the transaction.
    if (this.#database.isTransaction) this.statements.run("rollback");
  }
}
