// What the queues look like now, by class, read from the database when somebody scrapes: at most one read every few
// seconds, bounded in rows and in time. They tell of the whole database, so every replica reports the same: take the
// maximum over replicas, not the sum. A database that is away leaves them out; it must not fail the scrape.

import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import type { LimitRule } from "../core/limit.ts";
import { effectiveLimit } from "../core/limit.ts";
import { totalHeld } from "../core/lock.ts";
import { type BusyLock, REPLICAS_MAX, type Store } from "../storage/store.ts";
import type { LockClasses } from "./lock-classes.ts";

/** Locks that one read looks at, those with most waiters first: some milliseconds on an embedded database. */
const BUSY_LOCKS_MAX = 2_000;
/** Several scrapers share a read. */
const FRESH_MS = 3_000;
/** Below the usual time-out of a scrape, 10 s. */
const READ_MS_MAX = 2_000;

/** The part of a store that the gauges read. */
export type LockSource = Pick<Store, "busyLocks" | "limitRules" | "replicas">;

interface ClassState {
  locks: number;
  waiting: number;
  heldPermits: number;
  limitPermits: number;
  oldestSinceUs: number | null;
}

interface Seen {
  readonly busy: readonly BusyLock[];
  readonly rules: readonly LimitRule[];
  /** Heard of a moment ago. */
  readonly replicas: number;
}

export class LockGauges {
  readonly #classes: LockClasses;
  readonly #source: LockSource;
  readonly #perClass: {
    readonly gauge: Gauge<"class">;
    readonly value: (state: ClassState, nowUs: number) => number;
  }[];
  readonly #complete: Gauge;
  readonly #replicas: Gauge;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** A read that was not answered in time: no further one is begun beside it. */
  #asked: Promise<Seen> | undefined;

  constructor(registry: Registry, classes: LockClasses, source: LockSource) {
    this.#classes = classes;
    this.#source = source;
    const registers = [registry];
    const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ["class"], registers });
    this.#perClass = [
      {
        gauge: gauge("rowlock_busy_locks", "Locks that are held or waited for. The same at every replica."),
        value: (state) => state.locks,
      },
      {
        gauge: gauge("rowlock_waiters", "Claims that wait. The same at every replica."),
        value: (state) => state.waiting,
      },
      {
        gauge: gauge(
          "rowlock_held_permits",
          "Permits, readers and writers that hold. The same at every replica.",
        ),
        value: (state) => state.heldPermits,
      },
      {
        gauge: gauge(
          "rowlock_limit_permits",
          "Sum of the limits in force of busy locks. The same at every replica.",
        ),
        value: (state) => state.limitPermits,
      },
      {
        gauge: gauge(
          "rowlock_oldest_waiter_age_seconds",
          "How long the one who waits longest has waited, by this server's clock; 0 if nobody waits.",
        ),
        value: (state, nowUs) =>
          state.oldestSinceUs === null ? 0 : Math.max(0, (nowUs - state.oldestSinceUs) / 1e6),
      },
    ];
    this.#complete = new Gauge({
      name: "rowlock_lock_gauges_complete",
      help: `1 if the gauges of locks cover all busy locks, 0 if there are more than ${BUSY_LOCKS_MAX} or none could be read.`,
      registers,
      // prom-client collects all metrics at once and waits for each, so one of them reads for all.
      collect: () => this.refresh(),
    });
    this.#replicas = new Gauge({
      name: "rowlock_replicas",
      help: "Servers over the database that were heard of in the last 20 s. The same at every replica.",
      registers,
    });
    for (const gauge of [this.#replicas, ...this.#perClass.map(({ gauge }) => gauge)])
      Object.assign(gauge, { collect: () => this.refresh() });
  }

  /** Reads again unless that was done a moment ago. Never fails. */
  refresh(): Promise<void> {
    if (performance.now() - this.#readAtMs < FRESH_MS) return Promise.resolve();
    this.#reading ??= this.#read().finally(() => {
      this.#readAtMs = performance.now();
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const timeout = Promise.withResolvers<never>();
    const timer = setTimeout(() => timeout.reject(new Error("timed out")), READ_MS_MAX);
    try {
      this.#asked ??= this.#ask().finally(() => {
        this.#asked = undefined;
      });
      this.#set(await Promise.race([this.#asked, timeout.promise]));
    } catch {
      // A database that is away shows in /readyz and the log; old numbers here would look like new ones.
      for (const { gauge } of this.#perClass) gauge.reset();
      this.#replicas.reset();
      this.#complete.set(0);
    } finally {
      clearTimeout(timer);
    }
  }

  /** One after the other: a scrape takes one connection, and leaves the rest to those who decide. */
  async #ask(): Promise<Seen> {
    const busy = await this.#source.busyLocks(BUSY_LOCKS_MAX);
    const rules = await this.#source.limitRules();
    const { nowUs, replicas } = await this.#source.replicas(REPLICAS_MAX);
    return { busy, rules, replicas: replicas.filter(({ deadlineUs }) => deadlineUs > nowUs).length };
  }

  #set({ busy, rules, replicas }: Seen): void {
    const states = this.#classes.labels.map(
      (): ClassState => ({ locks: 0, waiting: 0, heldPermits: 0, limitPermits: 0, oldestSinceUs: null }),
    );
    for (const { lock, oldestWaiterSinceUs } of busy) {
      const state = states[this.#classes.indexOf(lock.name)] as ClassState;
      state.locks += 1;
      state.waiting += lock.waiting;
      state.heldPermits += totalHeld(lock);
      state.limitPermits += effectiveLimit(lock, rules).limit;
      if (oldestWaiterSinceUs === null) continue;
      state.oldestSinceUs = Math.min(state.oldestSinceUs ?? oldestWaiterSinceUs, oldestWaiterSinceUs);
    }
    const nowUs = Date.now() * 1_000;
    for (const { gauge, value } of this.#perClass) {
      for (const [index, label] of this.#classes.labels.entries()) {
        gauge.set({ class: label }, value(states[index] as ClassState, nowUs));
      }
    }
    this.#replicas.set(replicas);
    this.#complete.set(busy.length < BUSY_LOCKS_MAX ? 1 : 0);
  }
}
