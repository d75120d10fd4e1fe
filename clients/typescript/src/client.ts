// The client: one connection for all locks of a program.

import { Acquisition } from "./acquisition.ts";
import { namesOf, tokensOf } from "./also.ts";
import { Capture, type CaptureOptions } from "./capture.ts";
import { presentedTls } from "./channels.ts";
import {
  CAPTURE,
  CHANGE,
  CHANGES,
  CONNECT,
  checkFunction,
  checkName,
  checkOptions,
  LOCK,
  RELEASE,
  SET_LIMIT,
  SPEND,
  WATCH,
  WORK,
} from "./checked-options.ts";
import { Clock } from "./clock.ts";
import { closeOnSignal } from "./close-on-signal.ts";
import { Calls } from "./connection/calls.ts";
import { Connections } from "./connection/connections.ts";
import { diagnose } from "./diagnosis.ts";
import { HeldLocks } from "./held-locks.ts";
import type {
  ChangeView,
  ListChangesOptions,
  ListClaimsOptions,
  WaitExplanation,
  WaitTarget,
} from "./history.ts";
import { HeldLease } from "./leases/held-lease.ts";
import { LeaseKeeper } from "./leases/lease-keeper.ts";
import { LeftBehind } from "./leases/left-behind.ts";
import type { Lock } from "./lock.ts";
import { protoMode } from "./mode.ts";
import {
  type ConnectionEvent,
  type ConnectOptions,
  type LockOptions,
  marginOf,
  type Settings,
  settingsOf,
} from "./options.ts";
import type { QueueRules } from "./queue-rules.ts";
import type { Rate, SpendOptions, Spent } from "./rates.ts";
import type { RecordChanges, RecordView, ReleaseOptions } from "./records.ts";
import { heldByYou, type Refusal, type RefusalName } from "./refusal.ts";
import { RowlockError } from "./rowlock-error.ts";
import { Telemetry } from "./telemetry.ts";
import { msOf } from "./times.ts";
import {
  type ForceReleased,
  type ForceReleaseTarget,
  type LimitInForce,
  type LimitTarget,
  type ListOptions,
  limitTargetOf,
  type SetLimitOptions,
  type SetQueueRulesOptions,
  type SetRateOptions,
  Verbs,
} from "./verbs.ts";
import type { ClaimView, LimitSetting, LockView } from "./views.ts";
import { heldByYouText, WaitLedger, WaitNotices } from "./wait-notices.ts";
import { Watch, type WatchOptions, type WatchUpdate } from "./watch.ts";
import { Work, type WorkOptions } from "./work.ts";
import { type Under, WorkUnderLock } from "./work-under-lock.ts";

/** Refusals of a request that does not wait, after which the same request may be granted. */
const LATER: readonly RefusalName[] = ["BUSY", "PAUSED", "NOT_BEFORE", "RATE"];
/** How long closing may take to give back the leases, and then to close the connection gracefully. */
const GIVE_BACK_WITHIN_MS = 2_000;
const CLOSE_WITHIN_MS = 1_000;

/** The result of `acquire`: a lock or a refusal. */
export type Outcome =
  | { readonly lock: Lock; readonly refusal?: undefined }
  | { readonly lock?: undefined; readonly refusal: Refusal };

/** The result of a capture: the locks, longest due first. */
export interface Captured {
  readonly locks: readonly Lock[];
  /** If there are no locks: how long until another try may succeed, a hint; unset if the server does not know. */
  readonly retryAfterMs?: number;
}

/** The result of a renewal by id. */
export interface RenewedLease {
  readonly leaseId: string;
  readonly name: string;
  readonly token: bigint;
  /** The fencing tokens of all its locks by name, the first one first. */
  readonly tokens: ReadonlyMap<string, bigint>;
  /** The time left, in milliseconds; undefined: without end. */
  readonly ttlMs: number | undefined;
}

/** Makes a client. It connects with the first call. Throws a RangeError if an option cannot work. */
export function connect(options: ConnectOptions): RowlockClient {
  checkOptions(options, CONNECT, ["addresses"]);
  return new RowlockClient(settingsOf(options));
}

