// The store in an embedded SQLite file, for a single server. Owns the handle, the transactions and the mapping of
// errors; what a transaction reads and writes is in storage/sqlite/transaction.ts, what is read for display in storage/sqlite/reads.ts.
//
// SQLite answers synchronously, so each method runs from its first statement to its last without a pause, and nothing
// else of this process comes in between: transactions are serial by nature, and reads of several statements are
// consistent.

import type { DatabaseSync } from "node:sqlite";
import { migrations } from "../../../migrations/index.ts";
import type { Claim, ClaimKey, ClaimRef } from "../../core/claim.ts";
import { DatabaseClock } from "../../core/database-clock.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Clock } from "../../core/rows.ts";
import { IN_MEMORY } from "../database-url.ts";
import { appliedToSqlite, migrateSqlite } from "../migrate/migrate-sqlite.ts";
import { monotonicUs } from "../monotonic.ts";
import { checkRows } from "../rows/invariants.ts";
import { bytesOf } from "../rows/values.ts";
import { CLOCK_COARSE_US } from "../storage-bounds.ts";
import type {
  BusyLock,
  DecideRows,
  FailOverNote,
  Finding,
  Loaded,
  LoadPlan,
  LockQuery,
  LockView,
  PoolState,
  QueuePlace,
  ReplicaRow,
  Store,
  StoreObserver,
  WaitedLock,
} from "../store.ts";
import { StoreError } from "../store.ts";
import { sqliteError } from "./errors.ts";
import { openSqliteFile } from "./file.ts";
import { SqliteReads } from "./reads.ts";
import { claimFromRow, limitRuleFromRow } from "./rows.ts";
import { listOf, SqliteStatements } from "./statements.ts";
import { furtherPlan, load, save } from "./transaction.ts";

export interface SqliteOptions {
  /** A file, or `:memory:` for one that ends with the store. */
  readonly path: string;
  /** The database's clock in microseconds since 1970. The system's, in milliseconds, if not given. */
  readonly clock?: () => number;
  readonly observer?: StoreObserver;
}

/** Opens the file for this process alone. Its schema must be up to date; only a database in memory makes its own. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const database = openSqliteFile(options.path);
  try {
    if (options.path === IN_MEMORY) await migrateSqlite(database);
    mustHaveSchema(database, options.path);
    return new SqliteStore(database, options);
  } catch (error) {
    database.close();
    throw sqliteError(error, options.path);
  }
}

/** What a database at this path could lose; it need not be there yet. */
export function sqliteDurability(path: string): Finding[] {
  if (path !== IN_MEMORY) return [];
  const message = "The database is in memory: everything in it is lost when the server ends.";
  return [{ severity: "warning", check: "durability", message }];
}

/** Looked up, as the code of an error for a table that is not there is that of every mistake in SQL. */
function mustHaveSchema(database: DatabaseSync, path: string): void {
  const applied = appliedToSqlite(database);
  if (migrations.every(({ name }) => applied.includes(name))) return;
  const message = `The database file ${path} has no rowlock tables yet, or not all: run \`rowlock migrate up\`.`;
  throw new StoreError("unavailable", "schema", message);
}

/** Takes over an open handle, whose schema is up to date. */
export class SqliteStore implements Store {
  readonly product: string;
  readonly lanes = 1;
  readonly patientSlots = 1;
  readonly readers = 1;
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly clock = new DatabaseClock();
  readonly #clock: () => number;
  readonly #coarseUs: number;
  readonly #observer: StoreObserver | undefined;
  readonly #statements: SqliteStatements;
  readonly #reads: SqliteReads;
  #rules: { readonly revision: unknown; readonly rules: readonly LimitRule[] } | null = null;
  #closed = false;

  constructor(database: DatabaseSync, options: SqliteOptions) {
    this.#database = database;
    this.#path = options.path;
    this.#clock = options.clock ?? (() => Date.now() * 1000);
    this.#coarseUs = options.clock ? 0 : CLOCK_COARSE_US;
    this.#observer = options.observer;
    this.#statements = new SqliteStatements(database, options.observer);
    this.#reads = new SqliteReads(this.#statements);
    this.product = `SQLite ${database.prepare("SELECT sqlite_version() AS version").get()?.version}`;
    options.observer?.connection("opened");
  }

