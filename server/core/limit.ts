// Which limit, which rate and which queue rules are in force for a name: an exact setting beats the longest pattern, which beats
// the default. And which claims may hold a lock together under a limit.

import { LIMIT_DEFAULT } from "./bounds.ts";
import { type Claim, SPENDS } from "./claim.ts";
import { type Held, isOwnName, type Lock } from "./lock.ts";
import type { QueueRules } from "./queue-rules.ts";
import type { Rate } from "./rate.ts";

/** What was set for a name or for a pattern; null: nothing. */
export interface LockSettings {
  readonly limit: number | null;
  readonly rate: Rate | null;
  readonly queueRules: QueueRules | null;
}

export const NO_SETTINGS: LockSettings = { limit: null, rate: null, queueRules: null };

/** What to set: null removes it, and what is left out or undefined stays. */
export type NewSettings = { readonly [Key in keyof LockSettings]?: LockSettings[Key] | undefined };

/** The settings after a change. */
export function withSet(now: LockSettings, set: NewSettings): LockSettings {
  const { limit = now.limit, rate = now.rate, queueRules = now.queueRules } = set;
  return { limit, rate, queueRules };
}

/**
 * Settings for all names that begin with `prefix`; the pattern is the prefix and a star. If all were removed, the row stays so that
 * its version keeps rising.
 */
export interface LimitRule extends LockSettings {
  readonly prefix: string;
  readonly version: bigint;
  readonly reason: string;
  /** The mark of the call that made the last change, as in `Lock.changeMark`. */
  readonly changeMark: bigint;
  /** The guard row of the pool with this prefix, which has the pool's limit and rate: see pools.ts. null or unset: there is no pool. */
  readonly poolId?: bigint | null | undefined;
}

export interface EffectiveLimit {
  readonly limit: number;
  readonly source: "name" | "pattern" | "default" | "pool";
  /** Set when the source is a pattern, or a pool. */
  readonly pattern: string;
  /** Version of the setting in force; for the default the version of the (unset) exact setting. */
  readonly version: bigint;
  readonly reason: string;
}

export function patternOf(rule: Pick<LimitRule, "prefix">): string {
  return `${rule.prefix}*`;
}

/** The longest pattern that matches the name and has this setting. */
function longestRule(
  name: string,
  rules: readonly LimitRule[],
  setting: keyof LockSettings,
): LimitRule | undefined {
  let best: LimitRule | undefined;
  for (const rule of rules) {
    if (rule[setting] === null || !isUnder(name, rule)) continue;
    if (!best || rule.prefix.length > best.prefix.length) best = rule;
  }
  return best;
}

/** No pattern is about the servers' own locks: `*` must not keep a server from its probe. */
export function isUnder(name: string, { prefix }: Pick<LimitRule, "prefix">): boolean {
  return name.startsWith(prefix) && !isOwnName(name);
}

export function effectiveLimit(
  lock: Pick<Lock, "name" | "limit" | "limitVersion" | "limitReason">,
  rules: readonly LimitRule[],
): EffectiveLimit {
  const { limit, limitVersion: version, limitReason: reason } = lock;
  if (limit !== null) return { limit, source: "name", pattern: "", version, reason };
  const best = longestRule(lock.name, rules, "limit");
  if (best) return { limit: best.limit as number, ...fromPattern(best) };
  return { limit: LIMIT_DEFAULT, source: "default", pattern: "", version, reason: "" };
}

/** Of names that begin with the prefix, and to which no other setting applies. */
export function limitUnder(prefix: string, rules: readonly LimitRule[]): number {
  return effectiveLimit({ name: prefix, limit: null, limitVersion: 0n, limitReason: "" }, rules).limit;
}

/** Where a rate or queue rules in force come from. */
interface InForce {
  readonly source: "name" | "pattern" | "pool";
  /** Set when the source is a pattern, or a pool. */
  readonly pattern: string;
  /** Version of the setting in force, which has the limit, too. */
  readonly version: bigint;
  readonly reason: string;
}

export interface EffectiveRate extends Rate, InForce {}

export interface EffectiveQueueRules extends QueueRules, InForce {}

type Rated = Pick<Lock, "name" | "rate" | "limitVersion" | "limitReason">;

/** A rate that was set for exactly this name beats the longest pattern with a rate; null: there is none. */
export function effectiveRate(
  { name, rate, limitVersion: version, limitReason: reason }: Rated,
  rules: readonly LimitRule[],
): EffectiveRate | null {
  if (rate !== null) return { ...rate, source: "name", pattern: "", version, reason };
  const best = longestRule(name, rules, "rate");
  return best?.rate ? { ...best.rate, ...fromPattern(best) } : null;
}

function fromPattern(rule: LimitRule): InForce {
  return { source: "pattern", pattern: patternOf(rule), version: rule.version, reason: rule.reason };
}

/** Of names that begin with the prefix, and to which no other setting applies. */
export function rateUnder(prefix: string, rules: readonly LimitRule[]): EffectiveRate | null {
  return effectiveRate({ name: prefix, rate: null, limitVersion: 0n, limitReason: "" }, rules);
}

/** As for the rate; null: none, so as many may wait as the policy allows. */
export function effectiveQueueRules(
  {
    name,
    queueRules,
    limitVersion: version,
    limitReason: reason,
  }: Pick<Lock, "name" | "queueRules" | "limitVersion" | "limitReason">,
  rules: readonly LimitRule[],
): EffectiveQueueRules | null {
  if (queueRules !== null) return { ...queueRules, source: "name", pattern: "", version, reason };
  const best = longestRule(name, rules, "queueRules");
  return best?.queueRules ? { ...best.queueRules, ...fromPattern(best) } : null;
}

/** Of names that begin with the prefix, and to which no other setting applies. */
export function queueRulesUnder(prefix: string, rules: readonly LimitRule[]): EffectiveQueueRules | null {
  return effectiveQueueRules({ name: prefix, queueRules: null, limitVersion: 0n, limitReason: "" }, rules);
}

type Wanted = Pick<Claim, "mode" | "permits"> & Partial<Pick<Claim, "ttlUs">>;

/**
 * Whether the request fits beside the present holders. A limit of 0 pauses every mode. A spend holds nothing, so it needs no
 * room.
 */
export function fits(lock: Held, limit: number, asked: Wanted): boolean {
  if (limit === 0) return false;
  if (asked.ttlUs === SPENDS) return true;
  if (lock.exclusiveHolders > 0) return false;
  switch (asked.mode) {
    case "exclusive":
      return lock.holders === 0;
    case "shared":
      return lock.heldPermits === 0;
    case "permit":
      return lock.sharedHolders === 0 && lock.heldPermits + asked.permits <= limit;
  }
}

/** Whether the request would not fit even alone. False for a paused lock: its limit will be set again. */
export function neverFits(limit: number, asked: Wanted): boolean {
  return limit > 0 && asked.mode === "permit" && asked.permits > limit && asked.ttlUs !== SPENDS;
}
