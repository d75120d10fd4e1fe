// All metrics of one server, in a registry of its own, and what adds the reports of the engine, the store and gRPC to them.
// Built first, because the other parts report to it; the store is added later. Only this folder knows prom-client.

import { collectDefaultMetrics, type OpenMetricsContentType, Registry } from "prom-client";
import type { CertificateEnd } from "../config/pem-files.ts";
import type { FilesOutcome } from "../config/reloaded-files.ts";
import type { MonitoredJob } from "../config/setting-kinds.ts";
import type { BoundUse } from "../core/bound-use.ts";
import type { Acquire, Command, Event, Outcome } from "../core/command.ts";
import type { EngineObserver } from "../engine/answers.ts";
import type { CallObserver } from "../grpc/call-observer.ts";
import type { Store, StoreObserver } from "../storage/store.ts";
import { LockGauges, type LockSource } from "./lock-gauges.ts";
import { LockClasses, liveSeries } from "./series.ts";
import { type AllSeries, INVARIANTS, METRICS } from "./table.ts";

export interface MetricsOptions {
  readonly classes: readonly string[];
  /** The key of the label of claims by which live claims are counted; null or unset: none. */
  readonly label?: string | null;
  /** Locks whose runs are shown. Unset: none. */
  readonly jobs?: readonly MonitoredJob[];
  readonly nodeMetrics: boolean;
}

/** Reports what is used of the bounds that a part of the server keeps, at each scrape: nothing is counted for it before. */
export type BoundSource = () => readonly BoundUse[];

