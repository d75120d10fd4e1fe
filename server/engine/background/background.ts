// The background loops of a replica: heartbeats for the places of its waiters, the sweep of what is due at any lock,
// the deletion of what was kept long enough, checks of the rows, and the replica's own entry in the register.

import { setTimeout as sleep } from "node:timers/promises";
import { partsOf } from "../../core/bounds.ts";
import { type ClaimRef, keyText } from "../../core/claim.ts";
import type { Policy } from "../../core/rows.ts";
import type { Store } from "../../storage/store.ts";
import type { DeletedRows, EngineObserver } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { Loop } from "../loop.ts";
import type { Followers } from "../subscribers/followers.ts";
import type { Advances } from "../transaction/advances.ts";
import type { CheckedStore } from "../transaction/checked-store.ts";
import type { RulesInForce } from "../transaction/rules-in-force.ts";
import type { ClaimsFromAhead } from "./claims-from-ahead.ts";
import type { Detachments } from "./detachments.ts";
import type { InvariantChecks } from "./invariant-checks.ts";
import type { ReturnedWaiters } from "./returned-waiters.ts";
import type { Witness } from "./witness.ts";

/** What is kept, and for how long. */
export interface CleaningOptions {
  /** Idle time after which a lock's row is deleted. */
  readonly idleLockUs: number;
  /** How long every ended claim is kept at least. */
  readonly retentionUs: number;
  /** Ended claims; beyond this, the oldest are deleted before their time. */
  readonly historyRowsMax: number;
  readonly changesUs: number;
  /** Names these times and those of all names: other times have another name. */
  readonly keptBy: string;
}

export interface BackgroundOptions {
  readonly store: Omit<Store, "transact" | "failOver">;
  readonly followers: Followers;
  readonly detachments: Detachments;
  readonly policy: Policy;
  readonly checked: Pick<CheckedStore, "mustBeNewEnough">;
  readonly replica: bigint;
  readonly cleaning: CleaningOptions;
  readonly returned: Pick<ReturnedWaiters, "claims">;
  readonly advances: Pick<Advances, "start" | "again">;
  readonly poolCounts: { count(): Promise<void> };
  readonly claimsFromAhead: Pick<ClaimsFromAhead, "bringBack">;
  readonly rulesInForce: Pick<RulesInForce, "register">;
  readonly witness: Pick<Witness, "look">;
  readonly invariantChecks: Pick<InvariantChecks, "run">;
  /** How often the rows are checked; null: never. */
  readonly doctorIntervalMs: number | null;
  readonly observer: EngineObserver;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Background {
  readonly #options: BackgroundOptions;
  readonly #loops: Loop[];
  /**
   * performance.now() from which on places may have run out, because heartbeats have failed for so long. They then come
   * before decisions: the database or this process was away, not the waiters.
   */
  lateFromMs: number;
  #lateHeartbeat: Promise<void> | undefined;
  /** The request ids of claims that ended before this are forgotten; null: this server has not looked yet. */
  #forgottenUs: number | null = null;
  /** Places whose rows another transaction held at their last heartbeat. */
  readonly #skipped = new Set<string>();
  /** The last lock that the sweep has reached. */
  #sweptTo = 0n;
  /** performance.now() when tables were last checked for too many rows. */
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(options: BackgroundOptions) {
    this.#options = options;
    this.lateFromMs = this.#lateAfter(performance.now());
    const heartbeatMs = options.policy.graceUs / 1_000 / bounds.HEARTBEATS_PER_GRACE;
    this.#loops = [
      this.#loop("heartbeat", heartbeatMs, 0.1, () => this.#heartbeat()),
      this.#loop("heartbeat", bounds.HEARTBEAT_AGAIN_MS, 0.1, () => this.#heartbeatSkipped()),
      this.#loop("detachments", bounds.DETACHMENTS_INTERVAL_MS, 0.1, () => options.detachments.repeat()),
      this.#loop("advance", bounds.OWED_AGAIN_MS, 0.3, async () => options.advances.again()),
      this.#loop("sweep", bounds.SWEEP_INTERVAL_MS, 0.3, () => this.#sweep()),
      this.#loop("sweep", bounds.AHEAD_INTERVAL_MS, 0.3, () => options.claimsFromAhead.bringBack()),
      this.#loop("pools", bounds.POOLS_INTERVAL_MS, 0.3, () => options.poolCounts.count()),
      this.#loop("purge", bounds.PURGE_INTERVAL_MS, 0.3, () => this.#purge()),
      this.#loop("beat", bounds.BEAT_INTERVAL_MS, 0.1, () => this.#attest()),
    ];
    const { doctorIntervalMs, invariantChecks } = options;
    const run = () => invariantChecks.run();
    if (doctorIntervalMs !== null)
      this.#loops.push(this.#loop("doctor", doctorIntervalMs, 0.3, run, bounds.CHECKED_REST_SHARE));
  }

