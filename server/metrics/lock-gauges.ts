// The queues as they are now, by class. Each scrape makes the database count all busy locks, in pages, so that the
// count does not hold others up. After a count, none begins for nine times as long as it took, and scrapes get the
// last one. The gauges are about the whole database, so every replica reports the same: take the maximum over
// replicas, not the sum. If the database is away they are left out; the scrape must not fail.

import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import type { LimitRule } from "../core/limit.ts";
import { effectiveLimit } from "../core/limit.ts";
import { totalHeld } from "../core/lock.ts";
import { isOwnName } from "../core/own-names.ts";
import { type BusyLock, REPLICAS_MAX, type Store } from "../storage/store.ts";
import type { LockClasses } from "./lock-classes.ts";

/** Several scrapers share a count for this time. */
const FRESH_MS = 3_000;
/** Rest after a count, as a multiple of its duration: counts take at most a tenth of the time. */
const REST_SHARE = 9;
/** How long the last count is shown while the next one runs. */
const SHOWN_MS_MAX = 60_000;
/** How long a scrape waits for a count: below the usual time-out of a scrape, 10 s. */
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
  /** Servers whose entry in the register has not run out. */
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
  /** No count begins before this performance.now(). */
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** A count that did not end in time. No second one begins beside it. */
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
      // prom-client collects all metrics at once and awaits each, so one read serves all.
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

  /** Counts again unless a count is recent. Never fails. */
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
    for (const { gauge } of this.#perClass) gauge.reset();
    this.#replicas.reset();
    this.#complete.set(0);
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
