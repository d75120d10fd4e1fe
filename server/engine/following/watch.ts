// Polls the database for the followers of this replica: what other replicas granted or ended, which queues moved, and
// which locks have something due. Every wake-up runs it; it stays right if wake-ups come late or are lost.

import { type Claim, type ClaimKey, keyText } from "../../core/claim.ts";
import { partsOf } from "../../core/parts.ts";
import type { Store } from "../../storage/store.ts";
import type { Advances } from "../background/advances.ts";
import { DUE_AHEAD_US, POKED_AGAIN_MS, POLL_LOCKS_MAX } from "../engine-bounds.ts";
import type { RulesInForce } from "../transaction/rules-in-force.ts";
import { DueTimers } from "./due-timers.ts";
import { type Followers, gone } from "./followers.ts";
import type { Places } from "./places.ts";
import { RuleChanges } from "./rule-changes.ts";

export interface WatchOptions {
  readonly store: Pick<Store, "watch" | "claims" | "limitRules">;
  readonly followers: Followers;
  readonly places: Places;
  readonly advances: Pick<Advances, "start">;
  readonly rulesInForce: Pick<RulesInForce, "saw">;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Watch {
  readonly #options: WatchOptions;
  readonly #dueTimers: DueTimers;
  readonly #ruleChanges: RuleChanges;
  /** Timers of repeated looks after a poke. */
  readonly #again = new Set<NodeJS.Timeout>();

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#ruleChanges = new RuleChanges(() => options.store.limitRules());
    this.#dueTimers = new DueTimers((lockIds) => {
      this.look(lockIds).catch((error: unknown) => options.onFailure("poll", error));
    });
  }

  stop(): void {
    this.#dueTimers.stop();
    for (const timer of this.#again) clearTimeout(timer);
    this.#again.clear();
  }

  /**
   * Reads those of the given claims that are followed here: another server reports that it has granted them. A cluster
   * node that this server reads from may apply the grant a little later, so this method looks again soon, without
   * waiting for that.
   */
  async lookAt(keys: readonly ClaimKey[], times = 0): Promise<void> {
    const { followers, onFailure } = this.#options;
    const claims = keys.flatMap((key) => followers.claim(key) ?? []);
    if (claims.length === 0) return;
    await this.#readClaims(claims);
    const waiting = claims.filter((claim) => followers.followsClaim(claim));
    const againMs = POKED_AGAIN_MS[times];
    if (waiting.length === 0 || againMs === undefined) return;
    const timer = setTimeout(() => {
      this.#again.delete(timer);
      this.lookAt(waiting, times + 1).catch((error: unknown) => onFailure("poke", error));
    }, againMs);
    this.#again.add(timer);
  }

  /** Looks at the given locks, or at all that are followed here. */
  async look(lockIds?: readonly bigint[]): Promise<void> {
    const { followers } = this.#options;
    const followed = lockIds ? lockIds.filter((id) => followers.follows(id)) : followers.lockIds();
    for (const part of partsOf(followed, POLL_LOCKS_MAX)) await this.#lookAtLocks(part);
    // A rule change waits for all servers, even for those without waiters.
    if (!lockIds && followed.length === 0) await this.#lookAtLocks([]);
  }

  async #lookAtLocks(lockIds: readonly bigint[]): Promise<void> {
    const { store, followers, places, advances } = this.#options;
    const { revisions, due, dueSoon, rulesRevision } = await store.watch(lockIds, DUE_AHEAD_US);
    this.#options.rulesInForce.saw(rulesRevision);
    // Not awaited: one lock must not delay the others.
    for (const lockId of due) void advances.start(lockId);
    for (const [lockId, inUs] of dueSoon) this.#dueTimers.set(lockId, inUs);
    // A missing guard row took its claims along; reading the claims notifies their followers.
    const stale = lockIds.filter((id) => followers.isStale(id, revisions.get(id) ?? -1n));
    const additions = stale.map((id) => followers.lastAddition(id));
    await this.#readClaims(stale.flatMap((id) => [...followers.of(id)].map(({ claim }) => claim)));
    stale.forEach((lockId, index) => {
      followers.saw(lockId, revisions.get(lockId) ?? -1n, additions[index] as number);
      places.changed(lockId);
    });
    await this.#lookAtRules(lockIds, rulesRevision);
  }

  async #lookAtRules(lockIds: readonly bigint[], rulesRevision: bigint): Promise<void> {
    const { followers, advances } = this.#options;
    await this.#ruleChanges.saw(rulesRevision);
    for (const lockId of lockIds)
      if (followers.hasOldRules(lockId, this.#ruleChanges)) void advances.start(lockId);
  }

  async #readClaims(followed: readonly Claim[]): Promise<void> {
    const { store, followers } = this.#options;
    for (const part of partsOf(followed, POLL_LOCKS_MAX)) {
      const { nowUs, claims } = await store.claims(part);
      const byKey = new Map(claims.map((claim) => [keyText(claim), claim]));
      for (const claim of part) {
        const found = byKey.get(keyText(claim));
        const now = found?.secret === claim.secret ? found : gone(claim, nowUs);
        if (now.state !== "waiting") followers.tell(now, nowUs);
      }
    }
  }
}
