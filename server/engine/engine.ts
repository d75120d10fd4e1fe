// The door of the engine: the verbs, and the start and stop of its parts. It loads, decides and saves nothing itself.
// parts.ts connects the parts. lanes.ts and transaction.ts carry commands; the folder subscribers carries wake-ups.

import type { BoundUse } from "../core/bound-use.ts";
import {
  type Claim,
  type ClaimKey,
  type ClaimRef,
  keptRequestId,
  SERVER_MADE_PREFIX,
} from "../core/claim.ts";
import type { Asked, Caller, Place } from "../core/command.ts";
import type { EffectiveLimit, NewSettings } from "../core/limit.ts";
import type {
  AcquireInput,
  AnswerTo,
  Asker,
  Captured,
  CaptureInput,
  Follower,
  LimitRuleAnswer,
  LimitSetting,
  LimitsQuery,
  LocksQuery,
  LockWatch,
  PoolAnswer,
  ViewedLock,
  Waiter,
} from "./answers.ts";
import type { Health } from "./background/health.ts";
import { shuttingDown, withoutRepeating } from "./faults.ts";
import type {
  ChangesQuery,
  ClaimsQuery,
  Explanation,
  ListedChange,
  ListedClaim,
  WaitTarget,
} from "./history.ts";
import { connect, type EngineOptions, type Parts } from "./parts.ts";
import { markOf } from "./secrets.ts";
import { changeLimitRule } from "./transaction/limit-rules.ts";
import { changePool } from "./transaction/pool-limits.ts";
import { promised } from "./transaction/transaction.ts";
import { explainWait } from "./views/explaining.ts";
import { listedChanges, listedClaims } from "./views/past.ts";

/** Of a capture whose caller may hold no more leases now. It goes on waiting, and the others of its line are served. */
const NO_ROOM: Captured = { leases: [], retryAfterUs: null, isWithoutRoom: true };

/**
 * The verbs of the server. Failures that are not the caller's fault are thrown, or rejected with, as Faults. A `caller`
 * is the origin of a call: the log names it, and the engine reports to it at once which leases it holds.
 */
export class Engine {
  readonly #parts: Parts;
  #stopping: Promise<void> | undefined;

  constructor(options: EngineOptions) {
    this.#parts = connect(options);
  }

  async start(): Promise<void> {
    await this.#parts.background.start();
    await this.#parts.subscribers.start();
  }

  /** Another replica reports that it has granted these claims. */
  poked(claims: readonly ClaimKey[]): void {
    this.#parts.subscribers.poked(claims);
  }

