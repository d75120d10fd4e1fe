// All metrics of one server, in a registry of its own. Built first, because the other parts report to it; the store
// is added later. Only this folder knows prom-client.

import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Store } from "../storage/store.ts";
import { CallMetrics } from "./call-metrics.ts";
import { EngineMetrics } from "./engine-metrics.ts";
import { lockClasses } from "./lock-classes.ts";
import type { LockSource } from "./lock-gauges.ts";
import { LockGauges } from "./lock-gauges.ts";
import { StoreMetrics } from "./store-metrics.ts";

export interface MetricsOptions {
  /** Exact names and patterns that are classes of their own. */
  readonly classes: readonly string[];
  /** Whether Node's own metrics (memory, event loop, garbage collection) are included. */
  readonly nodeMetrics: boolean;
}

export interface BuildInfo {
  readonly version: string;
  readonly node: string;
  /** Product and version of the database. */
  readonly database: string;
}

/** The part of a store that is shown as gauges. */
export type StoreSource = LockSource & Pick<Store, "pool">;

export class Metrics {
  readonly #registry = new Registry();
  readonly #classes: ReturnType<typeof lockClasses>;
  /** For the engine: its `observe` is an EngineObserver. */
  readonly engine: EngineMetrics;
  /** For the store: a StoreObserver. */
  readonly store: StoreMetrics;
  /** For gRPC: a CallObserver. */
  readonly calls: CallMetrics;

  constructor(options: MetricsOptions) {
    this.#classes = lockClasses(options.classes);
    this.engine = new EngineMetrics(this.#registry, this.#classes);
    this.store = new StoreMetrics(this.#registry);
    this.calls = new CallMetrics(this.#registry);
    if (options.nodeMetrics) collectDefaultMetrics({ register: this.#registry });
  }

  /** Adds the gauges that a scrape reads from the store. Call it once. */
  observeStore(source: StoreSource, build: BuildInfo): void {
    const registers = [this.#registry];
    new LockGauges(this.#registry, this.#classes, source);
    new Gauge({
      name: "rowlock_pool_connections",
      help: "Connections to the database, by state: busy or idle.",
      labelNames: ["state"],
      registers,
      collect() {
        const { open, idle } = source.pool();
        this.set({ state: "busy" }, open - idle);
        this.set({ state: "idle" }, idle);
      },
    });
    new Gauge({
      name: "rowlock_pool_waiters",
      help: "Requests of this server that wait for a connection to the database.",
      registers,
      collect() {
        this.set(source.pool().waiting);
      },
    });
    new Gauge({
      name: "rowlock_build_info",
      help: "Always 1; the labels say what runs.",
      labelNames: ["version", "node", "database"],
      registers,
    }).set({ ...build }, 1);
  }

  /** Adds the gauge of the latest readiness answer: a scrape does not wait for a database. Call it once. */
  observeReadiness(readiness: { readonly latest: { readonly ready: boolean } }): void {
    new Gauge({
      name: "rowlock_ready",
      help: "1 if this server should get calls: decisions get through, and nobody has told it to stop.",
      registers: [this.#registry],
      collect() {
        this.set(readiness.latest.ready ? 1 : 0);
      },
    });
  }

  /** The text of a scrape. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}
