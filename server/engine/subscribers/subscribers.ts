// The door of this folder: who on this replica has to hear of changes, and how. Followers wait for a known claim: the
// waiters' poll asks for it by key. Watches and waiting captures want any lock that changes: the feed reports those.
// The two reads stay apart, because a sweep costs more the more is decided anywhere, and must rest, and a waiter must
// be woken within a tick. After a commit of this replica, callers are answered, their followers registered, observers
// notified, and everyone is woken who waited for it, all in one tick of the event loop: a client that gets several answers
// together sends its next commands together, and one transaction carries them together. Nothing here may throw.

import { type Claim, type ClaimKey, isLead, isSpend } from "../../core/claim.ts";
import type { Outcome } from "../../core/command.ts";
import type { Decided } from "../../core/decide-batch.ts";
import { isOwnName } from "../../core/lock.ts";
import type { CallSpan } from "../../core/span.ts";
import type { Store } from "../../storage/store.ts";
import type { EngineObserver } from "../answers.ts";
import { DUE_AHEAD_US } from "../engine-bounds.ts";
import { outcomeUnknown } from "../faults.ts";
import type { Advances } from "../transaction/advances.ts";
import type { Looks } from "../transaction/looks.ts";
import type { Ask, AsksByLock, Attempt } from "../transaction/transaction.ts";
import { DecisionFeed, DueTimers } from "./decision-feed.ts";
import { Followers, HeldLeases } from "./followers.ts";
import { LockWatches, type LockWatchesOptions } from "./lock-watches.ts";
import { Places, type PlacesOptions } from "./places.ts";
import { Waiters, type WaitersOptions } from "./waiters.ts";
import { WaitingCaptures } from "./waiting-captures.ts";

/** A claim that was granted after a wait, and the replica that its waiter hangs on. */
export interface GrantedElsewhere extends ClaimKey {
  readonly replica: bigint;
}