  /** Stops the background work, then refuses new commands and finishes the submitted ones. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Writes this replica's entry in the register. Throws a Fault if the database cannot be written. */
  register(): Promise<void> {
    return withoutRepeating(() => this.#parts.rulesInForce.register());
  }

  /** Decides itself, to see that the database is fit. Throws a Fault if not. Calls `heard` after each answer. */
  async probe(heard = () => {}): Promise<void> {
    await Promise.all([this.#parts.health.probe(this, heard), this.register().then(heard)]);
  }

  /** What the decisions of the last seconds say about the database. */
  get recent(): Health["recent"] {
    return this.#parts.health.recent;
  }

  /** Called when something that needs the database fails. Must not throw. */
  set onTrouble(listener: () => void) {
    this.#parts.health.onTrouble = listener;
  }

  /** This replica's number in the register. */
  get replica(): bigint {
    return this.#parts.replica;
  }

  /** What is used of the bounds of the engine. */
  get bounds(): readonly BoundUse[] {
    const { lanes, lockIds, turns, reads, captures, subscribers, detachments } = this.#parts;
    const parts = [lanes, lockIds, turns, reads, captures, subscribers.watches, detachments];
    return parts.flatMap(({ bounds }) => bounds);
  }

  /** Number of claims that streams and blocked calls follow. */
  get waiterCount(): number {
    return this.#parts.subscribers.followers.count;
  }

  /** Number of captures that wait for a lock to take. */
  get waitingCaptures(): number {
    return this.#parts.subscribers.waitingCaptures.count;
  }

  /** With a follower, a waiting claim is kept alive until `detach`; without, it lives for its grace period. */
  acquire(input: AcquireInput, follower: Follower | null, caller?: Caller): Promise<AnswerTo<"acquire">> {
    return promised((asker) => this.beginAcquire(input, follower, caller, asker));
  }

  /** As `acquire`, without a promise: calls the asker back in the tick of the commit. Throws nothing. */
  beginAcquire(
    input: AcquireInput,
    follower: Follower | null,
    caller: Caller | undefined,
    asker: Asker<AnswerTo<"acquire">>,
  ): void {
    const { newSecret, commands, replica } = this.#parts;
    const { requestId } = input;
    commands.begin(
      {
        verb: "acquire",
        name: input.name,
        mode: input.mode,
        permits: input.permits,
        also: input.also?.map((wanted) => ({ ...wanted, lockId: 0n })),
        ttlUs: input.ttlUs,
        requestId:
          requestId === ""
            ? SERVER_MADE_PREFIX + newSecret()
            : keptRequestId(markOf(caller?.principal), requestId),
        secret: newSecret(),
        owner: input.owner,
        labels: input.labels,
        terms: input.terms ?? null,
        mayWait: input.mayWait,
        maxWaitUs: input.maxWaitUs,
        headStartUs: input.headStartUs,
        replica: follower ? replica : null,
        caller,
      },
      follower,
      asker,
    );
  }

  /**
   * Takes leases on those of many locks that are free and due now. Throws a Fault if no lease was taken and an Acquire
   * failed, which may have taken something: a repeated call with the same request id finds out.
   */
  async capture(input: CaptureInput, caller?: Caller): Promise<Captured> {
    const { lanes, captures } = this.#parts;
    lanes.refuseWhenStopped();
    const isOver = () => caller?.signal?.aborted === true;
    return await captures.capture({ input, afterWait: false, caller, isOver });
  }

  /**
   * As `capture`, but waits until there is at least one lease; the leases are then provisional. If the signal ends the
   * wait while an attempt is under way, the attempt still decides and its leases are the answer. Otherwise the call
   * rejects with the signal's reason, or with a Fault if something may have been taken.
   */
  async captureWhenFree(input: CaptureInput, signal: AbortSignal, caller?: Caller): Promise<Captured> {
    const { lanes, captures, subscribers } = this.#parts;
    lanes.refuseWhenStopped();
    const isOver = () => signal.aborted || caller?.signal?.aborted === true;
    const attempt = async (isOver: () => boolean, afterWait = true) => {
      const leave = caller?.roomForLeases?.(input.max);
      if (leave === null) return NO_ROOM;
      try {
        return await captures.capture({ input, afterWait, caller, isOver });
      } finally {
        leave?.();
      }
    };
    const captured = await attempt(isOver, false);
    if (captured.leases.length > 0 || captured.isRepeated) return captured;
    return await subscribers.waitingCaptures.wait(input, captured.retryAfterUs, signal, attempt);
  }

  /** Comes back to a claim by its id. */
  attach(ref: ClaimRef, follower: Follower, caller?: Caller): Promise<AnswerTo<"attach">> {
    const { commands, replica } = this.#parts;
    return commands.byRef({ verb: "attach", ref, replica, caller }, follower);
  }

  /**
   * The follower no longer listens, or (null) nobody received the answer. If the claim has no other follower here, its
   * place is kept for the grace period. If `canReturn` is false (the client has neither the ticket id nor a request id
   * of its own), the claim is ended instead. The engine repeats this in the background until the database knows.
   */
  detach(claim: Claim, follower: Follower | null, canReturn: boolean): void {
    const { subscribers, detachments, replica } = this.#parts;
    if (follower && subscribers.followers.remove(claim, follower)) return;
    const { lockId, requestId, secret } = claim;
    if (!canReturn) detachments.add(lockId, { verb: "withdraw", requestId, secret });
    else detachments.add(lockId, { verb: "detach", ref: claim, replica });
  }

  /** A client has come for a lease that was granted after a wait: the lease is no longer provisional. */
  confirm(ref: ClaimRef, caller?: Caller): Promise<AnswerTo<"attach">> {
    return this.#parts.commands.byRef({ verb: "attach", ref, replica: null, caller });
  }

  /** Calls `listener` once, synchronously, when this replica ends the lease. Returns how to remove it. */
  onLost(lease: ClaimRef, listener: (ended: Claim) => void): () => void {
    return this.#parts.subscribers.leases.add(lease, listener);
  }

  /** Runs a command for the lock that it names, which some verbs make, or that its claim belongs to. */
  ask<Asking extends Asked>(asked: Asking): Promise<AnswerTo<Asking["verb"]>> {
    return promised((asker) => this.beginAsk(asked, asker));
  }

  /** As `ask`, without a promise: calls the asker back in the tick of the commit. Throws nothing. */
  beginAsk<Asking extends Asked>(asked: Asking, asker: Asker<AnswerTo<Asking["verb"]>>): void {
    this.#parts.commands.begin(asked, null, asker);
  }

  /** Sets or (null) removes what is set for each name with a prefix. */
  async setLimitRule(
    prefix: string,
    set: NewSettings,
    expectedVersion: bigint | undefined,
    reason: string,
    caller?: Caller,
  ): Promise<LimitRuleAnswer> {
    this.#parts.lanes.refuseWhenStopped();
    if (set.queueRules) await this.#parts.keepOldServersOut();
    const answer = await changeLimitRule({ prefix, set, expectedVersion, reason, caller }, this.#parts);
    if (answer.kind === "limit_rule") {
      const { version, serversBehind } = answer;
      const what = { prefix, isPool: false, set, version, reason, serversBehind, caller };
      this.#parts.observer({ kind: "limit_rule_set", ...what });
    }
    return answer;
  }

  /** Sets or (null) removes the limit, the rate or both of all names with a prefix together. */
  async setPool(
    prefix: string,
    set: NewSettings,
    expectedVersion: bigint | undefined,
    reason: string,
    caller?: Caller,
  ): Promise<PoolAnswer> {
    this.#parts.lanes.refuseWhenStopped();
    const change = { prefix, set, expectedVersion, reason, caller };
    const answer = await changePool(change, (command) => this.ask(command), this.#parts);
    if (answer.kind === "pool") {
      const { version, serversBehind } = answer;
      const what = { prefix, isPool: true, set, version, reason, serversBehind, caller };
      this.#parts.observer({ kind: "limit_rule_set", ...what });
    }
    return answer;
  }

  /** The latest time that the database's clock may show now. */
  nowUs(): number {
    return this.#parts.nowUs();
  }

  /** For how long nothing is granted yet because of a fail-over, as far as this server's decisions have shown. */
  get pausedForUs(): number {
    return Math.max(0, this.#parts.checked.grantsFromUs - this.nowUs());
  }

  /** The place of a waiter; null: the claim does not wait. Many calls for one lock share one read. */
  place(waiter: Waiter, caller?: Caller): Promise<Place | null> {
    return withoutRepeating(() => this.#parts.subscribers.places.of(waiter, caller));
  }

  /** First holders of a lock, for a refusal. Many calls for one lock share one read. */
  holders(lockId: bigint, caller?: Caller): Promise<{ nowUs: number; claims: readonly Claim[] }> {
    return withoutRepeating(() => this.#parts.reads.holders(lockId, caller));
  }

  /** The name of a lock; null: there is no lock with this id. At once if this server has used it lately. */
  lockName(lockId: bigint, caller?: Caller): string | null | Promise<string | null> {
    return this.#parts.locks.known(lockId)?.name ?? this.#readLockName(lockId, caller);
  }

  /** The limit in force for a name, for a refusal. */
  limit(name: string, caller?: Caller): Promise<EffectiveLimit> {
    return withoutRepeating(() => this.#parts.reads.limit(name, caller));
  }

  /** One lock, or what would apply to it if nobody has used the name. */
  view(name: string, caller?: Caller): Promise<ViewedLock> {
    return this.#parts.views.view(name, caller);
  }

  /** Locks by prefix. Reads as it is iterated. Few listings are read at a time, so do not pause in between. */
  views(query: LocksQuery, caller?: Caller): AsyncIterable<ViewedLock> {
    return this.#parts.views.views(query, caller);
  }

  /**
   * Reports the locks under the prefix, then their changes, until the caller closes the watch. Beyond its bounds, the
   * engine ends a watch of the caller that has most: this one, which then throws a Fault, or another.
   */
  watchLocks(prefix: string, caller?: Caller): LockWatch {
    const { lanes, subscribers } = this.#parts;
    lanes.refuseWhenStopped();
    return subscribers.watches.open(prefix, caller);
  }

  /** Limits that were set: of patterns, then of names, each in byte order. Reads as `views` does. */
  limits(query: LimitsQuery, caller?: Caller): AsyncIterable<LimitSetting> {
    return this.#parts.views.limits(query, caller);
  }

  /** Claims that are live or have ended. Reads as `views` does, and stops after searching as much as for one page. */
  claims(query: ClaimsQuery, caller?: Caller): AsyncIterable<ListedClaim> {
    const { store, turns, nowUs } = this.#parts;
    return turns.each(caller, () => listedClaims(store, query, nowUs()));
  }

  /**
   * From when on all ended claims of this lock, or of all locks with the prefix, and all changes are still kept. Says
   * rather too little than too much. Throws Faults.
   */
  async historyBegins(
    { lockName, prefix }: Pick<ClaimsQuery, "lockName" | "prefix">,
    caller?: Caller,
  ): Promise<{ readonly claimsUs: number; readonly changesUs: number }> {
    const { store, turns, nowUs, kept } = this.#parts;
    const from = await turns.run(() => store.historyFrom(), caller);
    const keptForUs = lockName === null ? kept.underPrefixUs(prefix) : kept.ofNameUs(lockName);
    return {
      claimsUs: Math.max(nowUs() - keptForUs, from.claimsUs),
      changesUs: Math.max(nowUs() - kept.changesUs, from.changesUs),
    };
  }

  /** Changes that somebody made, newest first. Reads as `claims` does. */
  changes(query: ChangesQuery, caller?: Caller): AsyncIterable<ListedChange> {
    const { store, turns } = this.#parts;
    return turns.each(caller, () => listedChanges(store, query));
  }

  /** Why a claim waits, or why a request would have to; null: the claim does not wait. */
  explain(target: WaitTarget, caller?: Caller): Promise<Explanation | null> {
    return explainWait(target, caller, this.#parts);
  }

  async #readLockName(lockId: bigint, caller?: Caller): Promise<string | null> {
    const { locks, reads } = this.#parts;
    const name = await withoutRepeating(() => reads.lockName(lockId, caller));
    if (name !== null) locks.learnName(lockId, name);
    return name;
  }

  async #stop(): Promise<void> {
    const { subscribers, background, lanes, store, replica } = this.#parts;
    await subscribers.stop(shuttingDown());
    await background.stop();
    await lanes.stop();
    subscribers.followers.queueSpans.stop();
    await store.retire(replica);
  }
}

/** What the app uses to run the engine and to see whether it works. */
type Running =
  | "start"
  | "stop"
  | "poked"
  | "register"
  | "probe"
  | "recent"
  | "onTrouble"
  | "replica"
  | "bounds";

/** The verbs alone, as grpc calls them. */
export type LockEngine = Omit<Engine, Running | "waiterCount" | "waitingCaptures">;
