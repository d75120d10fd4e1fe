// Pools as people and tools see them.

import type { Claim } from "../../core/claim.ts";
import { type EffectiveLimit, isUnder, type LimitRule, patternOf } from "../../core/limit.ts";
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

/** Permits that a claim takes of a pool: one for several locks takes those of its names under it. */
export function permitsOf(
  { permits, members }: Pick<Claim, "permits"> & Partial<Pick<Claim, "members">>,
  pool: Pick<Counters, "name">,
): number {
  if (!members) return permits;
  const prefix = poolPrefix(pool.name) ?? "";
  let sum = 0;
  for (const member of members) if (isUnder(member.name, { prefix })) sum += member.permits;
  return sum;
}

/** The patterns of all pools, by their ids. */
export function poolPatterns(rules: readonly LimitRule[]): ReadonlyMap<bigint, string> {
  return new Map(rules.flatMap((rule) => (rule.poolId ? [[rule.poolId, patternOf(rule)]] : [])));
}

/** The guard rows of the pools over these names, narrow to wide. Throws StoreErrors. */
export async function poolRowsOver(
  names: readonly string[],
  rules: readonly LimitRule[],
  store: Pick<Store, "views">,
): Promise<Counters[]> {
  const ids = new Set(names.flatMap((name) => poolsOver(name, rules)));
  if (ids.size === 0) return [];
  const rows = (await store.views([...ids], 0)).map(({ lock }) => lock);
  // In the order in which claims take them: the pattern of a narrow one is longer.
  return rows.sort((a, b) => b.name.length - a.name.length || (a.id < b.id ? -1 : 1));
}
