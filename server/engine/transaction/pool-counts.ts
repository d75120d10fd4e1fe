// Counts those who held before their pool was made: the walk. A pool limits from the first decision that knows it, but a server
// with older rules grants without it. So the walk begins when every server has reported the rules with the pool, and is at each
// lock with holders under it: a decision that reads such a claim counts it. Then the pool is whole. Any server may walk, and two
// do no harm. proof/pools/README.md says why this is enough.

import { partsOf } from "../../core/bounds.ts";
import { type ClaimKey, isEntering, isSpend } from "../../core/claim.ts";
import type { Command } from "../../core/command.ts";
import type { GuardRow } from "../../core/lock.ts";
import { levelAt, poolName, poolPrefix } from "../../core/pools.ts";
import type { Store } from "../../storage/store.ts";
import { COUNTED_CLAIMS_MAX, COUNTED_LOCKS_AT_ONCE, POOLS_LISTED_MAX } from "../engine-bounds.ts";
import { type ListingTurns, lockSteps } from "../views/views.ts";
import { changePoolOfRule, type LimitRulesOptions } from "./limit-rules.ts";

export interface PoolCountsOptions extends LimitRulesOptions {
  readonly store: LimitRulesOptions["store"] & Pick<Store, "liveClaimsOf" | "poll" | "view">;
  readonly turns: Pick<ListingTurns, "run">;
  readonly submit: (lockId: bigint, command: Command) => Promise<unknown>;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class PoolCounts {
  readonly #options: PoolCountsOptions;
  #underWay: Promise<void> | null = null;

  constructor(options: PoolCountsOptions) {
    this.#options = options;
  }

  /** Counts for all pools that are not whole. Resolves when it is over: some may be left for the next time. */
  count(): Promise<void> {
    this.#underWay ??= this.#countAll().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  /** The same in the background. */
  begin(): void {
    this.count().catch((error: unknown) => this.#options.onFailure("pools", error));
  }

  async #countAll(): Promise<void> {
    const { store, rulesInForce, turns } = this.#options;
    const pools = await turns.run(() => listPools(store));
    if (pools.length === 0) return;
    await this.#settleRules(pools);
    const counting = pools.filter((pool) => pool.counting !== null);
    if (counting.length === 0) return;
    const { rulesRevision } = await store.poll([], 0);
    const inForce = new Set((await store.limitRules()).map(({ poolId }) => poolId));
    if ((await rulesInForce.everywhereAfter(rulesRevision - 1n)) > 0) return;
    for (const pool of counting) if (inForce.has(pool.id)) await this.#countUnder(pool);
  }

  /** A server may have died, or lost the database, after it had set a pool and before the rules knew of it. */
  async #settleRules(pools: readonly GuardRow[]): Promise<void> {
    const rules = new Map((await this.#options.store.limitRules()).map((rule) => [rule.prefix, rule]));
    for (const { id, name, limit, rate, limitReason: reason } of pools) {
      const prefix = poolPrefix(name) ?? "";
      const isKnown = Boolean(rules.get(prefix)?.poolId);
      const isSet = limit !== null || rate !== null;
      if (isKnown === isSet) continue;
      await changePoolOfRule({ prefix, set: {}, poolId: id, reason, caller: undefined }, this.#options);
    }
  }

  async #countUnder({ id, name, counting }: GuardRow): Promise<void> {
    const { store, submit } = this.#options;
    // This read waits for what other servers have committed, so that those after it see it, too.
    await store.view(name, 0);
    const query = { prefix: poolPrefix(name) ?? "", afterName: null, which: "busy" } as const;
    for await (const locks of lockSteps(store, { ...query, max: Number.POSITIVE_INFINITY }))
      for (const part of partsOf(locks, COUNTED_LOCKS_AT_ONCE))
        await Promise.all(part.map((lock) => this.#countAt(lock, id)));
    if (counting !== null) await submit(id, { verb: "end_counting", counting });
  }

  async #count(lockId: bigint, claims: readonly ClaimKey[]): Promise<void> {
    await this.#options.submit(lockId, { verb: "advance", claims, countsPast: true, waits: true });
  }

  async #countAt({ id: lockId, holders, firstHolder }: GuardRow, poolId: bigint): Promise<void> {
    const { store } = this.#options;
    if (holders === 0) return;
    // Most locks have one holder, which the decision reads anyway.
    if (holders === 1 && firstHolder !== null) {
      await this.#count(lockId, [{ lockId, ticketNumber: firstHolder }]);
      return;
    }
    for (let after = 0n; ; ) {
      const live = await store.liveClaimsOf(lockId, after, COUNTED_CLAIMS_MAX);
      const uncounted = live.filter((claim) => {
        return (claim.state === "held" || isEntering(claim)) && !isSpend(claim) && !levelAt(claim, poolId);
      });
      if (uncounted.length > 0) await this.#count(lockId, uncounted);
      const last = live.at(-1);
      if (!last || live.length < COUNTED_CLAIMS_MAX) return;
      after = last.ticketNumber;
    }
  }
}

/** The guard rows of all pools, in use or not, by the bytes of their prefixes. */
export async function listPools(store: Pick<Store, "list">): Promise<GuardRow[]> {
  const pools: GuardRow[] = [];
  const query = { prefix: poolName(""), afterName: null, which: "all" } as const;
  for await (const rows of lockSteps(store, { ...query, max: POOLS_LISTED_MAX })) pools.push(...rows);
  return pools;
}
