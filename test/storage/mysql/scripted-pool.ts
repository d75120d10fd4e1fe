// A pool whose one session answers trips as the test says, and notes all that is sent, for tests of what is asked of a database
// and what is made of its answers. What the statements do is for the tests on real databases.

import type { MysqlPool } from "../../../server/storage/mysql/connection/pool.ts";
import type { Row, Session } from "../../../server/storage/mysql/connection/session.ts";
import type { Trip } from "../../../server/storage/mysql/connection/trip.ts";
import { textOf } from "./transaction/lock-fixture.ts";

/** What the server says of a write: in a transaction. */
export const written = (affectedRows: number) => ({ affectedRows, serverStatus: 0b11 });

/** Answers a statement, as the database reads it. */
type Answer = (sql: string) => readonly Row[] | ReturnType<typeof written> | undefined;

export class ScriptedPool {
  isCluster = false;
  serverChanges = 0;
  renewals = 0;
  /** Of trips: how many asked for a connection that waits for row locks. */
  writes = 0;
  readonly leases: (number | undefined)[] = [];
  readonly trips: { readonly name: string; readonly sql: readonly string[] }[] = [];
  readonly destroyed: unknown[] = [];
  /** What the next trips of a name fail of, one each. */
  readonly failures = new Map<string, Error[]>();
  readonly session = {
    alive: true,
    inTransaction: false,
    skipsLocked: false,
    mayLag: false,
    serverIdentity: null as string | null,
    run: async (trip: Trip) => this.#run(trip),
    runNamed: async (trip: Trip) => this.#run(trip)[0],
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

  async use<Result>(work: (session: Session) => Promise<Result>, leaseMs?: number): Promise<Result> {
    this.leases.push(leaseMs);
    return work(this.session as unknown as Session);
  }

  write<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    this.writes += 1;
    return this.use(work);
  }

  renew(): void {
    this.renewals += 1;
  }

  #run(trip: Trip): unknown[] {
    const sql = textOf({ sql: trip.sql, values: trip.values })
      .split("; ")
      .map((each) => each.trim());
    this.trips.push({ name: trip.name, sql });
    const failure = this.failures.get(trip.name)?.shift();
    if (failure) throw failure;
    return sql.map((each) => this.#answer(each) ?? (/^\(?(SELECT|SHOW)/.test(each) ? [] : written(0)));
  }
}
