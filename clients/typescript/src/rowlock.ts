// The client: one connection for all locks of a program.

import { Acquisition } from "./acquisition.ts";
import { Capture, type CaptureOptions } from "./capture.ts";
import { Clock } from "./clock.ts";
import { Calls } from "./connection/calls.ts";
import { Connections } from "./connection/connections.ts";
import { HeldLocks } from "./held-locks.ts";
import { HeldLease } from "./leases/held-lease.ts";
import { LeaseKeeper } from "./leases/lease-keeper.ts";
import { LeftBehind } from "./leases/left-behind.ts";
import type { Lock } from "./lock.ts";
import { protoMode } from "./modes.ts";
import { type ConnectOptions, type LockOptions, marginOf, type Settings, settingsOf } from "./options.ts";
import type { LockChanges, RecordView, ReleaseOptions } from "./records.ts";
import type { Refusal } from "./refusal.ts";
import { RowlockError } from "./rowlock-error.ts";
import { msOf } from "./times.ts";
import {
  type ForceReleaseTarget,
  type LimitInForce,
  type LimitTarget,
  type ListLocksOptions,
  type SetLimitOptions,
  Verbs,
} from "./verbs.ts";
import type { ClaimView, LimitSettingView, LockView } from "./views.ts";
import { Watch, type WatchOptions, type WatchUpdate } from "./watch.ts";

/** What closing may take: to give back what is held, and then to close the connection in good order. */
const GIVE_BACK_WITHIN_MS = 2_000;
const CLOSE_WITHIN_MS = 1_000;

/** What became of a request: one of the two. */
export type Outcome =
  | { readonly lock: Lock; readonly refusal?: undefined }
  | { readonly lock?: undefined; readonly refusal: Refusal };

/** What was taken of many locks; and when there was nothing, when another try may be worth while, if that is known. */
export interface Captured {
  readonly locks: readonly Lock[];
  readonly retryAfterMs?: number;
}

/** A lease that was renewed by its id. */
export interface RenewedLease {
  readonly leaseId: string;
  readonly name: string;
  readonly token: bigint;
  /** Time left; undefined: without end. */
  readonly ttlMs: number | undefined;
}

/** Makes a client. Nothing is sent before something is asked for. Throws a RangeError for options that cannot work. */
export function connect(options: ConnectOptions): Rowlock {
  return new Rowlock(settingsOf(options));
}

export class Rowlock implements AsyncDisposable {
  readonly #settings: Settings;
  readonly #clock = new Clock();
  readonly #connections: Connections;
  readonly #calls: Calls;
  readonly #keeper: LeaseKeeper;
  readonly #verbs: Verbs;
  readonly #waits = new Set<Acquisition | Capture | Watch>();
  readonly #leftBehind: LeftBehind;
  readonly #locks: HeldLocks;
  #closed: Promise<void> | undefined;

