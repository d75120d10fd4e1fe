// The door of this folder: who on this replica has to hear of changes, and how. Followers wait for a known claim: the
// waiters' poll asks for it by key. Watches and waiting captures want any lock that changes: the feed reports those.
// The two reads stay apart, because a sweep costs more the more is decided anywhere, and must rest, and a waiter must
// be woken within a tick. Whatever this replica commits is reported to all of them at once.

import type { ClaimKey } from "../../core/claim.ts";
import type { Store } from "../../storage/store.ts";
import type { EngineObserver } from "../answers.ts";
import type { Attempt } from "../transaction/transaction.ts";
import { DecisionFeed } from "./decision-feed.ts";
import { Followers, HeldLeases } from "./followers.ts";
import { LockWatches, type LockWatchesOptions } from "./lock-watches.ts";
import { Places, type PlacesOptions } from "./places.ts";
import { Waiters, type WaitersOptions } from "./waiters.ts";
import { WaitingCaptures } from "./waiting-captures.ts";

export interface SubscribersOptions extends Pick<WaitersOptions, "store" | "advances" | "rulesInForce"> {
  readonly reads: PlacesOptions["store"] & { readonly inTurn: Pick<Store, "poll" | "decidedSince"> };
  readonly views: LockWatchesOptions["views"];
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
  readonly #waiters: Waiters;
  readonly #feed: DecisionFeed;

  constructor(options: SubscribersOptions) {
    const { reads, pollIntervalMs: intervalMs, onFailure } = options;
    const { followers } = this;
    const places = new Places({ store: reads, followers, onFailure });
    const feed = new DecisionFeed({ read: reads.inTurn.decidedSince, intervalMs, onFailure });
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
  }

  /** Another replica reports that it has granted these claims. Only a hint. */
  poked(claims: readonly ClaimKey[]): void {
    this.#waiters.poked(claims);
  }

  /**
   * This replica has committed the batch. Runs in the same tick of the event loop as the answers: a client that gets
   * both together sends its next commands together, and one transaction carries them together.
   */
  committed({ locks, events, limitRules }: Pick<Attempt, "locks" | "events" | "limitRules">): void {
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
      const isEnded = event.kind === "ended";
      if (isFollowed && (isEnded || event.kind === "granted")) followers.settled(event.claim, nowUs);
      if (isEnded && event.was === "held") this.leases.ended(event.claim);
    }
    if (isFollowed) for (const lockId of locks.keys()) places.changed(lockId);
    if (this.#feed.isHeard) this.#feed.committed(locks.values());
  }
}