/**
 * One connection for all locks of a program. Its calls reject with a RowlockError, and with CLOSED after `close`. The
 * client repeats a call whose answer was lost, unless the call's comment says otherwise.
 */
export class RowlockClient implements AsyncDisposable {
  readonly #settings: Settings;
  readonly #clock = new Clock();
  readonly #telemetry: Telemetry;
  readonly #connections: Connections;
  readonly #calls: Calls;
  readonly #keeper: LeaseKeeper;
  readonly #verbs: Verbs;
  readonly #waits = new Set<Acquisition | Capture | Watch | Work>();
  readonly #leftBehind: LeftBehind;
  readonly #locks: HeldLocks;
  #closed: Promise<void> | undefined;
  readonly #work = new WorkUnderLock();
  readonly #waitLedger = new WaitLedger();
  #forgetSignals = () => {};

  /** For `connect` only. */
  constructor(settings: Settings) {
    const clock = this.#clock;
    this.#settings = settings;
    if (settings.releaseOnExit) this.#forgetSignals = closeOnSignal(() => this.close());
    this.#calls = new Calls({
      need: () => this.#connections.need(),
      lastError: () => this.#connections.lastError,
      diagnoses: () => this.#connections.diagnoses,
      addresses: settings.addresses,
      clock,
    });
    this.#telemetry = new Telemetry(settings);
    this.#keeper = new LeaseKeeper({
      calls: this.#calls,
      clock,
      open: () => this.#connections.open,
      need: () => this.#connections.need(),
      leave: (error) => this.#connections.leave(error),
      observer: this.#telemetry,
    });
    this.#verbs = new Verbs(this.#calls, settings.giveUpAfter, () => this.#telemetry.traceparent);
    this.#leftBehind = new LeftBehind(settings, (id) => this.#keeper.find(id) !== undefined);
    this.#locks = new HeldLocks(this.#keeper, this.#verbs, this.#leftBehind, (leaseId, requestId) =>
      this.#released(leaseId, requestId),
    );
    this.#connections = new Connections({
      settings: { ...settings, onConnection: (event) => this.#onConnection(event) },
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
        const isGoingAway = error.reason === "SHUTTING_DOWN" && connection.opened;
        if (isGoingAway) this.#telemetry.goingAway(connection.address);
        this.#keeper.orphaned();
        this.#calls.leaving(connection, error);
      },
      onEnded: (connection, error) => this.#calls.ended(connection, error),
      onHopeless: (error, mayChange) => {
        this.#telemetry.hopeless(error);
        if (mayChange) this.#calls.failUnanswered(error);
        else this.#calls.failAll(error);
      },
      diagnose: async () => {
        const { addresses, tls } = settings;
        return await diagnose(addresses, tls ? presentedTls(tls) : false);
      },
      onTrouble: (error) => this.#telemetry.trouble(error),
    });
  }

  #onConnection(event: ConnectionEvent): void {
    this.#telemetry.connection(event);
    const { onConnection } = this.#settings;
    // In a microtask, so that its exceptions do not reach the code that connects.
    if (onConnection) queueMicrotask(() => onConnection(event));
  }

  /**
   * Waits for the lock and holds it. The client renews the lease until the lock is released, which `await using` does
   * at the end of its scope. With `also`, it takes further locks in the same step: all or none. Rejects with a RowlockError
   * if the server refuses (TIMED_OUT when `wait` is over), and with the reason of `signal`.
   */
  async lock(name: string, options: LockOptions = {}): Promise<Lock> {
    const { lock, refusal } = await this.acquire(name, options);
    if (!lock) throw RowlockError.refused(name, refusal);
    return lock;
  }

  /**
   * Returns the lock, or null if it is busy, paused or not due now, or its rate does not allow the grant yet. Any other
   * refusal, such as EXHAUSTED, STATUS_MISMATCH and NEVER_FITS, is a RowlockError.
   */
  async tryLock(name: string, options: Omit<LockOptions, "wait" | "onPosition"> = {}): Promise<Lock | null> {
    const { lock, refusal } = await this.acquire(name, { ...options, wait: 0 });
    if (lock) return lock;
    if (LATER.includes(refusal.reason)) return null;
    throw RowlockError.refused(name, refusal);
  }

  /**
   * Waits for the lock, runs `work`, and releases the lock. Rejects with the exception of `work`; and with LEASE_LOST
   * if the lock was lost before `work` finished, as others may have run beside it: an exception of `work` is then its
   * `cause`. `work` should stop when `lock.signal` is aborted.
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
      typeof first === "function" && second === undefined ? [{}, first] : [first, second];
    checkFunction(work, "withLock(name, options, work)");
    const lock = await this.lock(name, options as LockOptions);
    return await this.#telemetry.holding(lock, () => this.#under(lock, this.#inContext(lock, work)));
  }

  /** The same work, which then knows under which lock it runs. */
  #inContext<Value>(lock: Lock, work: (lock: Lock) => Value): (lock: Lock) => Value {
    return (given) => this.#work.run(lock.leaseId, () => work(given));
  }

  /** Runs `work` under its lock, and releases the lock. */
  async #under<Value>(lock: Lock, work: (lock: Lock) => Value | Promise<Value>): Promise<Value> {
    let value: Value;
    try {
      value = await work(lock);
    } catch (thrown) {
      // The exception must not hide a loss, nor the loss the exception.
      const loss = await this.#leave(lock).catch(RowlockError.of);
      throw loss && loss !== thrown ? loss.besides(thrown) : thrown;
    }
    const loss = await this.#leave(lock);
    if (loss) throw loss;
    return value;
  }

  /** Releases the lock; returns the error if it was lost before. */
  async #leave(lock: Lock): Promise<RowlockError | undefined> {
    const { aborted: isOver, reason } = lock.signal;
    await lock[Symbol.asyncDispose]();
    if (isOver) return reason.reason === "LEASE_LOST" ? reason : undefined;
    return this.#locks.hadEnded(lock) ? RowlockError.hadEnded(lock.name) : undefined;
  }

  /** Returns the lock, or the refusal: like `lock`, but a refusal is a value instead of an error. */
  async acquire(name: string, options: LockOptions = {}): Promise<Outcome> {
    checkName(name);
    checkOptions(options, LOCK);
    const outcome = await this.#request(name, options);
    if (outcome instanceof HeldLease) return { lock: this.#locks.add(outcome, options) };
    return { refusal: outcome as Refusal };
  }

  /**
   * Waits its turn in the queue until the lock's rate allows it, takes permits of the rate, and holds nothing: there is
   * nothing to renew or release, and holders are not in its way. Rejects as `lock` does, and with `wait: 0` also with RATE,
   * whose `retryAfterMs` says when. A retry with the same `requestId` takes nothing more.
   */
  async spend(name: string, options: SpendOptions = {}): Promise<Spent> {
    checkName(name);
    checkOptions(options, SPEND);
    const outcome = await this.#request(name, options, true);
    if ("reason" in outcome) throw RowlockError.refused(name, outcome);
    return outcome as Spent;
  }

  /** Returns what it has spent, or null if the lock is busy, paused or not due, or its rate does not allow it yet. */
  async trySpend(
    name: string,
    options: Omit<SpendOptions, "wait" | "onPosition"> = {},
  ): Promise<Spent | null> {
    try {
      return await this.spend(name, { ...options, wait: 0 });
    } catch (error) {
      if (error instanceof RowlockError && error.refusal && LATER.includes(error.refusal.reason)) return null;
      throw error;
    }
  }

  /** Requests one claim. With `spendOnly` the outcome is no lease, and otherwise nothing is spent alone. */
  async #request(
    name: string,
    options: LockOptions,
    spendOnly = false,
  ): Promise<HeldLease | Spent | Refusal> {
    const asking = this.#asking(options);
    const span = this.#telemetry.beginLock(name, options);
    const under = this.#work.now;
    let notices: WaitNotices | undefined;
    const acquisition = new Acquisition({
      ...asking,
      name,
      spendOnly,
      waits: (one) => {
        notices = this.#noticesOf(one, name, options, under);
      },
      traceparent: span.traceparent,
      giveBackUnheard: (request) => this.#leftBehind.addRequest(request),
      isShared: (one) => this.#isShared(one),
    });
    if (options.requestId !== undefined) this.#leftBehind.forget(options.requestId);
    this.#waits.add(acquisition);
    try {
      const outcome = await acquisition.run();
      span.ended(outcome, acquisition.hasWaited);
      if (!("reason" in outcome)) return outcome;
      const { lockName } = outcome;
      const names = lockName === undefined ? namesOf(name, options.also) : [lockName];
      const [own] = this.#keeper.holding(names);
      return own ? heldByYou(outcome, heldByYouText(own, names, this.#clock)) : outcome;
    } catch (error) {
      span.failed(error, options.signal, acquisition.hasWaited);
      throw error;
    } finally {
      notices?.stop();
      this.#waits.delete(acquisition);
    }
  }

  /**
   * Takes up to `count` of many locks, longest due first. A lock qualifies if it is free and due, has attempts left,
   * and has one of the statuses of `ifStatus`. The client renews each lease until its lock is released. The result may
   * be empty.
   */
  async capture(options: CaptureOptions): Promise<Captured> {
    checkOptions(options, CAPTURE, [], [["prefix", "names"]]);
    const asking = this.#asking(options);
    const span = this.#telemetry.beginCapture();
    const capture = new Capture({
      ...asking,
      traceparent: span.traceparent,
      letGo: (lease) => this.#locks.letGo(lease, options),
    });
    this.#waits.add(capture);
    try {
      const { leases, retryAfterMs } = await capture.run();
      span.ended(leases.length);
      const locks = leases.map((lease) => this.#locks.add(lease, options));
      return { locks, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    } catch (error) {
      span.failed(error, options.signal);
      throw error;
    } finally {
      this.#waits.delete(capture);
    }
  }

  /**
   * Captures locks under a prefix, and runs `handler` with each, so many at once as `concurrency` says. When the handler
   * returns, its lock is released with the status `statusWhenDone`; when it throws, that is logged, and the lock is
   * released with `statusWhenFailed`. Goes on for ever; when `signal` is aborted or the client is closed, it takes no
   * more locks, and resolves when all handlers have ended. Rejects, after the same wait, if no other try can help.
   */
  async work(prefix: string, handler: (lock: Lock) => unknown, options: WorkOptions = {}): Promise<void> {
    checkName(prefix, "prefix");
    checkFunction(handler, "work(prefix, handler, options)");
    checkOptions(options, WORK);
    if (this.#closed) throw RowlockError.closed();
    const work = new Work(prefix, handler, options, {
      capture: (asked) => this.capture(asked),
      holding: (lock, run) => this.#telemetry.holding(lock, () => this.#work.run(lock.leaseId, run)),
      ifRefused: (lock, options) => this.#locks.ifRefused(lock, options),
      hadEnded: (lock) => this.#locks.hadEnded(lock),
      log: (message, fields) => this.#telemetry.work(message, fields),
    });
    this.#waits.add(work);
    try {
      await work.run();
    } finally {
      this.#waits.delete(work);
    }
  }

  /**
   * Ends a lease, or gives up a place in the queue, by its id. Resolves with whether this call ended it. `options` set
   * what the lock remembers. A retry is safe.
   */
  async release(leaseId: string, options: ReleaseOptions = {}): Promise<boolean> {
    checkOptions(options, RELEASE);
    const lock = this.#locks.find(leaseId);
    return lock ? await lock.release(options) : (await this.#open().release(leaseId, options)).released;
  }

  /**
   * Changes what a lock remembers; the server makes the lock if it does not exist. Resolves with the new record. If the
   * answer is lost, the call fails with CONNECTION_LOST: the client does not repeat it, as that could undo what others
   * have set since. A retry with `ifVersion` is safe.
   */
  async updateRecord(name: string, changes: RecordChanges): Promise<RecordView> {
    checkName(name);
    checkOptions(changes, CHANGES, [], [["notBefore", "notBeforeIn"]]);
    return await this.#open().updateRecord(name, changes);
  }

  /**
   * Deletes what a lock remembers. Resolves with whether there was anything. Fails with LOCK_IN_USE while the lock is
   * held or waited for. `ifVersion` and lost answers are as for `updateRecord`.
   */
  async deleteRecord(
    name: string,
    options: Pick<RecordChanges, "ifVersion" | "reason"> = {},
  ): Promise<boolean> {
    checkOptions(options, CHANGE);
    return await this.#open().deleteRecord(name, options);
  }

  /**
   * Renews a lease once, by its id; a new `ttl` in milliseconds replaces the last one. Fails with LEASE_LOST or
   * UNKNOWN_CLAIM if the lease has ended. A retry is safe.
   */
  async renew(leaseId: string, { ttl }: { readonly ttl?: number } = {}): Promise<RenewedLease> {
    const lease = await this.#open().renew(leaseId, ttl);
    const { lockName: name, fencingToken: token } = lease;
    return { leaseId, name, token, tokens: tokensOf(lease), ttlMs: lease.ttl && msOf(lease.ttl) };
  }

  /**
   * Sets the limit of a name, a pattern or a pool, and with `rate` and `queueRules` these, too; `null` unsets it. A pool that has neither is
   * removed. If the answer is lost, the call fails with CONNECTION_LOST: the client does not repeat it, as that could undo what
   * others have set since. A retry with `ifVersion` is safe.
   */
  async setLimit(
    target: LimitTarget,
    limit: number | null,
    options: SetLimitOptions = {},
  ): Promise<LimitInForce> {
    checkTarget(target);
    checkOptions(options, SET_LIMIT);
    return await this.#open().setLimit(target, limit, options);
  }

  /** Sets the rate of a name, a pattern or a pool alone; `null` unsets it. All else is as for `setLimit`. */
  async setRate(target: LimitTarget, rate: Rate | null, options: SetRateOptions = {}): Promise<LimitInForce> {
    checkTarget(target);
    checkOptions({ ...options, rate }, SET_LIMIT, ["rate"]);
    return await this.#open().setLimit(target, undefined, { ...options, rate });
  }

  /** Sets who may wait for a name, or for each name under a pattern; `null` unsets it. All else is as for `setLimit`. */
  async setQueueRules(
    target: Exclude<LimitTarget, { readonly pool: string }>,
    queueRules: QueueRules | null,
    options: SetQueueRulesOptions = {},
  ): Promise<LimitInForce> {
    checkTarget(target);
    checkOptions({ ...options, queueRules }, SET_LIMIT, ["queueRules"]);
    return await this.#open().setLimit(target, undefined, { ...options, queueRules });
  }

  /** Returns one lock, with its first holders and waiters, up to 100 of each. */
  getLock(name: string): Promise<LockView> {
    return this.#open().getLock(name);
  }

  /** Iterates over locks. It fetches page after page. */
  listLocks(options: ListOptions = {}): AsyncGenerator<LockView, void, undefined> {
    return this.#open().listLocks(options);
  }

  /** Iterates over the limits, rates and queue rules that were set for patterns, pools and names that begin with `prefix`, in this order. */
  listLimits({
    prefix = "",
  }: {
    readonly prefix?: string;
  } = {}): AsyncGenerator<LimitSetting, void, undefined> {
    return this.#open().listLimits(prefix);
  }

  /**
   * Iterates over claims: live ones first, then those that have ended, newest first, as far back as the server's
   * history goes. It fetches page after page.
   */
  listClaims(options: ListClaimsOptions = {}): AsyncGenerator<ClaimView, void, undefined> {
    return this.#open().listClaims(options);
  }

  /** Iterates over changes of limits, rates, queue rules, records and policies, and over forced releases, newest first. */
  listChanges(options: ListChangesOptions = {}): AsyncGenerator<ChangeView, void, undefined> {
    return this.#open().listChanges(options);
  }

  /**
   * Resolves with why a claim waits, or why a request for `name` would not be granted now, and about how long that may
   * last. Fails with UNKNOWN_CLAIM if the claim does not wait (any more).
   */
  explainWait(target: WaitTarget): Promise<WaitExplanation> {
    return this.#open().explainWait(target);
  }

  /**
   * Watches the locks whose names begin with `prefix`: yields a snapshot, and then each change, until `signal` is
   * aborted or the loop ends. If a server goes away, it continues through another one with a new snapshot.
   */
  async *watchLocks(options: WatchOptions = {}): AsyncGenerator<WatchUpdate, void, undefined> {
    checkOptions(options, WATCH);
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
   * Ends all holders of a lock, at most 500 in one call; with `ticketNumber`, ends that one claim. This is for
   * operators. For one claim a retry is safe. For all holders, if the answer is lost, the call fails with
   * CONNECTION_LOST: the client does not repeat it, as that would also end those who were granted the lock meanwhile.
   */
  forceRelease(target: ForceReleaseTarget, reason: string): Promise<ForceReleased> {
    return this.#open().forceRelease(target, reason);
  }

  /**
   * Gives up all waits, releases all locks, and closes the connection. It never rejects, and ends within seconds, also
   * if no server answers. A second call has no effect.
   */
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
    // Calls may be on their way before any server has answered: the first request of a connection holds commands.
    if (this.#calls.isOwed) {
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, GIVE_BACK_WITHIN_MS);
      await Promise.race([this.#calls.idle(), late.promise]);
      clearTimeout(timer);
    }
    this.#keeper.stop();
    this.#calls.failAll(RowlockError.closed());
    await this.#connections.close(CLOSE_WITHIN_MS);
    this.#forgetSignals();
  }

  /**
   * Returns the common settings of requests for leases. Throws a RangeError for a margin or a mode that cannot work.
   */
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

  /** Whether another call waits under the same request id, so that giving up this one must leave the claim. */
  #isShared(acquisition: Acquisition): boolean {
    const { sharedId } = acquisition;
    if (sharedId === undefined) return false;
    const isOther = (one: object): one is Acquisition => one instanceof Acquisition && one !== acquisition;
    return [...this.#waits].some((one) => isOther(one) && one.sharedId === sharedId && !one.isSettled);
  }

  /** Notes a release for the other calls under its request id: an older answer may say that the lease is held. */
  #released(leaseId: string, requestId: string): void {
    for (const wait of this.#waits)
      if ((wait instanceof Acquisition || wait instanceof Capture) && wait.sharedId === requestId)
        wait.released(leaseId);
  }

  #noticesOf(acquisition: Acquisition, name: string, options: LockOptions, asking: Under): WaitNotices {
    const names = namesOf(name, options.also);
    return new WaitNotices(acquisition, {
      ledger: this.#waitLedger,
      clock: this.#clock,
      names,
      onWaiting: options.onWaiting,
      explainAfterMs: this.#settings.explainAfter,
      own: () => this.#keeper.holding(names),
      isOfAsking: ({ id }) => this.#work.isUnder(id, asking),
      explain: (ticketId) => this.#verbs.explainWait({ ticketId }),
      log: (message, isOwn) => this.#telemetry.waiting(message, name, isOwn),
    });
  }

  #open(): Verbs {
    if (this.#closed) throw RowlockError.closed();
    return this.#verbs;
  }
}

/** Throws a RangeError if the target is no object with a text. */
function checkTarget(target: LimitTarget): void {
  if (typeof target !== "object" || target === null)
    throw new RangeError(
      `the target is ${typeof target === "string" ? JSON.stringify(target) : String(target)}: use { name: "etl" }, { pattern: "etl/*" } or { pool: "etl/*" }`,
    );
  const { case: kind, value } = limitTargetOf(target);
  checkName(value, kind);
}