  /** Made by `connect`. */
  constructor(settings: Settings) {
    const clock = this.#clock;
    this.#settings = settings;
    this.#calls = new Calls({
      need: () => this.#connections.need(),
      lastError: () => this.#connections.lastError,
      addresses: settings.addresses,
      clock,
    });
    this.#keeper = new LeaseKeeper({
      calls: this.#calls,
      clock,
      open: () => this.#connections.open,
      need: () => this.#connections.need(),
      leave: (error) => this.#connections.leave(error),
    });
    this.#verbs = new Verbs(this.#calls, settings.giveUpAfter);
    this.#leftBehind = new LeftBehind(settings, (id) => this.#keeper.find(id) !== undefined);
    this.#locks = new HeldLocks(this.#keeper, this.#verbs, this.#leftBehind);
    this.#connections = new Connections({
      settings,
      clock,
      isNeeded: () => this.#calls.size > 0 || this.#keeper.size > 0,
      onBegun: (connection) => {
        this.#keeper.begun(connection);
        this.#calls.begun(connection);
      },
      onNews: (_, { opened, results = [], confirmed = [], lost = [] }, basisMs) => {
        this.#keeper.confirmed(confirmed, basisMs);
        this.#calls.results(results, basisMs);
        this.#keeper.lost(lost);
        if (opened) this.#calls.opened();
      },
      onLeaving: (connection, error) => {
        this.#keeper.orphaned();
        this.#calls.leaving(connection, error);
      },
      onEnded: (connection, error) => this.#calls.ended(connection, error),
      onHopeless: (error) => this.#calls.failAll(error),
    });
  }

  /**
   * Waits for the lock and holds it. Renewed until it is released: at the end of its scope with `await using`. Throws a
   * RowlockError where it is refused (`wait` is over, for one), and the reason of `signal`.
   */
  async lock(name: string, options: LockOptions = {}): Promise<Lock> {
    const { lock, refusal } = await this.acquire(name, options);
    if (!lock) throw RowlockError.refused(name, refusal);
    return lock;
  }

  /** The lock if it is free now; otherwise null. */
  async tryLock(name: string, options: Omit<LockOptions, "wait" | "onPosition"> = {}): Promise<Lock | null> {
    const { lock, refusal } = await this.acquire(name, { ...options, wait: 0 });
    if (lock) return lock;
    if (["BUSY", "PAUSED", "NOT_BEFORE"].includes(refusal.reason)) return null;
    throw RowlockError.refused(name, refusal);
  }

  /**
   * Runs `work` while holding the lock, and releases it. Throws what `work` throws; and LEASE_LOST where the lock was lost
   * before `work` had finished, as then others may have run beside it. `work` should stop when `lock.signal` is aborted.
   */
  async withLock<Value>(name: string, work: (lock: Lock) => Value | Promise<Value>): Promise<Value>;
  async withLock<Value>(
    name: string,
    options: LockOptions,
    work: (lock: Lock) => Value | Promise<Value>,
  ): Promise<Value>;
  async withLock<Value>(
    name: string,
    first: LockOptions | ((lock: Lock) => Value | Promise<Value>),
    second?: (lock: Lock) => Value | Promise<Value>,
  ): Promise<Value> {
    const [options, work] =
      typeof first === "function" ? [{}, first] : [first, second as NonNullable<typeof second>];
    const lock = await this.lock(name, options);
    try {
      const value = await work(lock);
      const isOver = lock.state === "lost";
      if (isOver && lock.signal.reason.reason === "LEASE_LOST") throw lock.signal.reason;
      await lock[Symbol.asyncDispose]();
      // Work that has released it was told so itself.
      if (!isOver && this.#locks.hadEnded(lock)) throw RowlockError.hadEnded(name);
      return value;
    } finally {
      await lock[Symbol.asyncDispose]();
    }
  }

  /** The lock, or why not: for those to whom a refusal is an answer. */
  async acquire(name: string, options: LockOptions = {}): Promise<Outcome> {
    const acquisition = new Acquisition({
      ...this.#asking(options),
      name,
      giveBackUnheard: (request) => this.#leftBehind.addRequest(request),
      isShared: (one) => this.#isShared(one),
    });
    if (options.requestId !== undefined) this.#leftBehind.forget(options.requestId);
    this.#waits.add(acquisition);
    try {
      const outcome = await acquisition.run();
      return outcome instanceof HeldLease
        ? { lock: this.#locks.add(outcome, options) }
        : { refusal: outcome };
    } finally {
      this.#waits.delete(acquisition);
    }
  }

  /**
   * Leases on up to `count` of many locks that are free and due, have attempts left and one of the statuses of `ifStatus`:
   * those longest due first. Each is kept and renewed like any other, until it is released. None is an answer, too.
   */
  async capture(options: CaptureOptions): Promise<Captured> {
    const capture = new Capture({
      ...this.#asking(options),
      letGo: (lease) => this.#locks.letGo(lease, options),
    });
    this.#waits.add(capture);
    try {
      const { leases, retryAfterMs } = await capture.run();
      const locks = leases.map((lease) => this.#locks.add(lease, options));
      return { locks, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    } finally {
      this.#waits.delete(capture);
    }
  }

  /**
   * Ends a lease, or gives up a place, by its id. Whether it was this call that ended it. `options` say what the lock
   * remembers of it.
   */
  async release(leaseId: string, options: ReleaseOptions = {}): Promise<boolean> {
    const lock = this.#locks.find(leaseId);
    return lock ? await lock.release(options) : (await this.#open().release(leaseId, options)).released;
  }

  /**
   * Sets any of what a lock remembers, and makes the lock where nobody has named it yet. It is not repeated when
   * its answer is lost, as that could undo what others have set since.
   */
  updateLock(name: string, changes: LockChanges): Promise<RecordView> {
    return this.#open().updateLock(name, changes);
  }

  /** Takes away what a lock remembers. Whether there was anything. LOCK_IN_USE while it is held or waited for. */
  deleteLock(name: string, options: Pick<LockChanges, "ifVersion"> = {}): Promise<boolean> {
    return this.#open().deleteLock(name, options);
  }

  /** Renews a lease once, by its id; to `ttl` milliseconds where that is given. */
  async renew(leaseId: string, { ttl }: { readonly ttl?: number } = {}): Promise<RenewedLease> {
    const lease = await this.#open().renew(leaseId, ttl);
    const { lockName: name, fencingToken: token } = lease;
    return { leaseId, name, token, ttlMs: lease.ttl && msOf(lease.ttl) };
  }

  /** Sets a limit; `null` takes the setting away. It is not repeated when its answer is lost, as that could undo what others have set since. */
  setLimit(target: LimitTarget, limit: number | null, options: SetLimitOptions = {}): Promise<LimitInForce> {
    return this.#open().setLimit(target, limit, options);
  }

  getLock(name: string): Promise<LockView> {
    return this.#open().getLock(name);
  }

  /** All pages, one after the other. */
  listLocks(options: ListLocksOptions = {}): AsyncGenerator<LockView, void, undefined> {
    return this.#open().listLocks(options);
  }

  /** The limits that were set, for names and patterns that begin with `prefix`. */
  listLimits({
    prefix = "",
  }: {
    readonly prefix?: string;
  } = {}): AsyncGenerator<LimitSettingView, void, undefined> {
    return this.#open().listLimits(prefix);
  }

  /**
   * The locks whose names begin with `prefix` as they stand, and then each that has changed, until `signal` is aborted or the
   * loop is left. It goes on through another server where one goes away, and begins anew by that.
   */
  async *watchLocks(options: WatchOptions = {}): AsyncGenerator<WatchUpdate, void, undefined> {
    if (this.#closed) throw RowlockError.closed();
    const watch = new Watch({
      ...options,
      calls: this.#calls,
      giveUpAfterMs: this.#settings.giveUpAfter,
    });
    this.#waits.add(watch);
    try {
      yield* watch.updates();
    } finally {
      this.#waits.delete(watch);
    }
  }

  /**
   * An operator's tool: ends all holders of a lock, up to 500 in one call, or one claim. Of a name it is not repeated when
   * its answer is lost, as that would end those who were granted the lock by it.
   */
  forceRelease(
    target: ForceReleaseTarget,
    reason: string,
  ): Promise<{ readonly ended: readonly ClaimView[]; readonly remaining: number }> {
    return this.#open().forceRelease(target, reason);
  }

  /** Gives up all waits, releases all locks, and closes the connection. Can be called twice. Never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const wait of [...this.#waits]) wait.abandon(RowlockError.closed());
    this.#locks.releaseAll();
    // The first request of a connection has commands, too, before anything was heard of its server.
    if (this.#calls.isOwed) {
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, GIVE_BACK_WITHIN_MS);
      await Promise.race([this.#calls.idle(), late.promise]);
      clearTimeout(timer);
    }
    this.#keeper.stop();
    this.#calls.failAll(RowlockError.closed());
    await this.#connections.close(CLOSE_WITHIN_MS);
  }

  /** What a request for leases goes by. Throws a RangeError for a margin or a mode that cannot work. */
  #asking<Asked extends LockOptions | CaptureOptions>(asked: Asked) {
    const marginMs = marginOf(asked);
    if ("mode" in asked && asked.mode !== undefined) protoMode(asked.mode);
    if (this.#closed) throw RowlockError.closed();
    return {
      calls: this.#calls,
      clock: this.#clock,
      asked,
      giveUpAfterMs: this.#settings.giveUpAfter,
      marginMs,
      find: (leaseId: string) => this.#keeper.find(leaseId),
      keep: (lease: HeldLease) => this.#keeper.keep(lease),
      giveBack: (id: string) => this.#locks.giveBack(id, asked),
    };
  }

  /** Of two calls under one request id, the one that is given up leaves the claim to the other. */
  #isShared(acquisition: Acquisition): boolean {
    const { sharedId } = acquisition;
    if (sharedId === undefined) return false;
    const isOther = (one: object): one is Acquisition => one instanceof Acquisition && one !== acquisition;
    return [...this.#waits].some((one) => isOther(one) && one.sharedId === sharedId && !one.isSettled);
  }

  #open(): Verbs {
    if (this.#closed) throw RowlockError.closed();
    return this.#verbs;
  }
}
