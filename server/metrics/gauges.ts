// What is read at each scrape, and counted by nobody before: what is used of each bound, and the queues as they are now, by
// class. Each scrape makes the database count all busy locks, in pages, so that the count does not hold others up. After a
// count, none begins for nine times as long as it took, and scrapes get the last one. These gauges are about the whole
// database, so every replica reports the same: take the maximum over replicas, not the sum. If the database is away they
// are left out; the scrape must not fail.

import type { BoundUse } from "../core/bound-use.ts";
import { effectiveLimit, type LimitRule } from "../core/limit.ts";
import { isOwnName, totalHeld } from "../core/lock.ts";
import { type BusyLock, type HistoryStats, REPLICAS_MAX, type Store } from "../storage/store.ts";
import { ByClass, type LockClasses } from "./series.ts";
import type { AllSeries } from "./table.ts";

/** Reports the bounds that a part of the server keeps. */
export type BoundSource = () => readonly BoundUse[];

export class BoundGauges {
  readonly #series: AllSeries;
  readonly #sources: BoundSource[] = [];
  /** The bounds of the last scrape. */
  #shown: readonly BoundUse[] = [];

  constructor(series: AllSeries) {
    this.#series = series;
  }

  add(source: BoundSource): void {
    this.#sources.push(source);
  }

  refresh(): void {
    const { boundUsed, boundMax } = this.#series;
    // A quota that nobody uses any more is not reported.
    for (const { bound, kind } of this.#shown)
      for (const gauge of [boundUsed, boundMax]) gauge.of(bound).of(kind).leaveOut();
    this.#shown = this.#sources.flatMap((source) => source()).filter(({ max }) => Number.isFinite(max));
    for (const { bound, kind, used, max } of this.#shown) {
      boundUsed.of(bound).of(kind).set(used);
      boundMax.of(bound).of(kind).set(max);
    }
  }
}

/** Distinct values that are counted apart: some hundred kilobytes, while a count lasts. */
const COUNTED_MAX = 10_000;
/** Values that are shown: those with the most claims. */
const SHOWN_MAX = 50;
const OTHER = "other";

export interface LabelCount {
  readonly value: string;
  readonly holders: number;
  readonly waiters: number;
}

export class LabelCounts {
  readonly #key: string;
  readonly #counts = new Map<string, { holders: number; waiters: number }>();

  constructor(key: string) {
    this.#key = key;
  }

