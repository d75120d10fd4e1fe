// Which limit is in force for a name: an exact setting beats the longest pattern, which beats the default. And which
// claims may hold a lock together under a limit.

import { LIMIT_DEFAULT } from "./bounds.ts";
import { type Claim, SPENDS } from "./claim.ts";
import type { Lock } from "./lock.ts";
import type { Rate } from "./rate.ts";

/** A limit, a rate or both for all names that begin with `prefix`; its pattern is the prefix and a star. */
export interface LimitRule {
  readonly prefix: string;
  /** null: none, or removed; the row stays so that its version keeps rising. */
  readonly limit: number | null;
  readonly rate: Rate | null;
  readonly version: bigint;
  readonly reason: string;
  /** The mark of the call that made the last change, as in `Lock.changeMark`. */
  readonly changeMark: bigint;
}

export interface EffectiveLimit {
  readonly limit: number;
  readonly source: "name" | "pattern" | "default";
  /** Set when the source is a pattern. */
  readonly pattern: string;
  /** Version of the setting in force; for the default the version of the (unset) exact setting. */
  readonly version: bigint;
  readonly reason: string;
}

export function patternOf(rule: Pick<LimitRule, "prefix">): string {
  return `${rule.prefix}*`;
}

export function effectiveLimit(
  lock: Pick<Lock, "name" | "limit" | "limitVersion" | "limitReason">,
  rules: readonly LimitRule[],
): EffectiveLimit {
  const { limit, limitVersion: version, limitReason: reason } = lock;
  if (limit !== null) return { limit, source: "name", pattern: "", version, reason };
  let best: LimitRule | undefined;
  for (const rule of rules) {
    if (rule.limit === null || !lock.name.startsWith(rule.prefix)) continue;
    if (!best || rule.prefix.length > best.prefix.length) best = rule;
  }
  if (best) {
    return {
      limit: best.limit as number,
      source: "pattern",
      pattern: patternOf(best),
      version: best.version,
      reason: best.reason,
    };
  }
  return { limit: LIMIT_DEFAULT, source: "default", pattern: "", version, reason: "" };
}

/** Of names that begin with the prefix, and to which no other setting applies. */
export function limitUnder(prefix: string, rules: readonly LimitRule[]): number {
  return effectiveLimit({ name: prefix, limit: null, limitVersion: 0n, limitReason: "" }, rules).limit;
}

type Wanted = Pick<Claim, "mode" | "permits"> & Partial<Pick<Claim, "ttlUs">>;
type Held = Pick<Lock, "heldPermits" | "sharedHolders" | "exclusiveHolders" | "holders">;

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
