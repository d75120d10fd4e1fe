// The engine: one verb is load, decide, save, wake. Puts the parts together and owns their start and stop; the way of a
// command is in lanes.ts and batch.ts, the way of a wake-up in watch.ts and waiters.ts.

import { SHOWN_BY_GET_MAX, SHOWN_BY_LIST_MAX, SHOWN_BY_REFUSAL_MAX } from "../core/bounds.ts";
import type { Claim, ClaimKey, ClaimRef } from "../core/claim.ts";
import { SERVER_MADE_PREFIX } from "../core/claim.ts";
import type { Command, Outcome, Place } from "../core/command.ts";
import type { Rules } from "../core/draft.ts";
import { effectiveLimit } from "../core/limit.ts";
import type { LockView, ReplicaRow, Store } from "../storage/store.ts";
import { StoreError } from "../storage/store.ts";
import type { Wakeup } from "../wakeup/wakeup.ts";
import { unavailable, withAttempts } from "./attempts.ts";
import type { Batch } from "./batch.ts";
import { ClockGuard } from "./clock-guard.ts";
import { STALE_ID_TRIES_MAX, UNAVAILABLE_RETRY_AFTER_MS } from "./engine-bounds.ts";
import { Fault } from "./faults.ts";
import { type JobsByLock, Lanes } from "./lanes.ts";
import { changeLimitRule } from "./limit-rules.ts";
import type {
  Answer,
  Ask,
  EngineObserver,
  LimitRuleAnswer,
  LockDescription,
  LockEngine,
  Waiter,
} from "./lock-engine.ts";
import { LockIds } from "./lock-ids.ts";
import { Places } from "./places.ts";
import { SharedRead } from "./shared-read.ts";
import { Upkeep } from "./upkeep.ts";
import { Waiters } from "./waiters.ts";
import { Watch } from "./watch.ts";

export interface EngineOptions {
  readonly store: Store;
  readonly wakeup: Wakeup;
  readonly observer: EngineObserver;
  readonly rules: Rules;
  readonly replica: ReplicaRow;
  readonly lanes: number;
  readonly commandsQueuedMax: number;
  readonly idleLockUs: number;
  /** 22 characters of base64url from 128 random bits, each time others. */
  readonly newSecret: () => string;
}

