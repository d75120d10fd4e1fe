// Finds out for the followers of this replica what other replicas granted or ended, which queues moved, and which locks
// have something due. A tick asks about all followed locks in one statement. A timer asks when a lease ends that
// others wait for, and a poke when another replica reports a grant. Timers and pokes are hints: the tick stays right if
// they come late or are lost.

import { partsOf } from "../../core/bounds.ts";
import { type Claim, type ClaimKey, keyText } from "../../core/claim.ts";
import { sameRate } from "../../core/rate.ts";
import type { Store } from "../../storage/store.ts";
import * as bounds from "../engine-bounds.ts";
import { Loop } from "../loop.ts";
import type { Advances } from "../transaction/advances.ts";
import type { RulesInForce } from "../transaction/rules-in-force.ts";
import { DueTimers } from "./decision-feed.ts";
import { type Followers, gone, type Rules } from "./followers.ts";
import type { Places } from "./places.ts";

export interface WaitersOptions {
  readonly store: Pick<Store, "poll" | "claims" | "limitRules">;
  readonly followers: Followers;
  readonly places: Places;
  readonly advances: Pick<Advances, "start">;
  readonly rulesInForce: Pick<RulesInForce, "saw">;
  /** How late a waiter learns of what another replica did, at most. */
  readonly intervalMs: number;
  /** Limit rules with these prefixes have changed. */
  readonly onRulesChanged: (prefixes: readonly string[]) => void;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Waiters {
  readonly #options: WaitersOptions;
  readonly #ticks: Loop;
  readonly #ruleChanges: RuleRevisions;
  /** By lock: the first known end of a lease. Leases are renewed, so a look at the lock must confirm it. */
  readonly #dueTimers = new DueTimers<bigint>((lockId) => this.#isDue(lockId));
  #due: bigint[] = [];
  /** Claims that other replicas report as granted and that are not yet read. */
  #poked: ClaimKey[] = [];
  #readingPoked: Promise<void> | null = null;
  /** Timers of repeated looks after a poke. */
  readonly #again = new Set<NodeJS.Timeout>();
  #isStopped = true;

  constructor(options: WaitersOptions) {
    this.#options = options;
    const { store, intervalMs, onRulesChanged, onFailure } = options;
    this.#ruleChanges = new RuleRevisions(() => store.limitRules(), onRulesChanged);
    this.#ticks = new Loop({
      ...{ name: "poll", intervalMs, restMsMax: bounds.POLL_REST_MS_MAX, onFailure },
      run: () => this.look(),
    });
  }

  /** As this server read them last. */
  get rules(): Rules {
    return this.#ruleChanges.rules;
  }

  start(): void {
    this.#isStopped = false;
    this.#ticks.start();
  }

  /** Resolves when nothing is being read. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#ticks.stop();
    await this.#readingPoked;
    this.#dueTimers.stop();
    for (const timer of this.#again) clearTimeout(timer);
    this.#again.clear();
  }

  /** Another replica has granted these. Claims that arrive while others are read are read together, after them. */
  poked(claims: readonly ClaimKey[]): void {
    this.#poked.push(...claims.slice(0, bounds.POKED_MAX - this.#poked.length));
    if (!this.#isStopped && this.#poked.length > 0) this.#readingPoked ??= this.#readPoked();
  }

  async #readPoked(): Promise<void> {
    while (!this.#isStopped && this.#poked.length > 0) await this.#lookAtClaims(this.#poked.splice(0));
    this.#readingPoked = null;
  }

  /** Looks again soon: the cluster node that this server reads from may apply a grant a little later. */
  async #lookAtClaims(keys: readonly ClaimKey[], times = 0): Promise<void> {
    const { followers, onFailure } = this.#options;
    const claims = keys.flatMap((key) => followers.claim(key) ?? []);
    if (claims.length === 0) return;
    try {
      await this.#readClaims(claims);
    } catch (error) {
      return onFailure("poke", error);
    }
    const waiting = claims.filter((claim) => followers.claim(claim));
    const againMs = bounds.POKED_AGAIN_MS[times];
    if (waiting.length === 0 || againMs === undefined || this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#again.delete(timer);
      void this.#lookAtClaims(waiting, times + 1);
    }, againMs);
    this.#again.add(timer);
  }

  /** One look for all locks whose timers end in one tick. */
  #isDue(lockId: bigint): void {
    if (this.#due.length === 0)
      setImmediate(() => {
        this.look(this.#due.splice(0)).catch((error: unknown) => this.#options.onFailure("poll", error));
      });
    this.#due.push(lockId);
  }

  /** Looks at the given locks, or at all that are followed here. */
  async look(lockIds?: readonly bigint[]): Promise<void> {
    const { followers } = this.#options;
    const followed = lockIds ? lockIds.filter((id) => followers.follows(id)) : followers.lockIds();
    for (const part of partsOf(followed, bounds.POLL_LOCKS_MAX)) await this.#lookAtLocks(part);
    // A rule change waits for all servers, even for those without waiters.
    if (!lockIds && followed.length === 0) await this.#lookAtLocks([]);
  }

  async #lookAtLocks(lockIds: readonly bigint[]): Promise<void> {
    const { store, followers, places, advances } = this.#options;
    const { revisions, due, dueSoon, rulesRevision } = await store.poll(lockIds, bounds.DUE_AHEAD_US);
    this.#options.rulesInForce.saw(rulesRevision);
    // Not awaited: one lock must not delay the others.
    for (const lockId of due) void advances.start(lockId);
    for (const [lockId, inUs] of dueSoon) this.#dueTimers.set(lockId, inUs / 1_000 + bounds.DUE_AFTER_MS);
    // A missing guard row took its claims along; reading the claims notifies their followers.
    const stale = lockIds.filter((id) => followers.isStale(id, revisions.get(id) ?? -1n));
    const { additions } = followers;
    await this.#readClaims(stale.flatMap((id) => [...followers.of(id)].map(({ claim }) => claim)));
    for (const lockId of stale) {
      followers.saw(lockId, revisions.get(lockId) ?? -1n, additions);
      places.changed(lockId);
    }
    await this.#ruleChanges.saw(rulesRevision);
    for (const lockId of lockIds)
      if (followers.hasOldRules(lockId, this.#ruleChanges)) void advances.start(lockId);
  }

  /** Notifies the followers of those claims that no longer wait. */
  async #readClaims(followed: readonly Claim[]): Promise<void> {
    const { store, followers } = this.#options;
    for (const part of partsOf(followed, bounds.POLL_LOCKS_MAX)) {
      const { nowUs, claims } = await store.claims(part);
      const byKey = new Map(claims.map((claim) => [keyText(claim), claim]));
      for (const claim of part) {
        const found = byKey.get(keyText(claim));
        const now = found?.secret === claim.secret ? found : gone(claim, nowUs);
        if (now.state !== "waiting") followers.settled(now, nowUs);
      }
    }
  }
}

