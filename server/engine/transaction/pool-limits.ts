// Changes a pool: its limit and its rate are in its guard row, and change under the row lock that each decision takes. The limit
// rules say only which pools there are. So only to make and to remove a pool has to wait for the servers.

import { POOLS_OVER_NAME_MAX } from "../../core/bounds.ts";
import type { SetLimit } from "../../core/command.ts";
import { POOLS_LEVEL } from "../../core/level.ts";
import { isUnder, type LimitRule, patternOf } from "../../core/limit.ts";
import { poolName } from "../../core/pools.ts";
import type { ReplicaRow, Store } from "../../storage/store.ts";
import type { AnswerTo, PoolAnswer } from "../answers.ts";
import { changePoolOfRule, type LimitRulesOptions, type RuleChange } from "./limit-rules.ts";
import { withAttempts } from "./transaction.ts";

export interface PoolLimitsOptions extends LimitRulesOptions {
  readonly store: LimitRulesOptions["store"] & Pick<Store, "raiseLevelMin">;
  readonly entry: Pick<ReplicaRow, "version">;
  readonly poolCounts: { begin(): void };
}

type Ask = (command: SetLimit) => Promise<AnswerTo<"set_limit">>;

/** Throws Faults. A repeated call finds what an earlier one has done, and does the rest. */
export async function changePool(
  { prefix, set, expectedVersion, reason, caller }: RuleChange,
  ask: Ask,
  options: PoolLimitsOptions,
): Promise<PoolAnswer> {
  const { store, observer, entry, poolCounts } = options;
  const rules = await withAttempts(() => store.limitRules(), observer);
  const known = rules.find((rule) => rule.prefix === prefix)?.poolId ?? null;
  const wants = [set.limit, set.rate].some((value) => value !== null && value !== undefined);
  if (known === null && wants) {
    const over = crowdedUnder(prefix, rules);
    if (over !== null) return { kind: "too_many_pools", over };
    // From here on, servers that know nothing of pools decide nothing.
    await withAttempts(() => store.raiseLevelMin({ level: POOLS_LEVEL, by: entry.version }), observer);
  }
  const name = poolName(prefix);
  const { outcome, lockId } = await ask({ verb: "set_limit", name, ...set, expectedVersion, reason, caller });
  if (outcome.kind === "version_mismatch") return outcome;
  const { lock, version } = outcome;
  const isInForce = lock.limit !== null || lock.rate !== null;
  const expected = isInForce ? lockId : null;
  // Another call may have made or removed the pool since this one began.
  const rulesNow = await withAttempts(() => store.limitRules(), observer);
  const now = rulesNow.find((rule) => rule.prefix === prefix)?.poolId ?? null;
  const isSaid = known === expected && now === expected;
  const change = { prefix, set: {}, poolId: lockId, reason, caller };
  const serversBehind = isSaid ? 0 : await changePoolOfRule(change, options);
  if (lock.counting !== null) poolCounts.begin();
  return { kind: "pool", lock, version, serversBehind };
}

/** Names over which there would be too many pools for a claim's row, as a pattern; null: there are none. */
function crowdedUnder(prefix: string, rules: readonly LimitRule[]): string | null {
  const pools = [...rules.filter(({ poolId }) => poolId).map((rule) => rule.prefix), prefix];
  const longest = pools
    .filter((pool) => pool.startsWith(prefix))
    .find((pool) => pools.filter((over) => isUnder(pool, { prefix: over })).length > POOLS_OVER_NAME_MAX);
  return longest === undefined ? null : patternOf({ prefix: longest });
}