export class Engine implements LockEngine {
  readonly #options: EngineOptions;
  readonly #clockGuard: ClockGuard;
  readonly #waiters = new Waiters();
  readonly #lanes: Lanes;
  readonly #lockIds: LockIds;
  readonly #places: Places;
  readonly #watch: Watch;
  readonly #upkeep: Upkeep;
  readonly #holders: SharedRead<bigint, { nowUs: number; claims: Claim[] }>;
  #stopping: Promise<void> | undefined;
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    const { store, rules, observer } = options;
    const waiters = this.#waiters;
    this.#clockGuard = new ClockGuard(observer.clockJumped.bind(observer));
    const onRetry = observer.retried.bind(observer);
    const onFailure = observer.loopFailed.bind(observer);
    const advance = this.#advance.bind(this);
    this.#lanes = new Lanes({
      store,
      rules,
      clockGuard: this.#clockGuard,
      lanes: options.lanes,
      queuedMax: options.commandsQueuedMax,
      likelyQueue: (lockId) => waiters.follows(lockId),
      beforehand: () => this.#upkeep.lateHeartbeat(),
      onCommitted: (jobs, batch) => this.#onCommitted(jobs, batch),
      onRetry,
    });
    this.#lockIds = new LockIds({ resolve: (names) => withAttempts(() => store.resolve(names), onRetry) });
    this.#places = new Places({ store, waiters, onFailure });
    this.#holders = new SharedRead((lockId) => store.holders(lockId, SHOWN_BY_REFUSAL_MAX));
    this.#watch = new Watch({
      store,
      waiters,
      places: this.#places,
      advance,
      confirm: (claim) => this.#confirm(claim),
    });
    this.#upkeep = new Upkeep({ ...options, waiters, advance, onFailure });
  }

  async start(): Promise<void> {
    await this.#upkeep.start();
    this.#options.wakeup.start((lockIds) => this.#watch.look(lockIds));
  }

  /** Finishes what was submitted, refuses the rest. Can be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Whether the database can be written; throws a Fault if not. */
  probe(): Promise<void> {
    return this.#read(() => this.#upkeep.beat());
  }

  /** Claims that are followed by streams and blocked calls. */
  get waiterCount(): number {
    return this.#waiters.count;
  }

  async acquire(
    ask: Ask,
    waiter: Waiter | null,
  ): Promise<Answer<"held" | "waiting" | "refused" | "ended" | "request_id_reused">> {
    const { newSecret, rules } = this.#options;
    const requestId = ask.requestId === "" ? SERVER_MADE_PREFIX + newSecret() : ask.requestId;
    const replica = waiter ? rules.replica : null;
    return this.#byName(
      ask.name,
      { ...ask, verb: "acquire", requestId, secret: newSecret(), replica },
      waiter,
    );
  }

  async attach(
    ref: ClaimRef,
    waiter: Waiter,
  ): Promise<Answer<"held" | "waiting" | "ended" | "unknown_claim">> {
    return this.#byRef(ref, { verb: "attach", ref, replica: this.#options.rules.replica }, waiter);
  }

  async leave(ref: ClaimRef, waiter: Waiter, canReturn: boolean): Promise<void> {
    if (this.#waiters.remove(ref, waiter)) return;
    await this.#submit(ref.lockId, {
      verb: "detach",
      ref,
      replica: this.#options.rules.replica,
      canReturn,
    });
  }

  async renew(
    ref: ClaimRef,
    ttlUs: number | undefined,
  ): Promise<Answer<"held" | "waiting" | "ended" | "unknown_claim">> {
    return this.#byRef(ref, { verb: "renew", ref, ttlUs });
  }

  async release(ref: ClaimRef): Promise<Answer<"released" | "unknown_claim">> {
    return this.#byRef(ref, { verb: "release", ref, repeated: false });
  }

  async setLimit(
    name: string,
    limit: number | null,
    expectedVersion: bigint | undefined,
    reason: string,
  ): Promise<Answer<"limit" | "version_mismatch">> {
    return this.#byName(name, { verb: "set_limit", name, limit, expectedVersion, reason, repeated: false });
  }

  async setLimitRule(
    prefix: string,
    limit: number | null,
    expectedVersion: bigint | undefined,
    reason: string,
  ): Promise<LimitRuleAnswer> {
    this.#refuseWhenStopped();
    const { store, rules, observer } = this.#options;
    const answer = await changeLimitRule(
      { prefix, limit, expectedVersion, reason },
      {
        store,
        rules,
        clockGuard: this.#clockGuard,
        onCommitted: (batch) => this.#wake(batch),
        onRetry: (cause) => observer.retried(cause),
      },
    );
    if (answer.kind === "limit_rule") observer.limitRuleSet(prefix, answer.limit, answer.version, reason);
    return answer;
  }

  async forceRelease(
    name: string,
    ticketNumber: bigint | null,
    reason: string,
  ): Promise<Answer<"forced"> | { readonly outcome: { readonly kind: "unknown_lock" } }> {
    const found = await this.#read(() => this.#options.store.find([name]));
    const lockId = found.get(name);
    const unknown = { outcome: { kind: "unknown_lock" } } as const;
    if (lockId === undefined) return unknown;
    const answer = await this.#submit(lockId, { verb: "force_release", name, ticketNumber, reason });
    return (answer as Answer<"forced"> | null) ?? unknown;
  }

  place(key: ClaimKey): Promise<Place | null> {
    return this.#read(() => this.#places.of(key));
  }

  holders(lockId: bigint): Promise<{ nowUs: number; claims: readonly Claim[] }> {
    return this.#read(() => this.#holders.get(lockId));
  }

  async show(name: string): Promise<LockDescription | null> {
    const { store } = this.#options;
    const [view, rules] = await this.#read(() =>
      Promise.all([store.show(name, SHOWN_BY_GET_MAX), store.limitRules()]),
    );
    return view && describe(view, rules);
  }

  async list(query: {
    readonly prefix: string;
    readonly afterName: string | null;
    readonly max: number;
    readonly busyOnly: boolean;
  }): Promise<LockDescription[]> {
    const { store } = this.#options;
    const [views, rules] = await this.#read(() =>
      Promise.all([store.list({ ...query, shown: SHOWN_BY_LIST_MAX }), store.limitRules()]),
    );
    return views.map((view) => describe(view, rules));
  }

  /** A command for a lock that is known by name. The guard row may have been cleaned away since its id was learnt. */
  async #byName<Kind extends Outcome["kind"]>(
    name: string,
    command: Extract<Command, { name: string }>,
    waiter: Waiter | null = null,
  ): Promise<Answer<Kind>> {
    for (let tries = 1; tries <= STALE_ID_TRIES_MAX; tries++) {
      const id = this.#lockIds.get(name);
      const lockId = typeof id === "bigint" ? id : await id;
      const answer = await this.#submit(lockId, command, waiter);
      if (answer) return answer as unknown as Answer<Kind>;
      this.#lockIds.forget(name);
    }
    throw new Fault("unavailable", "lock_row_vanishes", "The lock's row was cleaned away again and again.", {
      retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
    });
  }

  /** A command for a claim that is known by its id. Without a guard row there is no claim. */
  async #byRef<Kind extends Outcome["kind"]>(
    ref: ClaimRef,
    command: Command,
    waiter: Waiter | null = null,
  ): Promise<Answer<Kind | "unknown_claim">> {
    const answer = await this.#submit(ref.lockId, command, waiter);
    const unknown = {
      outcome: { kind: "unknown_claim" },
      nowUs: 0,
      lockId: ref.lockId,
      lockName: "",
    } as const;
    return (answer ?? unknown) as Answer<Kind | "unknown_claim">;
  }

  async #submit(lockId: bigint, command: Command, waiter: Waiter | null = null): Promise<Answer | null> {
    this.#refuseWhenStopped();
    return this.#lanes.submit(lockId, command, waiter);
  }

  /** Ends what is due at a lock and grants what fits. */
  async #advance(lockId: bigint): Promise<void> {
    await this.#submit(lockId, { verb: "advance" });
  }

  /** A waiter whose lease was granted by another replica is about to learn of it. */
  async #confirm(claim: Claim): Promise<{ claim: Claim; nowUs: number } | null> {
    const answer = await this.#submit(claim.lockId, {
      verb: "attach",
      ref: claim,
      replica: this.#options.rules.replica,
    });
    const outcome = answer?.outcome;
    if (!answer || (outcome?.kind !== "held" && outcome?.kind !== "ended")) return null;
    return { claim: outcome.claim, nowUs: answer.nowUs };
  }

  #onCommitted(jobs: JobsByLock, batch: Batch): void {
    const { observer } = this.#options;
    let commands = 0;
    for (const [lockId, list] of jobs) {
      const decided = batch.decided.get(lockId);
      const revision = batch.locks.get(lockId)?.lock.revision;
      commands += list.length;
      if (!decided || revision === undefined) continue;
      list.forEach((job, index) => {
        const outcome = batch.outcome(lockId, index) as Outcome;
        if (outcome.kind === "waiting" && job.waiter) this.#waiters.add(outcome.claim, job.waiter, revision);
        observer.answered(
          job.command,
          outcome,
          decided.lockName,
          (performance.now() - job.submittedMs) / 1e3,
        );
      });
    }
    observer.batch(commands, jobs.size);
    this.#wake(batch);
  }

  /** After a commit: tells those who wait, here and at other replicas, and goes on with what was left over. */
  #wake(batch: Batch): void {
    const { observer, wakeup } = this.#options;
    for (const { event, lockName } of batch.events) observer.event(event, lockName);
    for (const [lockId, { lock, revisionBefore }] of batch.locks) {
      this.#waiters.sawOwn(lockId, revisionBefore, lock.revision);
    }
    wakeup.announce([...batch.locks.keys()]);
    for (const lockId of batch.leftOver) {
      this.#advance(lockId).catch((error: unknown) => observer.loopFailed("advance", error));
    }
    // In the same turn as the answers: a client that gets both together sends what follows together, and the next
    // transaction carries it together.
    for (const { event, nowUs } of batch.events) {
      if (event.kind === "granted" || event.kind === "ended") this.#waiters.settle(event.claim, nowUs);
    }
    for (const lockId of batch.locks.keys()) this.#places.changed(lockId);
  }

  async #read<Value>(read: () => Promise<Value>): Promise<Value> {
    try {
      return await read();
    } catch (error) {
      if (error instanceof StoreError) throw unavailable(error);
      throw error;
    }
  }

  #refuseWhenStopped(): void {
    if (!this.#stopped) return;
    throw new Fault("shutting_down", "shutting_down", "This server is stopping.", {
      retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
    });
  }

  async #stop(): Promise<void> {
    const { wakeup, store, replica } = this.#options;
    await wakeup.stop();
    await this.#upkeep.stop();
    this.#places.stop();
    this.#stopped = true;
    await this.#lanes.drained();
    await store.retire(replica.id);
  }
}

function describe(view: LockView, rules: Awaited<ReturnType<Store["limitRules"]>>): LockDescription {
  return { ...view, limit: effectiveLimit(view.lock, rules) };
}
