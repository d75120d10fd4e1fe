// All metrics of one server, in a registry of its own. Built first, because the other parts report to it; the store
// is added later. Only this folder knows prom-client.

import { collectDefaultMetrics, type OpenMetricsContentType, Registry } from "prom-client";
import type { CertificateEnd } from "../config/pem-files.ts";
import type { FilesOutcome } from "../config/reloaded-files.ts";
import type { BoundUse } from "../core/bound-use.ts";
import type { EngineObserver } from "../engine/answers.ts";
import type { CallObserver } from "../grpc/call-observer.ts";
import type { Store, StoreObserver } from "../storage/store.ts";
import { LockGauges, type LockSource } from "./lock-gauges.ts";
import { callObserver, engineObserver, storeObserver } from "./observers.ts";
import { LockClasses, liveSeries } from "./series.ts";
import { type AllSeries, METRICS } from "./table.ts";

export interface MetricsOptions {
  /** Exact names and patterns that are classes of their own. */
  readonly classes: readonly string[];
  /** The key of the label of claims by which live claims are counted; null or unset: none. */
  readonly label?: string | null;
  /** Whether Node's own metrics (memory, event loop, garbage collection) are included. */
  readonly nodeMetrics: boolean;
}

/** Reports what is used of the bounds that a part of the server keeps, at each scrape: nothing is counted for it before. */
export type BoundSource = () => readonly BoundUse[];

export interface BuildInfo {
  readonly version: string;
  readonly node: string;
  /** Product and version of the database. */
  readonly database: string;
}

/** The part of a store that is shown as gauges. */
export type StoreSource = LockSource & Pick<Store, "bounds" | "servers">;

export class Metrics {
  readonly engine: EngineObserver;
  readonly store: StoreObserver;
  readonly calls: CallObserver;
  readonly #registry = new Registry();
  /** The same series for scrapers that take OpenMetrics: only that has exemplars. */
  readonly #openRegistry = new Registry<OpenMetricsContentType>();
  /** Of Node alone: rendered as OpenMetrics, prom-client's own metrics would change their names for good. */
  readonly #nodeRegistry = new Registry();
  readonly #classes: LockClasses;
  readonly #label: string | null;
  readonly #series: AllSeries;
  /** Set the gauges that are read at each scrape. */
  readonly #gauges: (() => void | Promise<void>)[] = [];
  readonly #bounds: BoundSource[] = [];

  constructor(options: MetricsOptions) {
    this.#classes = new LockClasses(options.classes);
    this.#label = options.label ?? null;
    this.#openRegistry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    this.#series = liveSeries(METRICS, [this.#registry, this.#openRegistry], this.#classes);
    this.#gauges.push(() => this.#setBounds());
    this.engine = engineObserver(this.#series);
    this.store = storeObserver(this.#series);
    this.calls = callObserver(this.#series);
    if (options.nodeMetrics) collectDefaultMetrics({ register: this.#nodeRegistry });
  }

  /** Adds the gauges that a scrape reads from the store. Call it once. */
  observeStore(source: StoreSource, { version, node, database }: BuildInfo): void {
    this.#series.buildInfo.set(1, { version, node, database });
    const locks = new LockGauges(this.#series, this.#classes, source, this.#label);
    this.#gauges.push(() => locks.refresh());
    this.observeBounds(() => source.bounds());
    this.#gauges.push(() => {
      for (const { address, isChosen, isUsable } of source.servers()) {
        this.#series.databaseChosen.set(Number(isChosen), { address });
        this.#series.databaseUsable.set(Number(isUsable), { address });
      }
    });
  }

  /** Adds gauges of what is used of bounds. */
  observeBounds(source: BoundSource): void {
    this.#bounds.push(source);
  }

  /** Reports only quotas that are in use. */
  #setBounds(): void {
    const shown = this.#bounds.flatMap((source) => source()).filter(({ max }) => Number.isFinite(max));
    const samples = (what: "used" | "max") =>
      shown.map(({ bound, kind, [what]: value }) => ({ labels: { bound, kind }, value }));
    this.#series.boundUsed.replace(samples("used"));
    this.#series.boundMax.replace(samples("max"));
  }

  /** Adds the gauge of the latest readiness answer: a scrape does not wait for a database. Call it once. */
  observeReadiness(readiness: { readonly latest: { readonly ready: boolean } }): void {
    this.#gauges.push(() => this.#series.ready.set(readiness.latest.ready ? 1 : 0));
  }

  /** Shows whether files that the server reads again are in force. */
  filesRead({ kind, what }: FilesOutcome): void {
    const { reloadFailed, reloadSuccessSeconds } = this.#series;
    reloadFailed.set(kind === "failed" ? 1 : 0, { file: what });
    if (kind !== "failed") reloadSuccessSeconds.set(Date.now() / 1e3, { file: what });
  }

  /** Shows until when certificates are valid that are in force from now on. */
  certificatesInForce(ends: readonly CertificateEnd[]): void {
    for (const { file, end } of ends)
      this.#series.certificateExpiresSeconds.set(end.getTime() / 1e3, { file });
  }

  /** The page of a scrape. `accept`: what the scraper takes, as HTTP says it. */
  async render(accept = ""): Promise<{ readonly text: string; readonly contentType: string }> {
    await Promise.all(this.#gauges.map((set) => set()));
    const nodes = await this.#nodeRegistry.metrics();
    if (!accept.includes(OPEN_METRICS)) {
      const { contentType } = this.#registry;
      return { text: `${await this.#registry.metrics()}\n${nodes}`, contentType };
    }
    const { contentType } = this.#openRegistry;
    return { text: asOpenMetrics(nodes) + (await this.#openRegistry.metrics()), contentType };
  }
}

const OPEN_METRICS = "application/openmetrics-text";

/**
 * Prometheus's text as OpenMetrics has it, without the end: the family of a counter has a name without a suffix. A gauge
 * of Node with that suffix keeps it, because there is another one without.
 */
function asOpenMetrics(text: string): string {
  const counters = new Set(text.match(/(?<=^# TYPE )\w+_total(?= counter$)/gm));
  return text
    .replace(/^(# (?:HELP|TYPE) )(\w+)_total(?= )/gm, (line, start, name) =>
      counters.has(`${name}_total`) ? start + name : line,
    )
    .replace(/\n+/g, "\n")
    .trimStart();
}