export interface BuildInfo {
  readonly version: string;
  readonly node: string;
  readonly database: string;
}

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
  readonly #jobs: readonly MonitoredJob[];
  readonly #series: AllSeries;
  readonly #gauges: (() => void | Promise<void>)[] = [];
  readonly #bounds: BoundSource[] = [];

  constructor(options: MetricsOptions) {
    this.#classes = new LockClasses(options.classes);
    this.#label = options.label ?? null;
    this.#jobs = options.jobs ?? [];
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
    const locks = new LockGauges(this.#series, this.#classes, source, {
      label: this.#label,
      jobs: this.#jobs,
    });
    this.#gauges.push(() => locks.refresh());
    this.observeBounds(() => source.bounds());
    this.#gauges.push(() => {
      for (const { address, isChosen, isUsable } of source.servers()) {
        this.#series.databaseChosen.set(Number(isChosen), { address });
        this.#series.databaseUsable.set(Number(isUsable), { address });
      }
    });
  }

  observeBounds(source: BoundSource): void {
    this.#bounds.push(source);
  }

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

  filesRead({ kind, what }: FilesOutcome): void {
    const { reloadFailed, reloadSuccessSeconds } = this.#series;
    reloadFailed.set(kind === "failed" ? 1 : 0, { file: what });
    if (kind !== "failed") reloadSuccessSeconds.set(Date.now() / 1e3, { file: what });
  }

  certificatesInForce(ends: readonly CertificateEnd[]): void {
    for (const { file, end } of ends)
      this.#series.certificateExpiresSeconds.set(end.getTime() / 1e3, { file });
  }

  /** All metrics as they are now, for programs. */
  async values() {
    await this.#setGauges();
    return [...(await this.#registry.getMetricsAsJSON()), ...(await this.#nodeRegistry.getMetricsAsJSON())];
  }

  async #setGauges(): Promise<void> {
    await Promise.all(this.#gauges.map((set) => set()));
  }

  async render(accept = ""): Promise<{ readonly text: string; readonly contentType: string }> {
    await this.#setGauges();
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

function engineObserver(series: AllSeries): EngineObserver {
  return (event) => {
    switch (event.kind) {
      case "batch":
        series.transactionCommands.observe(event.commands);
        series.transactionLocks.observe(event.locks);
        return;
      case "answered":
        answered(series, event.command, event.outcome, event.lockName);
        series.commandSeconds.of(event.command.verb).observe(event.seconds);
        return;
      case "event":
        return happened(series, event.event, event.lockName);
      case "limit_rule_set":
        return series.limitChanges.of(event.isPool ? "pool" : "pattern").inc();
      case "retried":
        return series.transactionRetries.of(event.cause).inc();
      case "clock_jumped":
        return series.clockJumps.of(event.byUs > 0 ? "ahead" : "behind").inc();
      case "failed_over":
        return series.failOvers.inc();
      case "captured":
        series.captures.of(event.outcome).inc();
        series.captureRefusals.inc(event.refused);
        return;
      case "watch_sent":
        series.watchLocks.of("stands").inc(event.locks);
        series.watchLocks.of("deleted").inc(event.deleted);
        return;
      case "watch_began_anew":
        return series.watchesBegunAnew.of(event.cause).inc();
      case "deleted":
        return series.deletedRows.of(event.what).inc(event.rows);
      case "checked":
        return checked(series, event.findings);
      case "not_checked":
        return series.invariantFindings.replace([]);
      case "loop_failed":
        return series.loopFailures.of(event.loop).inc();
    }
  };
}

function checked({ invariantFindings }: AllSeries, findings: readonly { readonly check: string }[]): void {
  const counts = new Map(INVARIANTS.map((check) => [check, 0]));
  for (const { check } of findings) counts.set(check, (counts.get(check) ?? 0) + 1);
  invariantFindings.replace([...counts].map(([check, value]) => ({ labels: { check }, value })));
}

/** One command for several locks counts at each of them, as its claim does. */
function answered(series: AllSeries, command: Command, outcome: Outcome, lockName: string): void {
  if (command.verb === "acquire") {
    const answer = acquireOutcome(command, outcome);
    series.acquires.of(lockName).of(command.mode).of(answer).inc();
    if (command.also)
      for (const { name, mode } of command.also) series.acquires.of(name).of(mode).of(answer).inc();
  } else if (command.verb === "renew") {
    const answer = RENEWALS[outcome.kind] ?? outcome.kind;
    const members = "claim" in outcome ? outcome.claim.members : null;
    if (members) for (const { name } of members) series.renewals.of(name).of(answer).inc();
    else series.renewals.of(lockName).of(answer).inc();
  }
}

const RENEWALS: Partial<Record<Outcome["kind"], string>> = {
  held: "renewed",
  waiting: "not_held",
  ended: "lost",
  unknown_claim: "unknown",
};

/** A request that returned to its claim by its request id is `granted_before`, `queued_before` or `spent_before`: no new claim. */
function acquireOutcome(command: Acquire, outcome: Outcome): string {
  switch (outcome.kind) {
    case "held":
      return outcome.claim.secret === command.secret ? "granted" : "granted_before";
    case "waiting":
      return outcome.claim.secret === command.secret ? "queued" : "queued_before";
    case "ended":
      if (outcome.claim.endReason !== "spent") return outcome.kind;
      return outcome.claim.secret === command.secret ? "spent" : "spent_before";
    case "refused":
      return outcome.reason;
    default:
      return outcome.kind;
  }
}

function happened(series: AllSeries, event: Event, lockName: string) {
  switch (event.kind) {
    case "granted":
      series.waitSeconds
        .of(lockName)
        .of(event.queued ? "true" : "false")
        .observe(event.waitedUs / 1e6);
      return;
    case "enqueued":
      return series.enqueued.of(lockName).inc();
    case "ended": {
      const { endReason, endedAtUs, grantedAtUs } = event.claim;
      const ends = event.was === "waiting" ? series.ticketsEnded : series.leasesEnded;
      ends
        .of(lockName)
        .of(endReason ?? "released")
        .inc();
      if (event.was === "held" && endReason !== "spent")
        series.holdSeconds.of(lockName).observe(Math.max(0, (endedAtUs ?? 0) - (grantedAtUs ?? 0)) / 1e6);
      return;
    }
    case "limit_set":
      return series.limitChanges.of("name").inc();
    case "record_changed":
      return series.recordChanges.of(event.change).inc();
  }
}

function storeObserver(series: AllSeries): StoreObserver {
  return {
    statement: (name, seconds) => series.statementSeconds.of(name).observe(seconds),
    transaction(seconds, roundTrips, outcome) {
      series.transactionSeconds.of(outcome).observe(seconds);
      series.roundTrips.observe(roundTrips);
    },
    connection: (event) => series.connectionEvents.of(event).inc(),
    servers(event) {
      if (event.kind === "moved" && event.from !== null) series.databaseMoves.inc();
    },
  };
}

function callObserver(series: AllSeries): CallObserver {
  return {
    call(method, code, seconds, via, span) {
      series.calls.of(method).of(via).of(code).inc();
      series.callSeconds.of(method).observe(seconds, span);
    },
    streamOpened: () => series.openStreams.inc(),
    streamClosed: () => series.openStreams.inc(-1),
    sessionClosed: (code, seconds) => series.sessionSeconds.of(code).observe(seconds),
    poke: (event, claims) => series.pokes.of(event).inc(claims),
    sessionMessage(direction, items, bytes) {
      series.messageItems.of(direction).observe(items);
      series.sessionBytes.of(direction).inc(bytes);
    },
  };
}
