// Limits by pattern: the rule is changed, and the waiters of the locks under it are granted what it makes room for, in
// one transaction for the first some hundred locks with waiters, and in further ones for the rest.

import { PAGE_SIZE_MAX } from "../core/bounds.ts";
import { effectiveLimit, type LimitRule, patternOf } from "../core/limit.ts";
import { isDraining, totalHeld } from "../core/lock.ts";
import { LOCKS_PER_RULE_MAX, type Store } from "../storage/store.ts";
import { withAttempts } from "./attempts.ts";
import { Batch, type BatchOptions } from "./batch.ts";
import type { LimitRuleAnswer } from "./lock-engine.ts";

export interface RuleChange {
  readonly prefix: string;
  readonly limit: number | null;
  readonly expectedVersion: bigint | undefined;
  readonly reason: string;
}

export interface LimitRulesOptions extends BatchOptions {
  readonly store: Pick<Store, "list" | "limitRules">;
  readonly transact: Store["transact"];
  /** Wakes, and goes on with what one transaction should not do. */
  readonly onCommitted: (batch: Batch) => void;
  readonly onRetry: (cause: string) => void;
}

/** Changes a rule and grants what it makes room for. */
export async function changeLimitRule(
  change: RuleChange,
  options: LimitRulesOptions,
): Promise<LimitRuleAnswer> {
  let rule: LimitRule | undefined;
  let refusedBy: bigint | undefined;
  let reached = await grantUnder(change.prefix, 0n, options, (limitRules, repeated) => {
    const now = limitRules.find((candidate) => candidate.prefix === change.prefix);
    rule = changed(now, change, repeated);
    refusedBy = rule ? undefined : (now?.version ?? 0n);
    return rule;
  });
  if (!rule) return { kind: "version_mismatch", version: refusedBy ?? 0n };
  while (reached !== null) reached = await grantUnder(change.prefix, reached, options, () => undefined);
  const now = rule;
  return withAttempts(() => describe(now, options.store), options.onRetry);
}

/** The rule as it shall be; undefined if its version is not the expected one. */
function changed(now: LimitRule | undefined, change: RuleChange, repeated: boolean): LimitRule | undefined {
  const { prefix, limit, expectedVersion, reason } = change;
  const version = now?.version ?? 0n;
  if (expectedVersion === undefined || expectedVersion === version) {
    return { prefix, limit, version: version + 1n, reason };
  }
  // An earlier attempt of this very call may have been committed.
  const doneBefore = repeated && now !== undefined && version === expectedVersion + 1n && now.limit === limit;
  return doneBefore ? now : undefined;
}

/**
 * One transaction: changes the rule, if `change` says how, and grants to waiters of locks under the prefix. Returns the
 * id of the last lock it came to, or null if there was none left.
 */
function grantUnder(
  prefix: string,
  afterLockId: bigint,
  options: LimitRulesOptions,
  change: (limitRules: readonly LimitRule[], repeated: boolean) => LimitRule | undefined,
): Promise<bigint | null> {
  const plan = { locks: [], claims: [], requestIds: [], holdersOf: [], rule: { prefix, afterLockId } };
  const { transact, onCommitted, onRetry } = options;
  return withAttempts(async (repeated) => {
    const batch = new Batch(new Map(), options, []);
    let reached: bigint | null | undefined;
    await transact(plan, (loaded) => {
      if (reached !== undefined) return batch.decide(loaded);
      const ids = [...loaded.locks.keys()];
      reached = ids.length < LOCKS_PER_RULE_MAX ? null : (ids.at(-1) ?? null);
      const rule = change(loaded.limitRules, repeated);
      if (!rule) return batch.decide(loaded);
      const limitRules = [...loaded.limitRules.filter((other) => other.prefix !== prefix), rule];
      return { ...batch.decide({ ...loaded, limitRules }), rule };
    });
    onCommitted(batch);
    return reached ?? null;
  }, onRetry);
}

/** Sums over the locks that match, as they stand after the change. */
async function describe(rule: LimitRule, store: LimitRulesOptions["store"]): Promise<LimitRuleAnswer> {
  const limitRules = await store.limitRules();
  let heldPermits = 0;
  let waiting = 0;
  let draining = false;
  let afterName: string | null = null;
  for (;;) {
    const page = await store.list({
      prefix: rule.prefix,
      afterName,
      max: PAGE_SIZE_MAX,
      busyOnly: true,
      shown: 0,
    });
    for (const { lock } of page) {
      const limit = effectiveLimit(lock, limitRules);
      heldPermits += totalHeld(lock);
      waiting += lock.waiting;
      if (limit.pattern === patternOf(rule) && isDraining(lock, limit.limit)) draining = true;
    }
    if (page.length < PAGE_SIZE_MAX) break;
    afterName = page.at(-1)?.lock.name ?? null;
  }
  return {
    kind: "limit_rule",
    limit: rule.limit,
    version: rule.version,
    heldPermits,
    waiting,
    draining,
  };
}
