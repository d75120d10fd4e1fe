// Counts the watches of locks and what they send. Never throws.

import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import type { WatchEvent } from "../engine/lock-engine.ts";
import { type HotCounter, hotCounter } from "./hot-metrics.ts";
import { Labelled } from "./labelled.ts";

type Causes = Extract<WatchEvent, { kind: "watch_began_anew" }>["cause"];
const CAUSES: readonly Causes[] = ["slow_reader", "outage", "failed_over", "clock"];

export class WatchMetrics {
  readonly #open: Gauge;
  readonly #told: Labelled<HotCounter>;
  readonly #begunAnew: Labelled<HotCounter>;

  constructor(registry: Registry) {
    this.#open = new Gauge({
      name: "rowlock_watches_open",
      help: "Watches of locks that are open at this server.",
      registers: [registry],
    });
    const told = hotCounter({
      name: "rowlock_watch_locks_told_total",
      help: "Locks that watches have told: as each stands, or as deleted.",
      labelNames: ["event"],
      registry,
    });
    const begunAnew = hotCounter({
      name: "rowlock_watches_begun_anew_total",
      help: "Watches that began anew, by the cause: a slow reader, an outage or fail-over of the database, its clock.",
      labelNames: ["cause"],
      registry,
    });
    this.#told = new Labelled((event) => told({ event }), ["stands", "deleted"]);
    this.#begunAnew = new Labelled((cause) => begunAnew({ cause }), CAUSES);
  }

  observe(event: WatchEvent): void {
    switch (event.kind) {
      case "watch_opened":
        this.#open.inc();
        return;
      case "watch_closed":
        this.#open.dec();
        return;
      case "watch_told":
        this.#told.of("stands").inc(event.locks);
        this.#told.of("deleted").inc(event.deleted);
        return;
      case "watch_began_anew":
        this.#begunAnew.of(event.cause).inc();
        return;
    }
  }
}