/**
 * Finds the locks where a change of the limit rules may admit a waiter. If several servers of a database accept writes,
 * one may keep a waiter by older rules while another one changes the rules, and neither sees the other. So each replica
 * remembers the rules of its last decision about each lock followed here, and decides again if they have changed.
 */
export class RuleRevisions {
  readonly #read: Store["limitRules"];
  readonly #onChanged: (prefixes: readonly string[]) => void;
  #revision: bigint | null = null;
  /** The current rules. */
  rules: Rules = [];
  /** Prefixes of the rules that have changed, by the older rules. */
  #changed = new Map<Rules, readonly string[]>();

  /** `onChanged` hears the prefixes of the rules that have changed since the rules were read before. */
  constructor(read: Store["limitRules"], onChanged: (prefixes: readonly string[]) => void) {
    this.#read = read;
    this.#onChanged = onChanged;
  }

  /** Reports the current revision of the rules. Throws StoreErrors; the caller must then report it again. */
  async saw(revision: bigint): Promise<void> {
    if (revision === this.#revision) return;
    // These may be rules of a later revision. That revision is reported soon, and the rules are read again.
    const rules = await this.#read();
    const prefixes = this.#revision === null ? [] : changedPrefixes(this.rules, rules);
    this.rules = rules;
    this.#changed = new Map();
    this.#revision = revision;
    if (prefixes.length > 0) this.#onChanged(prefixes);
  }

  /** Whether the current rules might decide about a lock of this name differently from `before`. */
  concerns(name: string, before: Rules): boolean {
    if (before === this.rules) return false;
    let prefixes = this.#changed.get(before);
    if (!prefixes) {
      prefixes = changedPrefixes(before, this.rules);
      this.#changed.set(before, prefixes);
    }
    return prefixes.some((prefix) => name.startsWith(prefix));
  }
}

function changedPrefixes(before: Rules, now: Rules): string[] {
  const old = new Map(before.map((rule) => [rule.prefix, rule]));
  const changed = now.filter(({ prefix, version, limit, rate }) => {
    const rule = old.get(prefix);
    old.delete(prefix);
    if (!rule) return limit !== null || rate !== null;
    return rule.version !== version || rule.limit !== limit || !sameRate(rule.rate, rate);
  });
  return [...changed.map(({ prefix }) => prefix), ...old.keys()];
}
