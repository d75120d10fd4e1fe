// Which rate is in force for a lock, and when, as far as the history of its settings tells.

import type { History, Rate, RateSet } from "../history/history.ts";
import { type Span, without } from "./spans.ts";

/** While it lasts, every server decides by this rate, and the database's clock runs evenly. */
export interface Spell extends Span {
  readonly rate: Rate;
  /** When all permits are back that were taken before the spell: a decision counts what was taken under an earlier rate. */
  readonly fullMs: number;
}

/** The settings that apply to the lock, in the order of their starts. No lock of a run has some by name and by pattern. */
export function ratesOf(history: History, lock: string): RateSet[] {
  return history
    .of("rate")
    .filter(({ target }) => (target.endsWith("*") ? lock.startsWith(target.slice(0, -1)) : target === lock))
    .sort((a, b) => a.startMs - b.startMs);
}

/** What is set, when, and whether it surely was. */
export type RateSetting = Pick<RateSet, "rate" | "outcome" | "startMs" | "endMs">;

/** `settings`: those that apply, in the order of their starts. */
export function spellsOf(history: History, settings: readonly RateSetting[]): Spell[] {
  const steps = history.of("step").map(({ startMs, endMs }) => ({ fromMs: startMs, untilMs: endMs }));
  const spells: Spell[] = [];
  for (const set of settings) {
    const { rate, outcome, endMs: setMs } = set;
    // One that says the same again goes on with the same spell.
    if (!rate || outcome === "unknown" || spells.some(({ untilMs }) => untilMs > setMs)) continue;
    const others = settings.filter((other) => !sameRate(other.rate, rate));
    // Without an answer, another one may come into force at any later time.
    if (others.some((other) => other.startMs <= setMs && !(isDone(other) && other.endMs < set.startMs)))
      continue;
    const untilMs = Math.min(
      Number.POSITIVE_INFINITY,
      ...others.filter(({ startMs }) => startMs > setMs).map(({ startMs }) => startMs),
    );
    const before = settings.filter((other) => other.startMs <= setMs);
    const fullMs = setMs + Math.max(...before.map((other) => burstInMs(other.rate)));
    // Nobody knows what a server makes of the instant between a step of the clock and the next decision about the lock, which may
    // come after the new rate.
    for (const span of without([{ fromMs: setMs, untilMs }], steps)) {
      const isKnown = span.fromMs === setMs && steps.every((step) => step.untilMs > setMs);
      spells.push({ ...span, rate, fullMs: isKnown ? fullMs : Number.POSITIVE_INFINITY });
    }
  }
  return spells;
}

/** The time in which so many permits come back. */
export function backInMs({ permits, perMs }: Rate, taken: number): number {
  return (taken * perMs) / permits;
}

function burstInMs(rate: Rate | null): number {
  return rate ? backInMs(rate, rate.burst) : 0;
}

export function sameRate(a: Rate | null, b: Rate | null): boolean {
  return a === b || (a?.permits === b?.permits && a?.perMs === b?.perMs && a?.burst === b?.burst);
}

const isDone = ({ outcome }: RateSetting) => outcome === "done";
