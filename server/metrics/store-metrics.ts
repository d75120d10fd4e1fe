// What the database costs, as the store tells it: statements by name, transactions, connections. Called on the hot
// path; never throws.

import type { Registry } from "prom-client";
import { Counter, Histogram } from "prom-client";
import { DATABASE_SECONDS, ROUND_TRIPS } from "./buckets.ts";
import { Labelled } from "./labelled.ts";

/** Implements StoreObserver. */
export class StoreMetrics {
  readonly #statements: Labelled<Histogram.Internal<"statement">>;
  readonly #transactions: Labelled<Histogram.Internal<"outcome">>;
  readonly #roundTrips: Histogram;
  readonly #connections: Labelled<Counter.Internal>;

  constructor(registry: Registry) {
    const registers = [registry];
    const statements = new Histogram({
      name: "rowlock_statement_duration_seconds",
      help: "One statement at the database, by its name in the source.",
      labelNames: ["statement"],
      buckets: DATABASE_SECONDS,
      registers,
    });
    const transactions = new Histogram({
      name: "rowlock_transaction_duration_seconds",
      help: "One transaction that changes state, from taking a connection to its commit or rollback.",
      labelNames: ["outcome"],
      buckets: DATABASE_SECONDS,
      registers,
    });
    const connections = new Counter({
      name: "rowlock_connection_events_total",
      help: "Connections to the database that were opened, closed, or destroyed because their state was in doubt.",
      labelNames: ["event"],
      registers,
    });
    this.#statements = new Labelled((statement) => statements.labels({ statement }));
    this.#transactions = new Labelled((outcome) => transactions.labels({ outcome }));
    this.#connections = new Labelled((event) => connections.labels({ event }));
    this.#roundTrips = new Histogram({
      name: "rowlock_transaction_round_trips",
      help: "Round trips to the database of one transaction; an embedded database has none.",
      buckets: ROUND_TRIPS,
      registers,
    });
  }

  statement(name: string, seconds: number): void {
    this.#statements.of(name).observe(seconds);
  }

  transaction(seconds: number, roundTrips: number, outcome: "committed" | "rolled_back"): void {
    this.#transactions.of(outcome).observe(seconds);
    this.#roundTrips.observe(roundTrips);
  }

  connection(event: "opened" | "closed" | "destroyed"): void {
    this.#connections.of(event).inc();
  }
}
