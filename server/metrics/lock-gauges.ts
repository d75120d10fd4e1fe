// The queues as they are now, by class. Each scrape makes the database count all busy locks, in pages, so that the
// count does not hold others up. After a count, none begins for nine times as long as it took, and scrapes get the
// last one. The gauges are about the whole database, so every replica reports the same: take the maximum over
// replicas, not the sum. If the database is away they are left out; the scrape must not fail.

import type { MonitoredJob } from "../config/setting-kinds.ts";
import { effectiveLimit, type LimitRule, patternOf } from "../core/limit.ts";
import { type Counters, isOwnName, totalHeld, waiterCount } from "../core/lock.ts";
import { poolPrefix } from "../core/pools.ts";
import { type BusyLock, type HistoryStats, REPLICAS_MAX, type Store } from "../storage/store.ts";
import { ByClass, type LockClasses } from "./series.ts";
import type { AllSeries } from "./table.ts";

/** Distinct values that are counted apart: some hundred kilobytes, while a count lasts. */
const COUNTED_MAX = 10_000;
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

  add(labels: Readonly<Record<string, string>>, what: "holders" | "waiters"): void {
    if (!Object.hasOwn(labels, this.#key)) return;
    const value = labels[this.#key] as string;
    const isNew = !this.#counts.has(value);
    const counted = isNew && this.#counts.size >= COUNTED_MAX ? OTHER : value;
    const counts = this.#counts.get(counted) ?? { holders: 0, waiters: 0 };
    counts[what] += 1;
    this.#counts.set(counted, counts);
  }

  get most(): readonly LabelCount[] {
    const all = [...this.#counts].map(([value, counts]) => ({ value, ...counts }));
    const known = all
      .filter(({ value }) => value !== OTHER)
      .sort((a, b) => b.holders + b.waiters - a.holders - a.waiters);
    const rest = [...known.slice(SHOWN_MAX), ...all.filter(({ value }) => value === OTHER)];
    const sum = (what: "holders" | "waiters") => rest.reduce((total, count) => total + count[what], 0);
    const other = { value: OTHER, holders: sum("holders"), waiters: sum("waiters") };
    return [...known.slice(0, SHOWN_MAX), ...(rest.length > 0 ? [other] : [])];
  }
}

/** A pool, or the sums of those that are not shown one by one. */
interface PoolCount {
  readonly pool: string;
  /** null: it has none. */
  readonly limit: number | null;
  readonly heldPermits: number;
  readonly waiting: number;
}

/** Several scrapers share a count for this time. */
const FRESH_MS = 3_000;
/** Rest after a count, as a multiple of its duration: counts take at most a tenth of the time. */
const REST_SHARE = 9;
/** How long the last count is shown while the next one runs. */
const SHOWN_MS_MAX = 60_000;
/** How long a scrape waits for a count: below the usual time-out of a scrape, 10 s. */
const READ_MS_MAX = 2_000;

type Reads = "busyLocks" | "furtherClaims" | "find" | "limitRules" | "views" | "replicas" | "historyStats";
export type LockSource = Pick<Store, Reads>;

interface ClassState {
  locks: number;
  waiting: number;
  heldPermits: number;
  limitPermits: number;
  oldestSinceUs: number | null;
}

/** By a job's record. */
interface JobRuns extends MonitoredJob {
  readonly lastSuccessUs: number;
  readonly failures: number;
}

/** What is counted beside classes of locks. */
export interface Counted {
  /** The key of the label of claims by which they are counted; null: none. */
  readonly label: string | null;
  /** Locks whose runs are shown. */
  readonly jobs: readonly MonitoredJob[];
}

interface Seen {
  readonly states: readonly ClassState[];
  readonly replicas: number;
  readonly byLabel: readonly LabelCount[];
  readonly pools: readonly PoolCount[];
  readonly jobs: readonly JobRuns[];
  readonly history: HistoryStats;
}

export class LockGauges {
  readonly #series: AllSeries;
  readonly #classes: LockClasses;
  readonly #source: LockSource;
  readonly #label: string | null;
  readonly #jobs: readonly MonitoredJob[];
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** A count that did not end in time. No second one begins beside it. */
  #asked: Promise<Seen> | undefined;
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(series: AllSeries, classes: LockClasses, source: LockSource, { label, jobs }: Counted) {
    this.#series = series;
    this.#classes = classes;
    this.#source = source;
    this.#label = label;
    this.#jobs = jobs;
    this.#show(null);
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
      if (seen === null && performance.now() - this.#shownMs > SHOWN_MS_MAX) this.#show(null);
    } catch {
      this.#show(null);
    } finally {
      clearTimeout(timer);
    }
  }

  #ask(): Promise<Seen> {
    const beganMs = performance.now();
    const asked = this.#count();
    // The scrape that waited for this count may have gone on with the last one.
    asked
      .then((seen) => this.#show(seen))
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
    const nothing: ClassState = {
      locks: 0,
      waiting: 0,
      heldPermits: 0,
      limitPermits: 0,
      oldestSinceUs: null,
    };
    const states = new ByClass<ClassState>(this.#classes, () => ({ ...nothing }));
    const rules = await this.#source.limitRules();
    const byLabel = this.#label === null ? null : new LabelCounts(this.#label);
    const busyPools: Counters[] = [];
    await this.#source.busyLocks((locks) => {
      for (const busy of locks) {
        if (!isOwnName(busy.lock.name)) add(states.of(busy.lock.name), busy, rules);
        if (poolPrefix(busy.lock.name) !== null) busyPools.push(busy.lock);
        if (busy.firstHolderLabels) byLabel?.add(busy.firstHolderLabels, "holders");
      }
    });
    if (byLabel)
      await this.#source.furtherClaims((claims) => {
        for (const { labels, state } of claims) byLabel.add(labels, state === "held" ? "holders" : "waiters");
      });
    const pools = await this.#poolCounts(busyPools, rules);
    const { nowUs, replicas } = await this.#source.replicas(REPLICAS_MAX);
    const alive = replicas.filter(({ deadlineUs }) => deadlineUs > nowUs).length;
    const history = await this.#source.historyStats();
    const jobs = this.#jobs.length === 0 ? [] : await this.#jobRuns();
    return { states: states.all, replicas: alive, byLabel: byLabel?.most ?? [], pools, jobs, history };
  }

  async #jobRuns(): Promise<JobRuns[]> {
    const ids = await this.#source.find(this.#jobs.map(({ name }) => name));
    const views = await this.#source.views([...ids.values()], 0);
    const records = new Map(views.map(({ lock }) => [lock.name, lock.record]));
    return this.#jobs.map((job) => {
      const record = records.get(job.name);
      return { ...job, lastSuccessUs: record?.lastSuccess?.endedAtUs ?? 0, failures: record?.failures ?? 0 };
    });
  }

  /** The pools with most claims, then idle ones: a pool has its gauges also while nobody uses it. */
  async #poolCounts(busy: Counters[], rules: readonly LimitRule[]): Promise<PoolCount[]> {
    const claims = ({ holders, waiting }: Counters) => holders + waiting;
    const most = busy.sort((a, b) => claims(b) - claims(a));
    const isBusy = new Set(most.map(({ id }) => id));
    const idle = rules.flatMap(({ poolId }) => (poolId && !isBusy.has(poolId) ? [poolId] : []));
    const shownIdle = await this.#source.views(idle.slice(0, Math.max(0, SHOWN_MAX - most.length)), 0);
    const shown = [...most.slice(0, SHOWN_MAX), ...shownIdle.map(({ lock }) => lock)].map(poolCount);
    const rest = most.slice(SHOWN_MAX);
    if (rest.length === 0) return shown;
    const sum = (of: (pool: Counters) => number) => rest.reduce((total, pool) => total + of(pool), 0);
    const other = {
      heldPermits: sum(({ heldPermits }) => heldPermits),
      waiting: sum(({ waiting }) => waiting),
    };
    return [...shown, { pool: OTHER, limit: null, ...other }];
  }

  /** null: leaves all out. An outage shows in /readyz and the log; old numbers here would look like new ones. */
  #show(seen: Seen | null): void {
    const series = this.#series;
    const nowUs = Date.now() * 1_000;
    const byClass = (show: (state: ClassState) => number) =>
      (seen?.states ?? []).map((state, index) => {
        return { labels: { class: this.#classes.labels[index] as string }, value: show(state) };
      });
    series.busyLocks.replace(byClass(({ locks }) => locks));
    series.waiters.replace(byClass(({ waiting }) => waiting));
    series.heldPermits.replace(byClass(({ heldPermits }) => heldPermits));
    series.limitPermits.replace(byClass(({ limitPermits }) => limitPermits));
    const ageSeconds = byClass(({ oldestSinceUs }) => Math.max(0, (nowUs - (oldestSinceUs ?? nowUs)) / 1e6));
    series.oldestWaiterSeconds.replace(ageSeconds);
    const label = this.#label ?? "";
    const byLabel = (what: "holders" | "waiters") =>
      (seen?.byLabel ?? []).map((count) => ({ labels: { label, value: count.value }, value: count[what] }));
    series.holdersByLabel.replace(byLabel("holders"));
    series.waitersByLabel.replace(byLabel("waiters"));
    const byPool = (show: (pool: PoolCount) => number | null) =>
      (seen?.pools ?? []).flatMap((pool) => {
        const value = show(pool);
        return value === null ? [] : [{ labels: { pool: pool.pool }, value }];
      });
    series.poolLimit.replace(byPool(({ limit }) => limit));
    series.poolHeldPermits.replace(byPool(({ heldPermits }) => heldPermits));
    series.poolWaiting.replace(byPool(({ waiting }) => waiting));
    const byJob = (show: (job: JobRuns) => number) =>
      (seen?.jobs ?? []).map((job) => ({ labels: { job_name: job.name }, value: show(job) }));
    series.jobLastSuccess.replace(byJob(({ lastSuccessUs }) => lastSuccessUs / 1e6));
    series.jobOkWithin.replace(byJob(({ okWithinMs }) => okWithinMs / 1_000));
    series.jobFailures.replace(byJob(({ failures }) => failures));
    const history = (show: (stats: HistoryStats) => number) =>
      seen ? [{ labels: {}, value: show(seen.history) }] : [];
    series.historyRows.replace(history(({ rows }) => rows));
    series.historyOverdueSeconds.replace(history(({ overdueUs }) => overdueUs / 1e6));
    series.replicas.set(seen?.replicas ?? 0);
    series.gaugesComplete.set(seen ? 1 : 0);
    this.#shownMs = seen ? performance.now() : Number.NEGATIVE_INFINITY;
  }
}

function poolCount({ name, limit, heldPermits, waiting }: Counters): PoolCount {
  return { pool: patternOf({ prefix: poolPrefix(name) ?? "" }), limit, heldPermits, waiting };
}

function add(state: ClassState, { lock, oldestWaiterSinceUs }: BusyLock, rules: readonly LimitRule[]): void {
  state.locks += 1;
  state.waiting += waiterCount(lock);
  state.heldPermits += totalHeld(lock);
  state.limitPermits += effectiveLimit(lock, rules).limit;
  if (oldestWaiterSinceUs === null) return;
  state.oldestSinceUs = Math.min(state.oldestSinceUs ?? oldestWaiterSinceUs, oldestWaiterSinceUs);
}
