// Pools as people and tools see them.

import type { EffectiveLimit, LimitRule } from "../../core/limit.ts";
import { patternOf } from "../../core/limit.ts";
import type { Counters } from "../../core/lock.ts";
import { poolPrefix, poolsOver } from "../../core/pools.ts";
import { availableNow } from "../../core/rate.ts";
import type { Store } from "../../storage/store.ts";
import type { PoolView } from "../answers.ts";

/** A pool by its guard row. */
export function poolView(row: Counters, nowUs: number): PoolView {
  const { limit, rate, limitVersion: version, limitReason: reason, heldPermits } = row;
  const pattern = patternOf({ prefix: poolPrefix(row.name) ?? "" });
  const set = { source: "pool", pattern, version, reason } as const;
  const inForce: EffectiveLimit = { ...set, limit: limit ?? Number.POSITIVE_INFINITY };
  return {
    limit: inForce,
    rate: rate && { ...set, ...rate },
    use: {
      heldPermits: BigInt(heldPermits),
      holderCount: row.holders,
      waiterCount: row.waiting,
      draining: heldPermits > inForce.limit,
      counting: row.counting !== null,
      available: rate ? availableNow(rate, row.rateUntilUs, nowUs) : 0,
    },
  };
}

/** The patterns of all pools, by their ids. */
export function poolPatterns(rules: readonly LimitRule[]): ReadonlyMap<bigint, string> {
  return new Map(rules.flatMap((rule) => (rule.poolId ? [[rule.poolId, patternOf(rule)]] : [])));
}

/** The guard rows of the pools over a name, narrow to wide. Throws StoreErrors. */
export async function poolRowsOver(
  name: string,
  rules: readonly LimitRule[],
  store: Pick<Store, "views">,
): Promise<Counters[]> {
  const ids = poolsOver(name, rules);
  return ids.length === 0 ? [] : (await store.views(ids, 0)).map(({ lock }) => lock);
}