export interface SubscribersOptions extends Pick<WaitersOptions, "rulesInForce"> {
  readonly store: WaitersOptions["store"] & Pick<Store, "clock">;
  readonly advances: Pick<Advances, "start" | "owe">;
  readonly looks: Pick<Looks, "at">;
  readonly reads: PlacesOptions["store"] & { readonly inTurn: Pick<Store, "poll" | "decidedSince"> };
  readonly views: LockWatchesOptions["views"];
  readonly replica: bigint;
  /** Notifies another replica of a grant. Never waits, never fails. */
  readonly poke: (granted: GrantedElsewhere) => void;
  /** How late a waiter learns of what another replica did, at most. */
  readonly pollIntervalMs: number;
  readonly observer: EngineObserver;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Subscribers {
  readonly followers = new Followers();
  readonly leases = new HeldLeases();
  readonly places: Places;
  readonly watches: LockWatches;
  readonly waitingCaptures: WaitingCaptures;
  readonly #options: SubscribersOptions;
  readonly #waiters: Waiters;
  readonly #feed: DecisionFeed;
  /** By lock: when to decide again, because a rate or its not_before lets its first waiter be granted then. */
  readonly #wakes = new DueTimers<bigint>((lockId) => void this.#options.advances.start(lockId));

  constructor(options: SubscribersOptions) {
    const { reads, pollIntervalMs: intervalMs, onFailure } = options;
    const { followers } = this;
    const places = new Places({ store: reads, rules: () => this.#waiters.rules, followers, onFailure });
    const feed = new DecisionFeed({ read: reads.inTurn.decidedSince, intervalMs, onFailure });
    this.#options = options;
    this.places = places;
    this.#feed = feed;
    this.watches = new LockWatches({ ...options, store: reads.inTurn, feed });
    this.waitingCaptures = new WaitingCaptures({ feed, onFailure });
    const onRulesChanged = (prefixes: readonly string[]) => feed.rulesChanged(prefixes);
    this.#waiters = new Waiters({ ...options, followers, places, intervalMs, onRulesChanged });
  }

  async start(): Promise<void> {
    // From now on, a change of a limit rule waits for this server. If this read fails, the first tick repeats it.
    await this.#waiters.look().catch(() => {});
    this.#waiters.start();
    this.places.start();
  }

  /** Ends all watches and waiting captures. Resolves when nothing is being read. Safe to call twice. */
  async stop(why: Error): Promise<void> {
    await this.#waiters.stop();
    await this.places.stop();
    this.waitingCaptures.stop(why);
    await this.watches.stop(why);
    await this.#feed.stop();
    this.#wakes.stop();
  }

  /** Another replica reports that it has granted these claims. Only a hint. */
  poked(claims: readonly ClaimKey[]): void {
    this.#waiters.poked(claims);
  }

  /** Answers come last: by then followers are registered, and whoever is answered may ask again at once. */
  answer(asks: AsksByLock, attempt: Attempt): void {
    const outcomes: (Outcome | undefined)[] = [];
    // Not by for...of, which makes a list of two for each lock of each transaction.
    asks.forEach((list, lockId) => {
      const decided = attempt.decided.get(lockId);
      const revision = (attempt.locks.get(lockId)?.lock ?? attempt.pools.get(lockId))?.revision;
      for (let index = 0; index < list.length; index++) {
        let outcome = attempt.outcome(lockId, index, decided);
        if (outcome && outcome.kind !== "in_doubt") {
          if (decided && revision !== undefined)
            this.#note(list[index] as Ask, outcome, decided, revision, attempt);
          else outcome = undefined;
        }
        outcomes.push(outcome);
      }
    });
    this.#options.observer({ kind: "batch", commands: outcomes.length, locks: asks.size });
    this.wake(attempt);
    let next = 0;
    asks.forEach((list, lockId) => {
      const decided = attempt.decided.get(lockId);
      for (const ask of list) settle(ask, outcomes[next++], decided);
    });
  }

  /** Registers what the outcome of an ask leaves here, and reports it. */
  #note(
    ask: Ask,
    outcome: Outcome,
    { lockName }: Decided,
    revision: bigint,
    { locks }: Pick<Attempt, "locks">,
  ): void {
    const { command, follower, submittedMs, caller } = ask;
    if (caller?.span) this.#trace(caller.span, outcome, lockName);
    if (outcome.kind === "waiting" && follower) this.followers.add(outcome.claim, follower, revision, locks);
    // Before anyone learns how the lease has ended, even if it ends in this same transaction.
    if (outcome.kind === "held") caller?.holds?.(outcome.claim);
    const seconds = (performance.now() - submittedMs) / 1e3;
    if (!isOwnName(lockName))
      this.#options.observer({ kind: "answered", command, outcome, lockName, seconds });
  }

  #trace(span: CallSpan, outcome: Outcome, lockName: string): void {
    const { queueSpans } = this.followers;
    if (outcome.kind === "waiting") queueSpans.begin(outcome.claim, span, lockName);
    // The call comes back to a claim that was settled elsewhere, and nobody here has noticed.
    else if (outcome.kind === "held" || outcome.kind === "ended") queueSpans.settled(outcome.claim);
    span.decided(outcome.kind, reasonOf(outcome), lockName);
  }

  /** Notifies everyone here and waiters on other replicas, and advances the locks that were left over. */
  wake({ locks, pools, mayGoOn, events, limitRules, leftOver }: Attempt): void {
    const { observer, advances, looks } = this.#options;
    for (const { event, lockName } of events) {
      if (!isOwnName(lockName)) observer({ kind: "event", event, lockName });
      if (event.kind === "granted" && event.queued && isLead(event.claim)) this.#pokeElsewhere(event.claim);
    }
    for (const lockId of leftOver) void advances.owe(lockId);
    // A mark of this moment is for the sweep, if the look at what may go on fails.
    const isMark = (atUs: number) => mayGoOn.length > 0 && atUs <= (this.#nowUs() ?? atUs);
    locks.forEach(({ lock: { id, wakesAtUs } }) => {
      if (wakesAtUs !== null && !isMark(wakesAtUs)) this.#wakeAt(id, wakesAtUs);
    });
    if (mayGoOn.length > 0) looks.at(mayGoOn);
    // Whoever may go on already is looked at now.
    const soon = mayGoOn.length === 0 ? pools : [];
    for (const [id, { wakesAtUs }] of soon) if (wakesAtUs !== null) this.#wakeAt(id, wakesAtUs);
    // Most commits concern nobody who follows, and cost nothing here.
    const { followers, places } = this;
    const isFollowed = followers.count > 0 || followers.queueSpans.count > 0;
    if (isFollowed) {
      locks.forEach(({ lock, revisionBefore }) => {
        followers.decided(lock, revisionBefore, limitRules);
      });
      followers.queueSpans.committed(events);
    }
    for (const { event, nowUs } of events) {
      // Of a claim for several locks, each row has its event, and the lead stands for all.
      if ("claim" in event && !isLead(event.claim)) continue;
      const isEnded = event.kind === "ended";
      // The followers of a spend hear how it ended.
      const isGranted = event.kind === "granted" && !isSpend(event.claim);
      if (isFollowed && (isEnded || isGranted)) followers.settled(event.claim, nowUs);
      if (isEnded && event.was === "held") this.leases.ended(event.claim);
    }
    if (isFollowed) {
      for (const lockId of locks.keys()) places.changed(lockId);
      places.poolsChanged(pools.keys());
    }
    if (this.#feed.listeners.size > 0) {
      this.#feed.committed(locks.values());
      for (const lock of pools.values()) this.#feed.committed([{ lock }]);
    }
  }

  #nowUs(): number | null {
    return this.#options.store.clock.earliestUs(performance.now() * 1_000);
  }

  /** If that is soon. If not, or if this server is gone by then, a sweep looks at the lock up to a second late. */
  #wakeAt(lockId: bigint, atUs: number): void {
    const nowUs = this.#nowUs();
    if (nowUs !== null && atUs - nowUs < DUE_AHEAD_US)
      this.#wakes.set(lockId, Math.ceil(Math.max(0, atUs - nowUs) / 1_000));
  }

  /** The waiter of a granted claim may be connected to another replica. */
  #pokeElsewhere({ replica, lockId, ticketNumber }: Claim): void {
    const { poke, replica: own } = this.#options;
    if (replica !== null && replica !== own) poke({ replica, lockId, ticketNumber });
  }
}

/** `outcome` undefined: the lock is gone, or has another name. */
function settle(ask: Ask, outcome: Outcome | undefined, decided: Decided | undefined): void {
  ask.isOver = true;
  if (outcome?.kind === "in_doubt") ask.fail(outcomeUnknown());
  else if (!outcome || !decided) ask.gone();
  else {
    const { nowUs, lockName } = decided;
    ask.settle({ outcome, nowUs, lockId: ask.lockId, lockName });
  }
}

/** Why a request was refused, or how a claim has ended; null: neither. */
function reasonOf(outcome: Outcome): string | null {
  if (outcome.kind === "refused") return outcome.reason;
  return outcome.kind === "ended" ? outcome.claim.endReason : null;
}