  /** Claims without the label are not counted. */
  add(labels: Readonly<Record<string, string>>, what: "holders" | "waiters"): void {
    if (!Object.hasOwn(labels, this.#key)) return;
    const value = labels[this.#key] as string;
    const isNew = !this.#counts.has(value);
    const counted = isNew && this.#counts.size >= COUNTED_MAX ? OTHER : value;
    const counts = this.#counts.get(counted) ?? { holders: 0, waiters: 0 };
    counts[what] += 1;
    this.#counts.set(counted, counts);
  }

  /** The values with the most claims first, and OTHER last. */
  get most(): readonly LabelCount[] {
    const all = [...this.#counts].map(([value, counts]) => ({ value, ...counts }));
    const known = all.filter(({ value }) => value !== OTHER).sort((a, b) => totalOf(b) - totalOf(a));
    const rest = [...known.slice(SHOWN_MAX), ...all.filter(({ value }) => value === OTHER)];
    const sum = (what: "holders" | "waiters") => rest.reduce((total, count) => total + count[what], 0);
    const other = { value: OTHER, holders: sum("holders"), waiters: sum("waiters") };
    return [...known.slice(0, SHOWN_MAX), ...(rest.length > 0 ? [other] : [])];
  }
}

function totalOf({ holders, waiters }: LabelCount): number {
  return holders + waiters;
}

/** Several scrapers share a count for this time. */
const FRESH_MS = 3_000;
/** Rest after a count, as a multiple of its duration: counts take at most a tenth of the time. */
const REST_SHARE = 9;
/** How long the last count is shown while the next one runs. */
const SHOWN_MS_MAX = 60_000;
/** How long a scrape waits for a count: below the usual time-out of a scrape, 10 s. */
const READ_MS_MAX = 2_000;

/** The part of a store that the gauges read. */
export type LockSource = Pick<
  Store,
  "busyLocks" | "furtherClaims" | "limitRules" | "replicas" | "historyStats"
>;

/** What is counted of one class. */
interface ClassState {
  locks: number;
  waiting: number;
  heldPermits: number;
  limitPermits: number;
  oldestSinceUs: number | null;
}

interface Seen {
  readonly states: readonly ClassState[];
  /** Servers whose entry in the register has not run out. */
  readonly replicas: number;
  readonly byLabel: readonly LabelCount[];
  readonly history: HistoryStats;
}

export class LockGauges {
  readonly #series: AllSeries;
  readonly #classes: LockClasses;
  readonly #source: LockSource;
  readonly #label: string | null;
  /** No count begins before this performance.now(). */
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** A count that did not end in time. No second one begins beside it. */
  #asked: Promise<Seen> | undefined;
  #shownMs = Number.NEGATIVE_INFINITY;

  /** `label`: the key of the label of claims by which they are also counted; null: none. */
  constructor(series: AllSeries, classes: LockClasses, source: LockSource, label: string | null) {
    this.#series = series;
    this.#classes = classes;
    this.#source = source;
    this.#label = label;
    this.#leaveOut();
  }

  /** Counts again unless a count is recent. Scrapes at the same time share one count. Never fails. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const isResting = !this.#asked && performance.now() < this.#restUntilMs;
    if (isResting) return;
    const timeout = Promise.withResolvers<null>();
    const timer = setTimeout(() => timeout.resolve(null), READ_MS_MAX);
    try {
      this.#asked ??= this.#ask();
      const seen = await Promise.race([this.#asked, timeout.promise]);
      if (seen === null && performance.now() - this.#shownMs > SHOWN_MS_MAX) this.#leaveOut();
    } catch {
      this.#leaveOut();
    } finally {
      clearTimeout(timer);
    }
  }

  /** An outage of the database shows in /readyz and the log. Old numbers here would look like new ones. */
  #leaveOut(): void {
    const { busyLocks, waiters, heldPermits, limitPermits, oldestWaiterSeconds } = this.#series;
    for (const gauge of [busyLocks, waiters, heldPermits, limitPermits, oldestWaiterSeconds])
      for (const ofClass of gauge.all) ofClass.leaveOut();
    for (const gauge of [this.#series.holdersByLabel, this.#series.waitersByLabel]) gauge.replace([]);
    for (const gauge of [this.#series.historyRows, this.#series.historyOverdueSeconds]) gauge.leaveOut();
    this.#series.replicas.set(0);
    this.#series.gaugesComplete.set(0);
    this.#shownMs = Number.NEGATIVE_INFINITY;
  }

  #ask(): Promise<Seen> {
    const beganMs = performance.now();
    const asked = this.#count();
    // The scrape that waited for this count may have gone on with the last one.
    asked
      .then((seen) => this.#set(seen))
      .catch(() => {})
      .finally(() => {
        this.#asked = undefined;
        const endedMs = performance.now();
        this.#restUntilMs = endedMs + Math.max(FRESH_MS, (endedMs - beganMs) * REST_SHARE);
      });
    return asked;
  }

  /** Reads one thing after the other: a scrape takes one connection, and leaves the rest to decisions. */
  async #count(): Promise<Seen> {
    const states = new ByClass<ClassState>(this.#classes, () => ({
      locks: 0,
      waiting: 0,
      heldPermits: 0,
      limitPermits: 0,
      oldestSinceUs: null,
    }));
    const rules = await this.#source.limitRules();
    const byLabel = this.#label === null ? null : new LabelCounts(this.#label);
    await this.#source.busyLocks((locks) => {
      for (const busy of locks) {
        if (!isOwnName(busy.lock.name)) add(states.of(busy.lock.name), busy, rules);
        if (busy.firstHolderLabels) byLabel?.add(busy.firstHolderLabels, "holders");
      }
    });
    if (byLabel)
      await this.#source.furtherClaims((claims) => {
        for (const { labels, state } of claims) byLabel.add(labels, state === "held" ? "holders" : "waiters");
      });
    const { nowUs, replicas } = await this.#source.replicas(REPLICAS_MAX);
    const alive = replicas.filter(({ deadlineUs }) => deadlineUs > nowUs).length;
    const history = await this.#source.historyStats();
    return { states: states.all, replicas: alive, byLabel: byLabel?.most ?? [], history };
  }

  #set({ states, replicas, byLabel, history }: Seen): void {
    const series = this.#series;
    const nowUs = Date.now() * 1_000;
    for (const [index, state] of states.entries()) {
      const { oldestSinceUs } = state;
      series.busyLocks.all[index]?.set(state.locks);
      series.waiters.all[index]?.set(state.waiting);
      series.heldPermits.all[index]?.set(state.heldPermits);
      series.limitPermits.all[index]?.set(state.limitPermits);
      const ageSeconds = oldestSinceUs === null ? 0 : Math.max(0, (nowUs - oldestSinceUs) / 1e6);
      series.oldestWaiterSeconds.all[index]?.set(ageSeconds);
    }
    const label = this.#label ?? "";
    const samples = (what: "holders" | "waiters") =>
      byLabel.map(({ value, ...counts }) => ({ labels: { label, value }, value: counts[what] }));
    series.holdersByLabel.replace(samples("holders"));
    series.waitersByLabel.replace(samples("waiters"));
    series.historyRows.set(history.rows);
    series.historyOverdueSeconds.set(history.overdueUs / 1e6);
    series.replicas.set(replicas);
    series.gaugesComplete.set(1);
    this.#shownMs = performance.now();
  }
}

function add(state: ClassState, { lock, oldestWaiterSinceUs }: BusyLock, rules: readonly LimitRule[]): void {
  state.locks += 1;
  state.waiting += lock.waiting;
  state.heldPermits += totalHeld(lock);
  state.limitPermits += effectiveLimit(lock, rules).limit;
  if (oldestWaiterSinceUs === null) return;
  state.oldestSinceUs = Math.min(state.oldestSinceUs ?? oldestWaiterSinceUs, oldestWaiterSinceUs);
}
