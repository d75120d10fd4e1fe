// How fast a lock may be granted: the generic cell rate algorithm. A lock keeps one instant, `rateUntilUs`: when all permits
// that were taken of its rate will be back. A grant moves it ahead by the time in which its own permits come back, and must
// not move it further ahead of now than the time in which a whole burst comes back. Also knows which rate is in force for a
// name. Times are in microseconds by the database's clock.
//
// Now is the lower bound of the clock, for the rule as for the instant. So the grants of any span W take at most
// burst + permits x (W + u) / per, where u is how far the bounds of two decisions are apart. Rounding to whole
// microseconds adds to u at most 1 us for each permit of the burst.

import type { Clock } from "./database-clock.ts";
import { type LimitRule, patternOf } from "./limit.ts";
import type { Lock } from "./lock.ts";

export interface Rate {
  readonly permits: number;
  readonly perUs: number;
  /** Permits that may be taken at once after a pause. */
  readonly burst: number;
}

export interface EffectiveRate extends Rate {
  readonly source: "name" | "pattern";
  /** Set when the source is a pattern. */
  readonly pattern: string;
  /** Version of the setting in force, which has the limit, too. */
  readonly version: bigint;
  readonly reason: string;
}

type Rated = Pick<Lock, "name" | "rate" | "limitVersion" | "limitReason">;

/** A rate that was set for exactly this name beats the longest pattern with a rate; null: there is none. */
export function effectiveRate(
  { name, rate, limitVersion: version, limitReason: reason }: Rated,
  rules: readonly LimitRule[],
): EffectiveRate | null {
  if (rate !== null) return { ...rate, source: "name", pattern: "", version, reason };
  let best: LimitRule | undefined;
  for (const rule of rules) {
    if (rule.rate === null || (best && rule.prefix.length <= best.prefix.length)) continue;
    if (name.startsWith(rule.prefix)) best = rule;
  }
  if (!best?.rate) return null;
  return {
    ...best.rate,
    source: "pattern",
    pattern: patternOf(best),
    version: best.version,
    reason: best.reason,
  };
}

/** Of names that begin with the prefix, and to which no other setting applies. */
export function rateUnder(prefix: string, rules: readonly LimitRule[]): EffectiveRate | null {
  return effectiveRate({ name: prefix, rate: null, limitVersion: 0n, limitReason: "" }, rules);
}

export function sameRate(a: Rate | null, b: Rate | null): boolean {
  if (a === null || b === null) return a === b;
  return a.permits === b.permits && a.perUs === b.perUs && a.burst === b.burst;
}

/** For a person: `500 per 60 s, burst 20`; the burst only if it is another number. */
export function rateText({ permits, perUs, burst }: Rate): string {
  const text = `${permits} per ${perUs / 1e6} s`;
  return burst === permits ? text : `${text}, burst ${burst}`;
}

/** The time in which so many permits come back. */
export function backInUs({ permits, perUs }: Rate, taken: number): number {
  return Math.ceil((taken * perUs) / permits);
}

/**
 * The time in which a whole burst comes back, if each permit is taken alone and its time is rounded up: so a burst may be taken
 * in any parts. Always less than the time of one permit more.
 */
export function wholeUs(rate: Rate): number {
  return Math.min(rate.burst * backInUs(rate, 1), backInUs(rate, rate.burst + 1) - 1);
}

/** When the rate allows a grant of so many permits: it is in the past if it does so now. */
export function allowedFromUs(rate: Rate, untilUs: number, permits: number): number {
  return untilUs + backInUs(rate, permits) - wholeUs(rate);
}

export function isAllowed(
  rate: Rate | null,
  untilUs: number,
  permits: number,
  { atLeastUs }: Pick<Clock, "atLeastUs">,
): boolean {
  return rate === null || allowedFromUs(rate, untilUs, permits) <= atLeastUs;
}

/** Whether no wait helps, because not even a whole burst has so many permits. */
export function exceedsBurst(rate: Rate | null, permits: number): boolean {
  return rate !== null && permits > rate.burst;
}

/** The lock's instant after a grant of so many permits. */
export function afterTaking(
  rate: Rate,
  untilUs: number,
  permits: number,
  { atLeastUs }: Pick<Clock, "atLeastUs">,
): number {
  return Math.max(untilUs, atLeastUs) + backInUs(rate, permits);
}

/**
 * The instant without what this clock and this rate cannot have set: the clock was ahead, or the rate had a larger burst. So
 * neither keeps anybody waiting for longer than a burst takes to come back.
 */
export function correctedUntilUs(rate: Rate, untilUs: number, { nowUs }: Pick<Clock, "nowUs">): number {
  return Math.min(untilUs, nowUs + wholeUs(rate));
}

/** How long the rate alone keeps a claim waiting, if `permits` are those of the claim and of all before it. */
export function rateWaitUs(rate: Rate, untilUs: number, permits: number, nowUs: number): number {
  const fromUs = Math.max(untilUs, nowUs) + backInUs(rate, permits) - wholeUs(rate);
  return Math.max(0, fromUs - nowUs);
}

/** Permits that may be taken now. */
export function availableNow(rate: Rate, untilUs: number, nowUs: number): number {
  const leftUs = nowUs + wholeUs(rate) - Math.max(untilUs, nowUs);
  const available = Math.floor((leftUs * rate.permits) / rate.perUs);
  return Math.max(0, Math.min(rate.burst, available));
}
