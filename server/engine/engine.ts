// The engine: loads, decides, saves and wakes for every verb. This file has the verbs, and starts and stops the parts; it
// decides nothing itself. parts.ts connects the parts. lanes.ts and batch.ts carry commands; after-commit.ts and the
// folder changes carry wake-ups.

import type { Claim, ClaimKey, ClaimRef } from "../core/claim.ts";
import { SERVER_MADE_PREFIX } from "../core/claim.ts";
import type { Asked, Caller, Place } from "../core/command.ts";
import type { EffectiveLimit } from "../core/limit.ts";
import type { Recent } from "./background/health.ts";
import { shuttingDown } from "./faults.ts";
import type {
  AcquireInput,
  AnswerTo,
  Captured,
  CaptureInput,
  Follower,
  LimitRuleAnswer,
  LimitSetting,
  LimitsQuery,
  LockEngine,
  LocksQuery,
  LockWatch,
  ViewedLock,
} from "./lock-engine.ts";
import { connect, type EngineOptions, type Parts } from "./parts.ts";
import { withoutRepeating } from "./transaction/attempts.ts";
import { changeLimitRule } from "./transaction/limit-rules.ts";

export class Engine implements LockEngine {
  readonly #parts: Parts;
  #stopping: Promise<void> | undefined;

  constructor(options: EngineOptions) {
    this.#parts = connect(options);
  }

  async start(): Promise<void> {
    await this.#parts.background.start();
    await this.#parts.changes.start();
  }

  /** Another replica reports that it has granted these claims. */
  poked(claims: readonly ClaimKey[]): void {
    this.#parts.changes.poked(claims);
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

  /**
   * Makes the probe's own decisions and checks that the database is fit to decide on. Throws a Fault if it is not.
   * Calls `heard` after each answer of the database.
   */
  async probe(heard = () => {}): Promise<void> {
    await Promise.all([this.#parts.health.probe(this, heard), this.register().then(heard)]);
  }

  /** What the decisions of the last seconds say about the database; excludes those of the probe. */
  get recent(): Recent {
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

  /** Number of claims that streams and blocked calls follow. */
  get waiterCount(): number {
    return this.#parts.changes.followers.count;
  }

  /** Number of captures that wait for a lock to take. */
  get waitingCaptures(): number {
    return this.#parts.changes.waitingCaptures.count;
  }

  acquire(input: AcquireInput, follower: Follower | null, caller?: Caller): Promise<AnswerTo<"acquire">> {
    const { newSecret, commands } = this.#parts;
    const requestId = input.requestId === "" ? SERVER_MADE_PREFIX + newSecret() : input.requestId;
    const replica = follower ? this.#parts.replica : null;
    const secret = newSecret();
    return commands.byName({ ...input, verb: "acquire", requestId, secret, replica, caller }, follower);
  }

  async capture(input: CaptureInput, caller?: Caller): Promise<Captured> {
    const { lanes, captures } = this.#parts;
    lanes.refuseWhenStopped();
    const isOver = () => caller?.signal?.aborted === true;
    return await captures.capture({ input, afterWait: false, caller, isOver });
  }

  async captureWhenFree(input: CaptureInput, signal: AbortSignal, caller?: Caller): Promise<Captured> {
    const { lanes, captures, changes } = this.#parts;
    lanes.refuseWhenStopped();
    const isOver = () => signal.aborted || caller?.signal?.aborted === true;
    const captured = await captures.capture({ input, afterWait: false, caller, isOver });
    if (captured.leases.length > 0 || captured.isRepeated) return captured;
    const attempt = (isOver: () => boolean) => captures.capture({ input, afterWait: true, caller, isOver });
    return await changes.waitingCaptures.wait(input, captured.retryAfterUs, signal, attempt);
  }

  attach(ref: ClaimRef, follower: Follower, caller?: Caller): Promise<AnswerTo<"attach">> {
    const { commands, replica } = this.#parts;
    return commands.byRef({ verb: "attach", ref, replica, caller }, follower);
  }

  detach(claim: Claim, follower: Follower | null, canReturn: boolean): void {
    const { changes, detachments, replica } = this.#parts;
    if (follower && changes.followers.remove(claim, follower)) return;
    const { lockId, requestId } = claim;
    if (!canReturn) detachments.add(lockId, { verb: "withdraw", requestId });
    else detachments.add(lockId, { verb: "detach", ref: claim, replica });
  }

  confirm(ref: ClaimRef, caller?: Caller): Promise<AnswerTo<"attach">> {
    return this.#parts.commands.byRef({ verb: "attach", ref, replica: null, caller });
  }

  onLost(lease: ClaimRef, listener: (ended: Claim) => void): () => void {
    return this.#parts.changes.leases.add(lease, listener);
  }

  ask<Asking extends Asked>(asked: Asking): Promise<AnswerTo<Asking["verb"]>> {
    return this.#parts.commands.ask(asked);
  }

  async setLimitRule(
    prefix: string,
    limit: number | null,
    expectedVersion: bigint | undefined,
    reason: string,
    caller?: Caller,
  ): Promise<LimitRuleAnswer> {
    this.#parts.lanes.refuseWhenStopped();
    const answer = await changeLimitRule({ prefix, limit, expectedVersion, reason }, this.#parts);
    if (answer.kind === "limit_rule") {
      const { version, serversBehind } = answer;
      const set = { prefix, limit: answer.limit, version, reason, serversBehind };
      this.#parts.observer({ kind: "limit_rule_set", ...set, caller });
    }
    return answer;
  }

  nowUs(): number {
    return this.#parts.store.clock.latestUs(performance.now() * 1_000) ?? 0;
  }

  place(key: ClaimKey, caller?: Caller): Promise<Place | null> {
    return withoutRepeating(() => this.#parts.changes.places.of(key, caller));
  }

  holders(lockId: bigint, caller?: Caller): Promise<{ nowUs: number; claims: readonly Claim[] }> {
    return withoutRepeating(() => this.#parts.reads.holders(lockId, caller));
  }

  limit(name: string, caller?: Caller): Promise<EffectiveLimit> {
    return withoutRepeating(() => this.#parts.reads.limit(name, caller));
  }

  view(name: string, caller?: Caller): Promise<ViewedLock> {
    return this.#parts.views.view(name, caller);
  }

  views(query: LocksQuery, caller?: Caller): AsyncIterable<ViewedLock> {
    return this.#parts.views.views(query, caller);
  }

  watchLocks(prefix: string, caller?: Caller): LockWatch {
    const { lanes, changes } = this.#parts;
    lanes.refuseWhenStopped();
    return changes.watches.open(prefix, caller);
  }

  limits(query: LimitsQuery, caller?: Caller): AsyncIterable<LimitSetting> {
    return this.#parts.views.limits(query, caller);
  }

  async #stop(): Promise<void> {
    const { changes, background, lanes, store, replica } = this.#parts;
    await changes.stop(shuttingDown());
    await background.stop();
    await lanes.stop();
    await store.retire(replica);
  }
}
