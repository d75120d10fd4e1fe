// The one database of a run: committed rows in SQLite, in memory, and around them what several connections add: row locks
// that others wait for, a clock that may be set, and times in which it cannot be reached. A transaction reads what is
// committed and applies what it writes in one piece when it commits, which is what READ COMMITTED shows to others.

import type { DatabaseSync } from "node:sqlite";
import { runPending, sqliteSchema } from "../../../server/storage/migrate/schema.ts";
import { openSqliteFile } from "../../../server/storage/sqlite/file.ts";
import { SqliteStatements } from "../../../server/storage/sqlite/statements.ts";
import { DECIDED_AT_STEP_US } from "../../../server/storage/store.ts";
import { BEGAN_MS, Process, type World } from "../world/world.ts";
import { RowLocks } from "./row-locks.ts";

/** The file of this thread, which all its runs use one after the other. */
export interface Rows {
  readonly database: DatabaseSync;
  readonly statements: SqliteStatements;
}

const TABLES = [
  ...["claim", "history", "request", "record", "lock", "limit_rule", "replica", "witness", "change"],
].map((table) => `rowlock_${table}`);

/** As over MySQL, not every decision writes its time. */
const KEEP_DECIDED_AT = `CREATE TEMP TRIGGER keep_decided_at AFTER UPDATE OF decided_at ON main.rowlock_lock
  WHEN old.decided_at BETWEEN new.decided_at - ${DECIDED_AT_STEP_US} AND new.decided_at
  BEGIN UPDATE rowlock_lock SET decided_at = old.decided_at WHERE id = new.id; END`;

export async function openRows(): Promise<Rows> {
  const database = openSqliteFile(":memory:");
  await runPending(sqliteSchema(database));
  database.exec(KEEP_DECIDED_AT);
  for (const table of [...TABLES, "rowlock_meta"])
    database.exec(`CREATE TEMP TABLE copy_of_${table} AS SELECT * FROM ${table} WHERE 0`);
  // Nothing of it outlives the thread.
  database.exec("PRAGMA synchronous = OFF");
  return { database, statements: new SqliteStatements(database, ":memory:", undefined) };
}

const EMPTY = [
  ...TABLES.map((table) => `DELETE FROM ${table}`),
  "DELETE FROM sqlite_sequence",
  `UPDATE rowlock_meta SET token_floor = 0, rules_revision = 0, epoch = 0, failed_over_at = 0, grants_from = 0,
    level_min = 0`,
].join(";");
const COPY = [...TABLES, "rowlock_meta"]
  .map((table) => `DELETE FROM copy_of_${table}; INSERT INTO copy_of_${table} SELECT * FROM ${table}`)
  .join(";");
const PROMOTE = [...TABLES, "rowlock_meta"]
  .map((table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM copy_of_${table}`)
  .join(";");

/** How often something bad happens to a transaction, from 0 to 1. */
export interface Luck {
  deadlock: number;
  /** The connection is cut before COMMIT arrives. */
  cut: number;
  /** COMMIT arrives, and its answer does not. */
  answerLost: number;
  /** The same, and COMMIT takes effect only some time after the server has been told that the connection is lost. */
  late: number;
  /** A trip takes as long as this, at most. */
  tripMsMax: number;
}

const GOOD: Luck = { deadlock: 0, cut: 0, answerLost: 0, late: 0, tripMsMax: 2 };

export class SimDatabase {
  readonly world: World;
  readonly rows: Rows;
  readonly process: Process;
  readonly locks: RowLocks;
  readonly luck: Luck = { ...GOOD };
  /** Which server of the database answers; another one after a copy was promoted. */
  identity = "first";
  /** The identity that the rows remember. */
  rowsIdentity = "first";
  isUp = true;
  /** Open transactions that are rolled back when the database goes down. */
  readonly open = new Set<{ kill(reason: string): void }>();
  /** Claims that a transaction has written and not yet committed. */
  readonly written = new Map<string, number>();
  /** Decisions that are dated before their transactions had their locks. */
  readonly misdated: string[] = [];
  /** Claims that wait at a pool and have a wider one. */
  readonly stuck: string[] = [];
  /** Claims for several locks whose rows differ. */
  readonly torn: string[] = [];
  #stepUs = 0;
  #lastUs = 0;
  #metaVersion = 0;

  constructor(world: World, rows: Rows) {
    this.world = world;
    this.rows = rows;
    this.process = new Process("database", world.seed);
    this.locks = new RowLocks(world, this.process);
    rows.database.exec(EMPTY);
  }

  /** What its clock shows. The next reading is no earlier. */
  get shownUs(): number {
    return BEGAN_MS * 1_000 + Math.floor(this.world.nowMs * 1_000) + this.#stepUs;
  }

  /** Its clock: no two readings are the same unless it was set back. */
  nowUs(): number {
    const nowUs = this.shownUs;
    this.#lastUs = nowUs <= this.#lastUs && nowUs > this.#lastUs - 1_000 ? this.#lastUs + 1 : nowUs;
    return this.#lastUs;
  }

  setClock(byUs: number): void {
    this.#stepUs += byUs;
  }

  /** Rises with each change of the row of rowlock_meta or of a rule. */
  get metaVersion(): number {
    return this.#metaVersion;
  }

  metaChanged(): void {
    this.#metaVersion += 1;
  }

  goDown(): void {
    this.isUp = false;
    for (const transaction of [...this.open]) transaction.kill("connection_lost");
  }

  goodLuck(): void {
    Object.assign(this.luck, GOOD);
  }

  keepCopy(): void {
    this.rows.database.exec(COPY);
  }

  /** The copy that was kept takes over: what was committed since is lost. */
  promote(): void {
    for (const transaction of [...this.open]) transaction.kill("connection_lost");
    this.rows.database.exec(`BEGIN; ${PROMOTE}; COMMIT`);
    this.identity = `${this.identity}'`;
    this.metaChanged();
  }
}
