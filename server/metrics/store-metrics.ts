// Counts what the database costs, as the store reports it: statements by name, transactions, connections. Called on
// the hot path; never throws.

import type { Registry } from "prom-client";
import type { StoreObserver } from "../storage/store.ts";
import { ROUND_TRIPS, STATEMENT_SECONDS, TRANSACTION_SECONDS } from "./buckets.ts";
import { type HotCounter, type HotHistogram, hotCounter, hotHistogram } from "./hot-metrics.ts";
import { Labelled } from "./labelled.ts";

export class StoreMetrics implements StoreObserver {
  readonly #statements: Labelled<HotHistogram>;
  readonly #transactions: Labelled<HotHistogram>;
  readonly #roundTrips: HotHistogram;
  readonly #connections: Labelled<HotCounter>;

  constructor(registry: Registry) {
    const statements = hotHistogram({
      name: "rowlock_statement_duration_seconds",
      help: "One statement at the database, by its name in the source.",
      labelNames: ["statement"],
      buckets: STATEMENT_SECONDS,
      registry,
    });
    const transactions = hotHistogram({
      name: "rowlock_transaction_duration_seconds",
      help: "One transaction that changes state, from taking a connection to its commit or rollback.",
      labelNames: ["outcome"],
      buckets: TRANSACTION_SECONDS,
      registry,
    });
    const connections = hotCounter({
      name: "rowlock_connection_events_total",
      help: "Connections to the database that were opened, closed, or destroyed because their state was in doubt.",
      labelNames: ["event"],
      registry,
    });
    this.#statements = new Labelled((statement) => statements({ statement }));
    this.#transactions = new Labelled((outcome) => transactions({ outcome }));
    this.#connections = new Labelled((event) => connections({ event }), ["opened", "closed", "destroyed"]);
    this.#roundTrips = hotHistogram({
      name: "rowlock_transaction_round_trips",
      help: "Round trips to the database of one transaction; an embedded database has none.",
      labelNames: [],
      buckets: ROUND_TRIPS,
      registry,
    })({});
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
