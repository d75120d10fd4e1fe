// A pool with one connection, which answers trips as the test says and records everything sent. For tests of which
// statements are sent and how their answers are used; tests on real databases cover what the statements do.

import type { Connection, Row, Trip } from "../../../server/storage/mysql/connection/connection.ts";
import type { MysqlPool } from "../../../server/storage/mysql/connection/pool.ts";

/** The server's answer to a write inside a transaction. */
export const written = (affectedRows: number) => ({ affectedRows, serverStatus: 0b11 });

/** Answers a statement, given as the database reads it. */
type Answer = (sql: string) => readonly Row[] | ReturnType<typeof written> | undefined;

export class ScriptedPool {
  isCluster = false;
  serverChanges = 0;
  renewals = 0;
  /** How many trips asked for a connection that waits for row locks. */
  writes = 0;
  readonly loans: (number | undefined)[] = [];
  readonly trips: { readonly name: string; readonly sql: readonly string[] }[] = [];
  readonly destroyed: unknown[] = [];
  /** Errors for the next trips of each name, one each. */
  readonly failures = new Map<string, Error[]>();
  readonly connection = {
    alive: true,
    inTransaction: false,
    skipsLocked: false,
    mayLag: false,
    packetMax: Number.POSITIVE_INFINITY,
    serverIdentity: null as string | null,
    run: async (trip: Trip) => this.#run(trip),
    destroy: (error: unknown) => void this.destroyed.push(error),
  };
  readonly #answer: Answer;

  constructor(answer: Answer = () => undefined) {
    this.#answer = answer;
  }

  get pool(): MysqlPool {
    return this as unknown as MysqlPool;
  }

  get names(): string[] {
    return this.trips.map(({ name }) => name);
  }

  /** The statements of all trips, in order. */
  get sql(): string[] {
    return this.trips.flatMap(({ sql }) => sql);
  }

  async use<Result>(work: (connection: Connection) => Promise<Result>, loanMs?: number): Promise<Result> {
    this.loans.push(loanMs);
    return work(this.connection as unknown as Connection);
  }

  write<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    this.writes += 1;
    return this.use(work);
  }

  renew(): void {
    this.renewals += 1;
  }

  #run(trip: Trip): unknown[] {
    // On one line, without hints and without what only one kind of database reads.
    const sql = trip.text
      .replace(/\/\*.*?\*\/|FORCE INDEX \(\w+\)/g, " ")
      .split(";")
      .map((each) => each.replace(/\s+/g, " ").trim());
    this.trips.push({ name: trip.name, sql });
    const failure = this.failures.get(trip.name)?.shift();
    if (failure) throw failure;
    return sql.map((each) => this.#answer(each) ?? (/^\(?(SELECT|SHOW)/.test(each) ? [] : written(0)));
  }
}
