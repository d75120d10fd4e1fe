// The engine: loads, decides, saves and wakes for every verb. This file connects the parts and starts and stops them;
// it decides nothing itself. lanes.ts and batch.ts carry commands; after-commit.ts, watch.ts and following/followers.ts
// carry wake-ups.

import { SHOWN_BY_REFUSAL_MAX } from "../core/bounds.ts";
import type { Claim, ClaimKey, ClaimRef } from "../core/claim.ts";
import { isServerMade, SERVER_MADE_PREFIX } from "../core/claim.ts";
import type {
  Acquire,
  Attach,
  Caller,
  Command,
  DeleteLock,
  ForceRelease,
  OutcomeNamed,
  Place,
  Release,
  Renew,
  SetLimit,
  UpdateLock,
} from "../core/command.ts";
import type { EffectiveLimit } from "../core/limit.ts";
import { isOwnName } from "../core/own-names.ts";
import type { Policy } from "../core/policy.ts";
import type { RunResult } from "../core/record.ts";
import type { ReplicaRow, Store } from "../storage/store.ts";
import type { Wakeup } from "../wakeup/wakeup.ts";
import { Advances } from "./background/advances.ts";
import { Background } from "./background/background.ts";
import { Probe } from "./background/probe.ts";
import type { Candidate } from "./capturing/candidates.ts";
import { CaptureWaits } from "./capturing/capture-waits.ts";
import { Captures } from "./capturing/captures.ts";
import {
  ANSWERS_QUEUED_MAX,
  LISTINGS_AT_ONCE_MAX,
  STALE_ID_TRIES_MAX,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "./engine-bounds.ts";
import { FairGate } from "./fair-gate.ts";
import { Fault } from "./faults.ts";
import { Comebacks } from "./following/comebacks.ts";
import { Detachments } from "./following/detachments.ts";
import { Followers } from "./following/followers.ts";
import { HeldLeases } from "./following/held-leases.ts";
import { Places } from "./following/places.ts";
import { Watch } from "./following/watch.ts";
import type {
  AcquireInput,
  Answer,
  AnswerTo,
  CaptureCaller,
  Captured,
  CaptureInput,
  EngineObserver,
  Follower,
  LimitRuleAnswer,
  LimitSetting,
  LimitsQuery,
  LockEngine,
  LocksQuery,
  LockWatch,
  RecordUpdate,
  ViewedLock,
} from "./lock-engine.ts";
import { SharedRead } from "./shared-read.ts";
import { AfterCommit } from "./transaction/after-commit.ts";
import { withAttempts, withoutRepeating } from "./transaction/attempts.ts";
import type { Batch } from "./transaction/batch.ts";
import { checkedStore } from "./transaction/checked-store.ts";
import type { JobsByLock } from "./transaction/deciding.ts";
import { Lanes } from "./transaction/lanes.ts";
import { changeLimitRule } from "./transaction/limit-rules.ts";
import { LockIds } from "./transaction/lock-ids.ts";
import { NewNames } from "./transaction/new-names.ts";
import { type Recent, RecentDecisions } from "./transaction/recent-decisions.ts";
import { RulesInForce } from "./transaction/rules-in-force.ts";
import { FORGETFUL, Witness, type WitnessMemory } from "./transaction/witness.ts";
import { inOwnTurn } from "./views/lock-steps.ts";
import { limitFor, Views } from "./views/views.ts";
import { DecidedFeed } from "./watching/decided-feed.ts";
import { LockWatches } from "./watching/lock-watches.ts";

export interface EngineOptions {
  readonly store: Store;
  readonly wakeup: Wakeup;
  readonly observer: EngineObserver;
  readonly policy: Policy;
  readonly replica: ReplicaRow;
  readonly lanes: number;
  readonly commandsQueuedMax: number;
  /** New names of locks that this server may create per second; unset: any number. */
  readonly namesPerSecond?: number;
  readonly idleLockUs: number;
  /** How long nothing is granted after a fail-over of the database; null: as long as a lost lease may last. */
  readonly failOverPauseUs: number | null;
  /** Where the witness keeps its testimony beyond this process; undefined: nowhere. */
  readonly memory?: WitnessMemory;
  /** Returns 22 characters of base64url from 128 random bits, different on each call. */
  readonly newSecret: () => string;
}

export class Engine implements LockEngine {
  readonly #options: EngineOptions;
  readonly #followers = new Followers();
  readonly #leases = new HeldLeases();
  readonly #lanes: Lanes;
  readonly #lockIds: LockIds;
  readonly #places: Places;
  readonly #afterCommit: AfterCommit;
  readonly #watch: Watch;
  readonly #advances: Advances;
  readonly #rulesInForce: RulesInForce;
  readonly #onRetry: (cause: string) => void;
  readonly #background: Background;
  readonly #probe: Probe;
  readonly #recent = new RecentDecisions(() => this.#onTrouble());
  readonly #detachments: Detachments;
  readonly #views: Views;
  readonly #feed: DecidedFeed;
  readonly #watches: LockWatches;
  readonly #captures: Captures;
  readonly #captureWaits: CaptureWaits;
  /** Admits the reads that complete an answer or an update. */
  readonly #answers: FairGate;
  readonly #holders: SharedRead<bigint, { nowUs: number; claims: Claim[] }>;
  #stopping: Promise<void> | undefined;
  #stopped = false;
  #onTrouble = () => {};

  constructor(options: EngineOptions) {
    const { policy, wakeup } = options;
    const observer = withoutOwnLocks(options.observer);
    const store = checkedStore(options.store, {
      pauseUs: options.failOverPauseUs,
      onFailOver: (pauseUs) => observer({ kind: "failed_over", pauseUs }),
    });
    this.#options = { ...options, observer, store };
    const followers = this.#followers;
    this.#onRetry = (cause) => observer({ kind: "retried", cause });
    const onFailure = (loop: string, error: unknown) => {
      this.#recent.suspected();
      observer({ kind: "loop_failed", loop, error });
    };
    this.#advances = new Advances({ advance: (lockId) => this.#advance(lockId), onFailure });
    const advances = this.#advances;
    const comebacks = new Comebacks({ store, policy, replica: options.replica.id, onFailure });
    const atOnce = Math.max(1, store.readers - LISTINGS_AT_ONCE_MAX);
    this.#answers = new FairGate({ atOnce, queuedMax: ANSWERS_QUEUED_MAX, bound: "answers_queued" });
    const queue = (lockId: bigint, caller?: Caller) => this.#answers.run(() => store.queue(lockId), caller);
    const places = new Places({ store: { queue }, followers, onFailure });
    this.#places = places;
    this.#views = new Views(store, store.readers);
    const inTurn = <Read>(read: () => Promise<Read>) => this.#answers.run(() => inOwnTurn(read));
    this.#feed = new DecidedFeed({
      read: (...asked) => inTurn(() => store.decidedSince(...asked)),
      onFailure,
    });
    this.#watches = new LockWatches({
      feed: this.#feed,
      store: {
        watch: (...asked) => inTurn(() => store.watch(...asked)),
        limitRules: () => inTurn(() => store.limitRules()),
      },
      views: this.#views,
      observer,
      onFailure,
    });
    this.#captures = new Captures({
      store: {
        recordGroups: (...asked) => inTurn(() => store.recordGroups(...asked)),
        freeLocks: (...asked) => inTurn(() => store.freeLocks(...asked)),
        nextDueIn: (groups) => inTurn(() => store.nextDueIn(groups)),
        namedLocks: (names) => inTurn(() => store.namedLocks(names)),
        limitRules: () => inTurn(() => store.limitRules()),
        claimsByRequest: (ids) => inTurn(() => store.claimsByRequest(ids)),
      },
      acquire: (candidate, command) => this.#acquireOneOf(candidate, command),
      confirm: (lease, caller) => this.confirm(lease, caller),
      withdraw: (candidate, { requestId }) => {
        // A candidate without an id has a new name. Its id is known by now, unless the row was never made.
        const id = candidate.id ?? this.#lockIds.known(candidate.name);
        if (id !== undefined) this.#detachments.add(id, { verb: "withdraw", requestId });
      },
      newSecret: options.newSecret,
      observer,
    });
    this.#captureWaits = new CaptureWaits({ feed: this.#feed, onFailure });
    this.#afterCommit = new AfterCommit({
      observer,
      wakeup,
      replica: options.replica.id,
      followers,
      leases: this.#leases,
      places,
      advances,
      watches: this.#watches,
      captureWaits: this.#captureWaits,
    });
    store.clock.onJump((byUs) => observer({ kind: "clock_jumped", byUs }));
    const rulesInForce = new RulesInForce({
      store,
      replica: options.replica.id,
      onInForce: () => {
        this.#background.beat().catch((error: unknown) => onFailure("beat", error));
      },
    });
    this.#rulesInForce = rulesInForce;
    this.#lanes = new Lanes({
      store: rulesInForce,
      policy,
      lanes: options.lanes,
      patientSlots: store.patientSlots,
      queuedMax: options.commandsQueuedMax,
      likelyQueue: (lockId) => followers.follows(lockId),
      beforehand: () => this.#background.lateHeartbeat(),
      onHeldUp: (job) => comebacks.heldUp(job),
      onCommitted: (jobs, batch) => {
        if (!this.#isProbe(jobs)) this.#recent.committed();
        this.#afterCommit.answered(jobs, batch);
      },
      onFailed: (jobs, error) => {
        if (!this.#isProbe(jobs)) this.#recent.failed(error);
      },
      onRetry: this.#onRetry,
    });
    this.#lockIds = new LockIds({
      newNames: new NewNames(options.namesPerSecond ?? Number.POSITIVE_INFINITY),
      resolve: async (names, roomFor) => {
        try {
          return await withAttempts(() => store.resolve(names, roomFor), this.#onRetry);
        } catch (error) {
          this.#recent.failed(error);
          throw error;
        }
      },
    });
    this.#watch = new Watch({ store, followers, places, advances, rulesInForce, onFailure });
    const detachments = new Detachments({
      tell: (lockId, command) => this.#submit(lockId, command),
      isFollowed: (key) => followers.followsClaim(key),
      onFailure,
    });
    this.#detachments = detachments;
    const witness = new Witness({
      store,
      memory: options.memory ?? FORGETFUL,
      replica: options.replica.id,
      onSetBack: (writtenUs) => store.setBack(writtenUs),
    });
    const kept = { followers, detachments, comebacks, advances, rulesInForce, witness };
    this.#background = new Background({ ...this.#options, ...kept, onFailure });
    this.#probe = new Probe({
      replica: options.replica.id,
      acquire: (input) => this.acquire(input, null),
      release: (ref) => this.release(ref),
    });
    this.#holders = new SharedRead((lockId, caller) =>
      this.#answers.run(() => store.holders(lockId, SHOWN_BY_REFUSAL_MAX), caller),
    );
  }

  async start(): Promise<void> {
    await this.#background.start();
    // From now on, a change of a limit rule waits for this server. If this read fails, the first poll repeats it.
    await this.#watch.look().catch(() => {});
    this.#places.start();
    this.#options.wakeup.start((claims) => {
      if (claims) return this.#watch.lookAt(claims);
      this.#feed.look();
      return this.#watch.look();
    });
  }

  /** Stops the background work, then refuses new commands and finishes the submitted ones. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Writes this replica's entry in the register. Throws a Fault if the database cannot be written. */
  register(): Promise<void> {
    return withoutRepeating(() => this.#background.beat());
  }

  /**
   * Makes the probe's own decisions and checks that the database is fit to decide on. Throws a Fault if it is not.
   * Calls `heard` after each answer of the database.
   */
  async probe(heard = () => {}): Promise<void> {
    await Promise.all([this.#probe.run(heard), this.register().then(heard)]);
  }

  /** What the decisions of the last seconds say about the database; excludes those of the probe. */
  get recent(): Recent {
    return this.#recent.recent;
  }

  /** Called when something that needs the database fails. Must not throw. */
  set onTrouble(listener: () => void) {
    this.#onTrouble = listener;
  }

  /** This replica's number in the register. */
  get replica(): bigint {
    return this.#options.replica.id;
  }

  /** Number of claims that streams and blocked calls follow. */
  get waiterCount(): number {
    return this.#followers.count;
  }

  /** Number of captures that wait for a lock to take. */
  get waitingCaptures(): number {
    return this.#captureWaits.count;
  }

  acquire(input: AcquireInput, follower: Follower | null, caller?: Caller): Promise<AnswerTo<"acquire">> {
    const { newSecret } = this.#options;
    const requestId = input.requestId === "" ? SERVER_MADE_PREFIX + newSecret() : input.requestId;
    const replica = follower ? this.#options.replica.id : null;
    return this.#byName(
      { ...input, verb: "acquire", requestId, secret: newSecret(), replica, caller },
      follower,
    );
  }

  async capture(input: CaptureInput, caller?: CaptureCaller): Promise<Captured> {
    this.#refuseWhenStopped();
    const isOver = () => caller?.cancelled === true;
    return await this.#captures.capture({ input, afterWait: false, caller, isOver });
  }

  async captureWhenFree(input: CaptureInput, signal: AbortSignal, caller?: CaptureCaller): Promise<Captured> {
    this.#refuseWhenStopped();
    const isOver = () => signal.aborted || caller?.cancelled === true;
    const captured = await this.#captures.capture({ input, afterWait: false, caller, isOver });
    if (captured.leases.length > 0 || captured.isRepeated) return captured;
    const attempt = (isOver: () => boolean) =>
      this.#captures.capture({ input, afterWait: true, caller, isOver });
    return await this.#captureWaits.wait(input, captured.retryAfterUs, signal, attempt);
  }

  attach(ref: ClaimRef, follower: Follower, caller?: Caller): Promise<AnswerTo<"attach">> {
    return this.#byRef({ verb: "attach", ref, replica: this.#options.replica.id, caller }, follower);
  }

  detach(claim: Claim, follower: Follower | null, canReturn: boolean): void {
    if (follower && this.#followers.remove(claim, follower)) return;
    const { lockId, requestId } = claim;
    if (!canReturn) this.#detachments.add(lockId, { verb: "withdraw", requestId });
    else this.#detachments.add(lockId, { verb: "detach", ref: claim, replica: this.#options.replica.id });
  }

  confirm(ref: ClaimRef, caller?: Caller): Promise<AnswerTo<"attach">> {
    return this.#byRef({ verb: "attach", ref, replica: null, caller });
  }

  onLost(lease: ClaimRef, listener: (ended: Claim) => void): () => void {
    return this.#leases.add(lease, listener);
  }

  renew(ref: ClaimRef, ttlUs: number | undefined, caller?: Caller): Promise<AnswerTo<"renew">> {
    return this.#byRef({ verb: "renew", ref, ttlUs, caller });
  }

  release(ref: ClaimRef, result: RunResult | null = null, caller?: Caller): Promise<AnswerTo<"release">> {
    return this.#byRef({ verb: "release", ref, result, repeated: false, caller });
  }

  setLimit(
    name: string,
    limit: number | null,
    expectedVersion: bigint | undefined,
    reason: string,
    caller?: Caller,
  ): Promise<AnswerTo<"set_limit">> {
    return this.#byName({ verb: "set_limit", name, limit, expectedVersion, reason, caller });
  }

  async setLimitRule(
    prefix: string,
    limit: number | null,
    expectedVersion: bigint | undefined,
    reason: string,
    caller?: Caller,
  ): Promise<LimitRuleAnswer> {
    this.#refuseWhenStopped();
    const { store, policy, observer } = this.#options;
    const change = { prefix, limit, expectedVersion, reason };
    const onCommitted = (batch: Batch) => this.#afterCommit.wake(batch);
    const everywhereAfter = (revision: bigint) => this.#rulesInForce.everywhereAfter(revision);
    const { transact } = this.#rulesInForce;
    const answer = await changeLimitRule(change, {
      store: { transact, list: (query) => store.list(query), limitRules: () => store.limitRules() },
      policy,
      onCommitted,
      advances: this.#advances,
      onRetry: this.#onRetry,
      everywhereAfter,
    });
    if (answer.kind === "limit_rule") {
      const { version, serversBehind } = answer;
      observer({
        kind: "limit_rule_set",
        prefix,
        limit: answer.limit,
        version,
        reason,
        serversBehind,
        caller,
      });
    }
    return answer;
  }

  async forceRelease(
    name: string,
    ticketNumber: bigint | null,
    reason: string,
    caller?: Caller,
  ): Promise<AnswerTo<"force_release"> | null> {
    return await this.#byNameIfThere({ verb: "force_release", name, ticketNumber, reason, caller });
  }

  updateLock(update: RecordUpdate, caller?: Caller): Promise<AnswerTo<"update_lock">> {
    return this.#byName({ ...update, verb: "update_lock", caller });
  }

  async deleteLock(
    name: string,
    expectedVersion: bigint | undefined,
    caller?: Caller,
  ): Promise<AnswerTo<"delete_lock"> | null> {
    return await this.#byNameIfThere({ verb: "delete_lock", name, expectedVersion, caller });
  }

  nowUs(): number {
    return this.#options.store.clock.latestUs(performance.now() * 1_000) ?? 0;
  }

  place(key: ClaimKey, caller?: Caller): Promise<Place | null> {
    return withoutRepeating(() => this.#places.of(key, caller));
  }

  holders(lockId: bigint, caller?: Caller): Promise<{ nowUs: number; claims: readonly Claim[] }> {
    return withoutRepeating(() => this.#holders.get(lockId, caller));
  }

  limit(name: string, caller?: Caller): Promise<EffectiveLimit> {
    return withoutRepeating(() => this.#answers.run(() => limitFor(this.#options.store, name), caller));
  }

  view(name: string, caller?: Caller): Promise<ViewedLock> {
    return this.#views.view(name, caller);
  }

  views(query: LocksQuery, caller?: Caller): AsyncIterable<ViewedLock> {
    return this.#views.views(query, caller);
  }

  watchLocks(prefix: string, caller?: Caller): LockWatch {
    this.#refuseWhenStopped();
    return this.#watches.open(prefix, caller);
  }

  limits(query: LimitsQuery, caller?: Caller): AsyncIterable<LimitSetting> {
    return this.#views.limits(query, caller);
  }

  /**
   * Submits a command for a lock known by name. The guard row may have been cleaned away since the name was resolved.
   */
  async #byName<Asked extends Acquire | SetLimit | UpdateLock>(
    command: Asked,
    follower: Follower | null = null,
  ): Promise<AnswerTo<Asked["verb"]>> {
    const { name } = command;
    for (let tries = 1; tries <= STALE_ID_TRIES_MAX; tries++) {
      const id = this.#lockIds.get(name);
      const lockId = typeof id === "bigint" ? id : await id;
      const answer = await this.#submit(lockId, command, follower).catch((error: unknown) => {
        if (error instanceof Fault && error.outcomeUnknown) this.#withdraw(lockId, command);
        throw error;
      });
      if (answer) return answer;
      this.#lockIds.forget(name);
    }
    throw new Fault(
      "unavailable",
      "lock_row_vanishes",
      "The clean-up of idle locks kept deleting the lock's row.",
      {
        retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
      },
    );
  }

  /** null: the lock is no longer what it was when the candidate was found. */
  async #acquireOneOf({ id, name }: Candidate, command: Acquire): Promise<AnswerTo<"acquire"> | null> {
    return id === null ? await this.#byName(command) : await this.#submit(id, { ...command, name });
  }

  /** As `#byName`, but makes no row; null: nobody has used the name. */
  async #byNameIfThere<Asked extends ForceRelease | DeleteLock>(
    command: Asked,
  ): Promise<AnswerTo<Asked["verb"]> | null> {
    // Looked up without the cache, which would make the row.
    const found = await withoutRepeating(() => this.#options.store.find([command.name]));
    const lockId = found.get(command.name);
    return lockId === undefined ? null : await this.#submit(lockId, command);
  }

  /** Withdraws an Acquire of unknown outcome if the caller has no request id to repeat it with. */
  #withdraw(lockId: bigint, command: Command): void {
    if (command.verb !== "acquire" || !isServerMade(command.requestId)) return;
    this.#detachments.add(lockId, { verb: "withdraw", requestId: command.requestId });
  }

  /** Submits a command for a claim known by its id. Without a guard row there is no claim. */
  async #byRef<Asked extends Attach | Renew | Release>(
    command: Asked,
    follower: Follower | null = null,
  ): Promise<AnswerTo<Asked["verb"]> | Answer<OutcomeNamed<"unknown_claim">>> {
    const { lockId } = command.ref;
    const answer = await this.#submit(lockId, command, follower);
    return answer ?? { outcome: { kind: "unknown_claim" }, nowUs: 0, lockId, lockName: "" };
  }

  /** null: the guard row is gone. Throws at once if the command cannot be taken. */
  #submit<Asked extends Command>(
    lockId: bigint,
    command: Asked,
    follower: Follower | null = null,
  ): Promise<AnswerTo<Asked["verb"]> | null> {
    this.#refuseWhenStopped();
    // Lanes carry commands of all verbs. OutcomeKinds says which outcomes each verb can have.
    return this.#lanes.submit(lockId, command, follower) as Promise<AnswerTo<Asked["verb"]> | null>;
  }

  /** Ends what is due at a lock and grants what fits. */
  async #advance(lockId: bigint): Promise<void> {
    await this.#submit(lockId, { verb: "advance" });
  }

  #isProbe(jobs: JobsByLock): boolean {
    const { lockId } = this.#probe;
    return jobs.size === 1 && lockId !== null && jobs.has(lockId);
  }

  #refuseWhenStopped(): void {
    if (this.#stopped) throw stopping();
  }

  async #stop(): Promise<void> {
    const { wakeup, store, replica } = this.#options;
    await wakeup.stop();
    this.#watch.stop();
    await this.#background.stop();
    await this.#places.stop();
    this.#captureWaits.stop(stopping());
    await this.#watches.stop(stopping());
    await this.#feed.stop();
    this.#stopped = true;
    await this.#lanes.drained();
    await store.retire(replica.id);
  }
}

/** Hides events about the servers' own locks, which do not interest users and operators. */
function withoutOwnLocks(observer: EngineObserver): EngineObserver {
  return (event) => {
    if ("lockName" in event && isOwnName(event.lockName)) return;
    observer(event);
  };
}

function stopping(): Fault {
  return new Fault("shutting_down", "shutting_down", "This server is stopping.", {
    retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
  });
}