  async start(): Promise<void> {
    await this.#attest();
    await this.#options.store.noteKeptBy(this.#options.cleaning.keptBy);
    // Reads the clock: until then, the server would not notice that it is set.
    await this.#options.store.dueLocks(0n, 1);
    for (const loop of this.#loops) loop.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  /** Renews the register entry, and checks that the database still has this replica's last mark. */
  async #attest(): Promise<void> {
    await this.#options.rulesInForce.register();
    await this.#options.witness.look();
  }

  /** The same for all decisions that wait for it. */
  lateHeartbeat(): Promise<void> {
    this.#lateHeartbeat ??= this.#heartbeat().finally(() => {
      this.#lateHeartbeat = undefined;
    });
    return this.#lateHeartbeat;
  }

  /** `lateFromMs` after heartbeats that began then and all succeeded. */
  #lateAfter(beganMs: number): number {
    return beganMs + this.#options.policy.attachedForUs / 2_000;
  }

  async #heartbeat(): Promise<void> {
    const startedMs = performance.now();
    const claims = this.#followed();
    await this.#heartbeatOf(claims);
    // A replica without waiters must also notice that the database was away.
    if (claims.length === 0) await this.#options.rulesInForce.register();
    // Gives waiters of other replicas the time to show that they are there.
    if (performance.now() >= this.lateFromMs) this.#options.store.clock.cameBack();
    this.lateFromMs = this.#lateAfter(startedMs);
  }

  /** The places of the followers here, and of clients that are coming back. */
  #followed(): ClaimRef[] {
    const { followers, returned } = this.#options;
    return [...followers.claims(), ...returned.claims()];
  }

  /** Heartbeats the places. `#heartbeatSkipped` soon retries those whose rows were held. */
  async #heartbeatOf(claims: readonly ClaimRef[]): Promise<void> {
    const { store, policy, replica, detachments } = this.#options;
    this.#skipped.clear();
    await detachments.during(async () => {
      for (const part of partsOf(claims, bounds.HEARTBEAT_KEYS_MAX)) {
        const skipped = await store.heartbeat(replica, part, policy.attachedForUs);
        for (const key of skipped) this.#skipped.add(keyText(key));
      }
    });
  }

  async #heartbeatSkipped(): Promise<void> {
    if (this.#skipped.size === 0) return;
    // Only the places that are still followed here.
    await this.#heartbeatOf(this.#followed().filter((key) => this.#skipped.has(keyText(key))));
  }

  /** Goes round the locks in the order of their ids, so that none hides behind locks that cannot be advanced. */
  async #sweep(): Promise<void> {
    const { store, advances } = this.#options;
    for (let round = 0; round < bounds.SWEEP_ROUNDS_MAX; round++) {
      // The read also makes a replica that decides nothing look at the clock.
      const { lockIds, next } = await store.dueLocks(this.#sweptTo, bounds.SWEEP_LOCKS_MAX);
      // An advance does not wait for row locks, so this takes no longer than the lanes need.
      await Promise.all(lockIds.map((lockId) => advances.start(lockId)));
      this.#sweptTo = next ?? 0n;
      if (next === null) return;
    }
  }

  async #purge(): Promise<void> {
    const { store, cleaning, checked } = this.#options;
    // A server that is too old may not know what it would delete.
    await checked.mustBeNewEnough();
    // Again, for servers beside this one may keep claims for other times.
    await store.noteKeptBy(cleaning.keptBy);
    // If the clock was set ahead, the server must not forget the request ids that it has seen.
    const untilUs = store.clock.forgettableUs(cleaning.retentionUs, performance.now() * 1_000);
    if (untilUs !== null) {
      await inRounds((max) => this.#deleted("ended_claims", store.purgeClaims(untilUs, max)));
      await this.#forgetRequests(untilUs - cleaning.retentionUs);
    }
    // An idle lock leaves only its last token, which the floor keeps, so an early deletion does no harm.
    await inRounds((max) => this.#deleted("idle_locks", store.purgeLocks(cleaning.idleLockUs, max)));
    if (untilUs !== null) await this.#trim(untilUs);
  }

  /**
   * A request id ends with the retention time, whatever the time for which its claim is kept. Servers that ran before have
   * forgotten those before the first look, unless they were far behind; these go with their claims.
   */
  async #forgetRequests(untilUs: number): Promise<void> {
    const { store, cleaning } = this.#options;
    if (this.#forgottenUs === null) {
      const [newest] = await store.endedClaims(null, 1);
      const newestUs = newest?.claim.endedAtUs ?? untilUs;
      this.#forgottenUs = Math.min(newestUs, untilUs) - cleaning.retentionUs - bounds.FORGOTTEN_BEFORE_US;
    }
    // The clock may have been set back.
    let fromUs = Math.max(0, Math.min(this.#forgottenUs, untilUs));
    await inRounds(async (max) => {
      const nextUs = await store.forgetRequests(fromUs, untilUs, max);
      fromUs = nextUs ?? untilUs;
      this.#forgottenUs = fromUs;
      return nextUs === null ? 0 : max;
    });
  }

  /** Deletes old changes, and ended claims before their time if there are too many. To count them costs something. */
  async #trim(untilUs: number): Promise<void> {
    if (performance.now() < this.#checkedMs + bounds.TRIM_INTERVAL_MS) return;
    this.#checkedMs = performance.now();
    const { store, cleaning } = this.#options;
    const { rows } = await store.historyStats();
    await inRounds(
      (max) => this.#deleted("ended_claims", store.trimHistory(untilUs - cleaning.retentionUs, max)),
      rows - cleaning.historyRowsMax,
    );
    await inRounds((max) => store.purgeChanges(untilUs - cleaning.changesUs, bounds.CHANGES_KEPT_MAX, max));
  }

  async #deleted(what: DeletedRows, deleting: Promise<number>): Promise<number> {
    const rows = await deleting;
    if (rows > 0) this.#options.observer({ kind: "deleted", what, rows });
    return rows;
  }

  #loop(name: string, intervalMs: number, jitter: number, run: () => Promise<void>, restShare = 0): Loop {
    const { onFailure } = this.#options;
    return new Loop({ name, intervalMs, jitter, restMsAfter: (runMs) => runMs * restShare, run, onFailure });
  }
}

/** Deletes at most `wanted` rows, in rounds with rests in between, so that decisions get their turns. */
async function inRounds(
  purge: (max: number) => Promise<number>,
  wanted = Number.POSITIVE_INFINITY,
): Promise<void> {
  let left = wanted;
  for (let round = 0; round < bounds.PURGE_ROUNDS_MAX && left > 0; round++) {
    const max = Math.min(left, bounds.PURGE_ROWS_MAX);
    const startedMs = performance.now();
    const purged = await purge(max);
    if (purged < max) return;
    left -= purged;
    await sleep(performance.now() - startedMs);
  }
}