  async resolve(names: readonly string[]): Promise<Map<string, bigint>> {
    return this.#guarded(() => {
      const found = this.#reads.find(names);
      const unknown = new Set(names.filter((name) => !found.has(name)));
      if (unknown.size === 0) return found;
      this.#inTransaction(() => {
        for (const name of unknown) {
          const row = this.#statements.get("add_lock", bytesOf(name), this.#clock());
          found.set(name, row?.id as bigint);
        }
      });
      return found;
    });
  }

  async find(names: readonly string[]): Promise<Map<string, bigint>> {
    return this.#guarded(() => this.#reads.find(names));
  }

  async transact(plan: LoadPlan, decide: DecideRows): Promise<void> {
    this.#guarded(() => {
      const startedMs = performance.now();
      let outcome: "committed" | "rolled_back" = "rolled_back";
      try {
        this.#inTransaction(() => this.#decideAll(plan, decide));
        outcome = "committed";
      } finally {
        // There is no network between the server and its file, hence no round trips.
        this.#observer?.transaction((performance.now() - startedMs) / 1000, 0, outcome);
      }
    });
  }

  async failOver({ seenEpoch, epochMin, pauseUsMin, pauseUsMax }: FailOverNote): Promise<number> {
    return this.#guarded(() => {
      const nowUs = this.#clock();
      this.#statements.run("fail_over", nowUs, epochMin, pauseUsMin, pauseUsMax, seenEpoch);
      return Math.max(0, Number(this.#statements.get("meta")?.grants_from) - nowUs);
    });
  }

  async heartbeat(
    replica: bigint,
    claims: readonly ClaimRef[],
    keepForUs: number,
  ): Promise<readonly ClaimKey[]> {
    return this.#guarded(() =>
      this.#inTransaction(() => {
        const nowUs = this.#clock();
        for (const { lockId, ticketNumber, secret } of claims) {
          const until = nowUs + keepForUs;
          this.#statements.run("heartbeat", replica, until, lockId, ticketNumber, bytesOf(secret));
        }
        return [];
      }),
    );
  }

  async register(replica: ReplicaRow, keepForUs: number): Promise<void> {
    const { id, address, version } = replica;
    this.#guarded(() =>
      this.#inTransaction(() => {
        const nowUs = this.#clock();
        this.#statements.run("register", id, bytesOf(address), bytesOf(version), nowUs, nowUs + keepForUs);
        this.#statements.run("forget_replicas", nowUs);
      }),
    );
  }

  async replicas(max: number): ReturnType<Store["replicas"]> {
    return this.#guarded(() => ({ nowUs: this.#clock(), replicas: this.#reads.replicas(max) }));
  }

  async retire(replica: bigint): Promise<void> {
    this.#guarded(() => this.#statements.run("retire", replica));
  }

  async watch(lockIds: readonly bigint[]): Promise<{ revisions: Map<bigint, bigint>; due: bigint[] }> {
    return this.#guarded(() => {
      const atLeastUs = this.#clock() - this.#coarseUs;
      const rows = this.#statements.all("watch", atLeastUs, listOf(lockIds));
      return {
        revisions: new Map(rows.map((row) => [row.id as bigint, row.revision as bigint])),
        due: rows.filter((row) => row.due === 1n).map((row) => row.id as bigint),
      };
    });
  }

  async claims(keys: readonly ClaimKey[]): Promise<{ nowUs: number; claims: Claim[] }> {
    return this.#guarded(() => {
      const rows = keys.map((key) => this.#statements.get("claim", key.lockId, key.ticketNumber));
      return { nowUs: this.#clock(), claims: rows.filter((row) => row !== undefined).map(claimFromRow) };
    });
  }

  async claimsByRequest(requestIds: readonly string[]): ReturnType<Store["claimsByRequest"]> {
    return this.#guarded(() => {
      const rows = requestIds.map((id) => this.#statements.get("claim_by_request", bytesOf(id)));
      return { nowUs: this.#clock(), claims: rows.filter((row) => row !== undefined).map(claimFromRow) };
    });
  }

  async dueLocks(afterLockId: bigint, max: number): ReturnType<Store["dueLocks"]> {
    return this.#guarded(() => {
      const { nowUs, atLeastUs } = this.#readClock();
      const rows = this.#statements.all("due_locks", atLeastUs, afterLockId, max);
      return { nowUs, lockIds: rows.map((row) => row.lock_id as bigint) };
    });
  }

  async purgeClaims(untilUs: number, max: number): Promise<number> {
    return this.#guarded(() => this.#statements.run("purge_claims", Math.min(untilUs, this.#clock()), max));
  }

  async purgeLocks(idleUs: number, max: number): Promise<number> {
    return this.#guarded(() =>
      this.#inTransaction(() => {
        const idle = this.#statements.all("idle_locks", this.#clock() - idleUs, max);
        for (const row of idle) {
          this.#statements.run("raise_token_floor", row.last_token as bigint);
          this.#statements.run("remove_lock", row.id as bigint);
        }
        return idle.length;
      }),
    );
  }

  async queue(lockId: bigint): Promise<{ nowUs: number; places: QueuePlace[] }> {
    return this.#guarded(() => ({ nowUs: this.#clock(), places: this.#reads.queue(lockId) }));
  }

  async holders(lockId: bigint, max: number): Promise<{ nowUs: number; claims: Claim[] }> {
    return this.#guarded(() => ({ nowUs: this.#clock(), claims: this.#reads.holders(lockId, max) }));
  }

  async list(query: LockQuery): ReturnType<Store["list"]> {
    return this.#guarded(() => this.#reads.list(query));
  }

  async waitedLocks(
    prefix: string,
    order: "longest_wait" | "most_waiters",
    max: number,
  ): Promise<WaitedLock[]> {
    return this.#guarded(() => this.#reads.waitedLocks(prefix, order, max));
  }

  async views(ids: readonly bigint[], shown: number): Promise<LockView[]> {
    return this.#guarded(() => this.#reads.views(ids, shown));
  }

  async view(name: string, shown: number): Promise<LockView | null> {
    return this.#guarded(() => this.#reads.view(name, shown));
  }

  async limitRules(): Promise<readonly LimitRule[]> {
    return this.#guarded(() => this.#meta().limitRules);
  }

  async busyLocks(max: number): Promise<BusyLock[]> {
    return this.#guarded(() => this.#reads.busyLocks(max));
  }

  async checkInvariants(max: number): Promise<Finding[]> {
    return this.#guarded(() => {
      const run = checkRows(this.#clock(), max);
      let step = run.next();
      while (!step.done) {
        const { name, sql, values } = step.value;
        step = run.next(this.#statements.read(name, sql, ...values));
      }
      return step.value;
    });
  }

  async checkDurability(): Promise<Finding[]> {
    return sqliteDurability(this.#path);
  }

  pool(): PoolState {
    const open = this.#closed ? 0 : 1;
    return { open, idle: open, waiting: 0 };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#database.close();
    this.#observer?.connection("closed");
  }

  #decideAll(first: LoadPlan, decide: DecideRows): void {
    const clock = this.#readClock();
    let plan: LoadPlan | null = first;
    while (plan) {
      const changes = decide(load(this.#statements, plan, clock, this.#meta()));
      save(this.#statements, changes, clock.atLeastUs);
      plan = changes.again.length > 0 ? furtherPlan(changes.again) : null;
    }
  }

  #readClock(): Clock {
    const readUs = monotonicUs();
    return this.clock.read(this.#clock(), readUs, readUs, this.#coarseUs);
  }

  #meta(): Pick<Loaded, "failOver" | "limitRules"> {
    const meta = this.#statements.get("meta");
    const revision = meta?.rules_revision;
    if (this.#rules?.revision !== revision) {
      this.#rules = { revision, rules: this.#statements.all("rules").map(limitRuleFromRow) };
    }
    const failOver = {
      epoch: meta?.epoch as bigint,
      atUs: Number(meta?.failed_over_at),
      grantsFromUs: Number(meta?.grants_from),
    };
    return { failOver, limitRules: this.#rules?.rules ?? [] };
  }

  /** Runs one method of the store: refuses when closed, and turns SQLite's errors into StoreErrors. */
  #guarded<Answer>(run: () => Answer): Answer {
    if (this.#closed) throw new StoreError("unavailable", "closed", "The store is closed.");
    try {
      return run();
    } catch (error) {
      throw sqliteError(error, this.#path);
    }
  }

  #inTransaction<Answer>(run: () => Answer): Answer {
    this.#statements.run("begin");
    try {
      const answer = run();
      this.#commit();
      return answer;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  #commit(): void {
    try {
      this.#statements.run("commit");
    } catch (error) {
      throw sqliteError(error, this.#path, true);
    }
  }

  #rollBack(): void {
    // Rules read in a transaction that is taken back may come again under the same revision with other words.
    this.#rules = null;
    // Some errors end the transaction by themselves.
    if (this.#database.isTransaction) this.#statements.run("rollback");
  }
}
