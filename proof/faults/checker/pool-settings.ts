// Which pools there are, since when they certainly count whom, and what they allow, as far as the history of their settings tells.

import type { History, PoolSet } from "../history/history.ts";
import type { Span } from "./spans.ts";

export function isUnder(lock: string, target: string): boolean {
  return lock.startsWith(target.slice(0, -1));
}

/** The patterns of all pools that anybody has set. */
export function poolsOf(history: History): string[] {
  return [...new Set(history.of("pool").map(({ target }) => target))];
}

/** Those over the lock. */
export function poolsOver(history: History, lock: string): string[] {
  return poolsOf(history).filter((target) => isUnder(lock, target));
}

/** The settings of a pool, in the order of their starts. */
export function poolSettings(history: History, target: string): PoolSet[] {
  return history
    .of("pool")
    .filter((set) => set.target === target)
    .sort((a, b) => a.startMs - b.startMs);
}

export function isRemoval({ limit, rate }: Pick<PoolSet, "limit" | "rate">): boolean {
  return limit === null && rate === null;
}

/** While these last, no server decides without the pool about claims that were asked for meanwhile. */
export function knownSpans(settings: readonly PoolSet[]): Span[] {
  return settings.filter(hasMade).map((made) => ({
    fromMs: made.endMs,
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...laterRemovals(made)),
  }));

  /** Whether it surely made the pool: a pool that is there already is not announced again. */
  function hasMade(set: PoolSet): boolean {
    if (isRemoval(set) || set.outcome === "unknown" || !set.isEverywhere) return false;
    const others = settings.filter((other) => other !== set && other.startMs <= set.endMs);
    if (!others.every(({ outcome, endMs }) => outcome === "done" && endMs < set.startMs)) return false;
    const last = others.at(-1);
    return (
      !last || (isRemoval(last) && others.every((other) => other === last || other.endMs < last.startMs))
    );
  }

  function laterRemovals({ endMs }: PoolSet): number[] {
    return settings.filter((set) => isRemoval(set) && set.startMs > endMs).map(({ startMs }) => startMs);
  }
}

/** While these last, the pool counts whoever has permits of it, however long they have them. */
export function wholeSpans(history: History, settings: readonly PoolSet[], target: string): Span[] {
  const seen = [
    ...history.of("whole").filter((whole) => whole.target === target),
    ...settings.filter(({ isWhole }) => isWhole),
  ];
  const removals = settings.filter(isRemoval);
  return seen.flatMap(({ startMs, endMs: fromMs }) => {
    // Without an answer, one may come into force at any later time.
    const later = removals.filter(({ outcome, endMs }) => outcome === "unknown" || endMs >= startMs);
    const untilMs = Math.min(Number.POSITIVE_INFINITY, ...later.map((removal) => removal.startMs));
    return untilMs > fromMs ? { fromMs, untilMs } : [];
  });
}

/** The settings that may have been in force at some time between the two. */
export function mayBeInForce(settings: readonly PoolSet[], fromMs: number, toMs: number): PoolSet[] {
  return settings.filter((setting) => setting.startMs <= toMs && replacedMs(setting, settings) >= fromMs);
}

/** When the setting was surely replaced. One whose outcome is unknown may come into force at any later time. */
export function replacedMs({ outcome, endMs }: PoolSet, settings: readonly PoolSet[]): number {
  if (outcome === "unknown") return Number.POSITIVE_INFINITY;
  const later = settings.filter((other) => other.outcome === "done" && other.startMs > endMs);
  return Math.min(Number.POSITIVE_INFINITY, ...later.map((other) => other.endMs));
}

export function permitsOf({ mode, permits }: { readonly mode: string; readonly permits: number }): number {
  return mode === "permit" ? permits : 1;
}
