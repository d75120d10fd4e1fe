// What the queues look like now, by class, counted in the database when somebody scrapes: all busy locks, in pages, so that
// others are not kept waiting. A count rests for nine times as long as it took; meanwhile scrapes are given the last one.
// They tell of the whole database, so every replica reports the same: take the maximum over replicas, not the sum. A
// database that is away leaves them out; it must not fail the scrape.

import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import type { LimitRule } from "../core/limit.ts";
import { effectiveLimit } from "../core/limit.ts";
import { totalHeld } from "../core/lock.ts";
import { isOwnName } from "../core/own-names.ts";
import { type BusyLock, REPLICAS_MAX, type Store } from "../storage/store.ts";
import type { LockClasses } from "./lock-classes.ts";

/** Several scrapers share a count. */
const FRESH_MS = 3_000;
/** A count takes a tenth of the time at the most. */
const REST_SHARE = 9;
/** How long a count is shown while the next one is under way. */
const SHOWN_MS_MAX = 60_000;
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
  readonly states: readonly ClassState[];
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
  /** performance.now() before which nothing is counted. */
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** A count that was not over in time: no further one is begun beside it. */
  #asked: Promise<Seen> | undefined;
  #shownMs = Number.NEGATIVE_INFINITY;

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
      help: "1 if the gauges of locks cover all busy locks, as counted within the last minute; 0 if they could not be counted.",
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

  /** Counts again unless that was done a moment ago. Never fails. */
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

  /** A database that is away shows in /readyz and the log; old numbers here would look like new ones. */
  #leaveOut(): void {
    for (const { gauge } of this.#perClass) gauge.reset();
    this.#replicas.reset();
    this.#complete.set(0);
    this.#shownMs = Number.NEGATIVE_INFINITY;
  }

  #ask(): Promise<Seen> {
    const beganMs = performance.now();
    const asked = this.#count();
    // Whoever waited for it may have gone on with the last one.
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

  /** One after the other: a scrape takes one connection, and leaves the rest to those who decide. */
  async #count(): Promise<Seen> {
    const states = this.#classes.labels.map(
      (): ClassState => ({ locks: 0, waiting: 0, heldPermits: 0, limitPermits: 0, oldestSinceUs: null }),
    );
    const rules = await this.#source.limitRules();
    await this.#source.busyLocks((locks) => {
      for (const lock of locks) this.#add(states, lock, rules);
    });
    const { nowUs, replicas } = await this.#source.replicas(REPLICAS_MAX);
    return { states, replicas: replicas.filter(({ deadlineUs }) => deadlineUs > nowUs).length };
  }

  #add(
    states: readonly ClassState[],
    { lock, oldestWaiterSinceUs }: BusyLock,
    rules: readonly LimitRule[],
  ): void {
    if (isOwnName(lock.name)) return;
    const state = states[this.#classes.indexOf(lock.name)] as ClassState;
    state.locks += 1;
    state.waiting += lock.waiting;
    state.heldPermits += totalHeld(lock);
    state.limitPermits += effectiveLimit(lock, rules).limit;
    if (oldestWaiterSinceUs === null) return;
    state.oldestSinceUs = Math.min(state.oldestSinceUs ?? oldestWaiterSinceUs, oldestWaiterSinceUs);
  }

  #set({ states, replicas }: Seen): void {
    const nowUs = Date.now() * 1_000;
    for (const { gauge, value } of this.#perClass) {
      for (const [index, label] of this.#classes.labels.entries()) {
        gauge.set({ class: label }, value(states[index] as ClassState, nowUs));
      }
    }
    this.#replicas.set(replicas);
    this.#complete.set(1);
    this.#shownMs = performance.now();
  }
}
