// Limits by pattern. One transaction changes the rule, and grants what it makes room for at the first some hundred
// locks with waiters; further ones do the rest. Whoever changes a rule holds what every wait and every new name needs,
// so these transactions wait for no lock's rows: where another one holds some, the rule is changed by itself, and the
// locks are brought up to date one by one.

import { effectiveLimit, type LimitRule, patternOf } from "../../core/limit.ts";
import { type GuardRow, isDraining, totalHeld } from "../../core/lock.ts";
import type { Policy } from "../../core/policy.ts";
import { isRowLocked, LOCKS_PER_RULE_MAX, type LoadPlan, type Store } from "../../storage/store.ts";
import type { Advances } from "../background/advances.ts";
import type { LimitRuleAnswer } from "../lock-engine.ts";
import { lockSteps } from "../views/lock-steps.ts";
import { withAttempts } from "./attempts.ts";
import { Batch } from "./batch.ts";

export interface RuleChange {
  readonly prefix: string;
  readonly limit: number | null;
  readonly expectedVersion: bigint | undefined;
  readonly reason: string;
}

export interface LimitRulesOptions {
  readonly policy: Policy;
  readonly store: Pick<Store, "transact" | "list" | "limitRules">;
  /** Wakes, and goes on with what one transaction should not do. */
  readonly onCommitted: (batch: Batch) => void;
  readonly advances: Pick<Advances, "owe">;
  readonly onRetry: (cause: string) => void;
  /** Resolves when rules of this revision are no longer decided by: with the number of servers that have not said so. */
  readonly everywhereAfter: (rulesRevision: bigint) => Promise<number>;
}

/** Changes a rule and grants what it makes room for. */
export async function changeLimitRule(
  change: RuleChange,
  options: LimitRulesOptions,
): Promise<LimitRuleAnswer> {
  const { prefix } = change;
  let rule: LimitRule | undefined;
  let refusedBy: bigint | undefined;
  let mayBeDone = false;
  let changedAfter: bigint | undefined;
  const decide: Decide = (limitRules, repeated, rulesRevision) => {
    mayBeDone ||= repeated;
    if (!limitRules) return undefined;
    const now = limitRules.find((candidate) => candidate.prefix === prefix);
    rule = changed(now, change, mayBeDone);
    refusedBy = rule ? undefined : (now?.version ?? 0n);
    changedAfter = rule ? rulesRevision : undefined;
    return rule;
  };
  let reached = await grantUnder({ prefix, afterLockId: 0n }, options, decide);
  if (reached === "held_up") await grantUnder({ prefix, afterLockId: 0n, rulesOnly: true }, options, decide);
  if (!rule) return { kind: "version_mismatch", version: refusedBy ?? 0n };
  const now = rule;
  while (typeof reached === "bigint")
    reached = await grantUnder({ prefix, afterLockId: reached }, options, () => undefined);
  if (reached === "held_up") await advanceUnder(prefix, options);
  const behind = changedAfter === undefined ? 0 : await everywhere(changedAfter, options);
  return withAttempts(() => describe(now, behind, options.store), options.onRetry);
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

function everywhere(changedAfter: bigint, { everywhereAfter, onRetry }: LimitRulesOptions): Promise<number> {
  return withAttempts(() => everywhereAfter(changedAfter), onRetry);
}

/** Answers the rule to write, if any. Called without rules when an attempt begins. */
type Decide = (
  limitRules: readonly LimitRule[] | null,
  repeated: boolean,
  rulesRevision?: bigint,
) => LimitRule | undefined;

/**
 * One transaction: changes the rule, if `decide` says how, and grants to waiters of locks under the prefix. Returns the
 * id of the last lock it came to, or null if there was none left; `held_up` if nothing was done because another
 * transaction holds some of their rows.
 */
async function grantUnder(
  rule: NonNullable<LoadPlan["rule"]>,
  options: LimitRulesOptions,
  decide: Decide,
): Promise<bigint | null | "held_up"> {
  const impatient = !rule.rulesOnly;
  const plan = { impatient, locks: [], claims: [], requestIds: [], holdersOf: [], rule };
  const { store, onCommitted, onRetry } = options;
  try {
    return await withAttempts(
      async (repeated) => {
        decide(null, repeated);
        const batch = new Batch(new Map(), options.policy, []);
        let reached: bigint | null | undefined;
        await store.transact(plan, (loaded) => {
          if (reached !== undefined) return batch.decide(loaded);
          const ids = [...loaded.locks.keys()];
          reached = ids.length < LOCKS_PER_RULE_MAX ? null : (ids.at(-1) ?? null);
          const next = decide(loaded.limitRules, repeated, loaded.rulesRevision);
          if (!next) return batch.decide(loaded);
          const limitRules = [...loaded.limitRules.filter(({ prefix }) => prefix !== rule.prefix), next];
          return { ...batch.decide({ ...loaded, limitRules }), rule: next };
        });
        onCommitted(batch);
        return reached ?? null;
      },
      onRetry,
      (error) => impatient && isRowLocked(error),
    );
  } catch (error) {
    if (isRowLocked(error)) return "held_up";
    throw error;
  }
}

async function advanceUnder(prefix: string, { store, advances }: LimitRulesOptions): Promise<void> {
  for await (const locks of busyUnder(prefix, store)) {
    await Promise.all(locks.filter(({ waiting }) => waiting > 0).map(({ id }) => advances.owe(id)));
  }
}

function busyUnder(prefix: string, store: LimitRulesOptions["store"]): AsyncIterable<readonly GuardRow[]> {
  return lockSteps(store, { prefix, afterName: null, max: Number.POSITIVE_INFINITY, which: "busy" });
}

/** Sums over the locks that match, as they stand after the change. */
async function describe(
  rule: LimitRule,
  serversBehind: number,
  store: LimitRulesOptions["store"],
): Promise<LimitRuleAnswer> {
  const limitRules = await store.limitRules();
  let heldPermits = 0;
  let waiting = 0;
  let draining = false;
  for await (const locks of busyUnder(rule.prefix, store)) {
    for (const lock of locks) {
      const limit = effectiveLimit(lock, limitRules);
      heldPermits += totalHeld(lock);
      waiting += lock.waiting;
      if (limit.pattern === patternOf(rule) && isDraining(lock, limit.limit)) draining = true;
    }
  }
  return {
    kind: "limit_rule",
    limit: rule.limit,
    version: rule.version,
    heldPermits,
    waiting,
    draining,
    serversBehind,
  };
}
