// Never more held than may be: what clients believe to hold at the same time fits together by mode and by the limit. What
// an operator has ended by force does not count from then on: its client hears of that later, and its token is stale.

import type { Forced, Held, History, LimitSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { forcesOf } from "./set-locks.ts";

export const DEFAULT_LIMIT = 1;

export function exclusion(history: History): Breach[] {
  const settings = history.byLock("limit");
  const forces = history.byLock("force");
  const breaches: Breach[] = [];
  for (const [lock, holds] of history.byLock("hold")) {
    let together: Held[] = [];
    const believed = holds.map((hold) => untilForced(hold, forcesOf(hold, forces)));
    // One that was ended by force before its client heard of it never counts.
    for (const hold of believed.filter(({ startMs, endMs }) => endMs > startMs)) {
      together = [...together.filter(({ endMs }) => endMs > hold.startMs), hold];
      const what = misfit(together, settings.get(lock) ?? []);
      if (what) breaches.push({ rule: "never held more often than allowed", what: `${lock}: ${what}` });
    }
  }
  return breaches;
}

/** Its end is that of the client's belief, or the beginning of the first call that may have ended it. */
export function untilForced(hold: Held, forces: readonly Forced[]): Held {
  const ends = forces.map(({ startMs, endMs, outcome }) => {
    const mayEnd = outcome === "unknown" || endMs >= hold.askedMs;
    return mayEnd ? Math.max(startMs, hold.startMs) : Number.POSITIVE_INFINITY;
  });
  return { ...hold, endMs: Math.min(hold.endMs, ...ends) };
}

function misfit(together: readonly Held[], settings: readonly LimitSet[]): string | undefined {
  const all = () => together.map(({ who, mode, token }) => `${mode} ${token} of ${who}`).join(" beside ");
  const modes = new Set(together.map(({ mode }) => mode));
  if (modes.size > 1 || (modes.has("exclusive") && together.length > 1)) return all();
  if (!modes.has("permit")) return undefined;
  const permits = together.reduce((sum, hold) => sum + hold.permits, 0);
  // All others were held when the last one of them was granted, which was between its first call and its answer.
  const last = together.reduce((a, b) => (BigInt(a.token) > BigInt(b.token) ? a : b));
  const limit = highestLimit(settings, last.askedMs, last.startMs);
  return permits > limit ? `${all()}, ${permits} permits with a limit of ${limit}` : undefined;
}

/** The highest limit that may have been in force at some time between the two. */
function highestLimit(settings: readonly LimitSet[], fromMs: number, toMs: number): number {
  const limits = settings
    .filter((setting) => setting.startMs <= toMs && overAt(setting, settings) >= fromMs)
    .map(({ limit }) => limit);
  const first = Math.min(...settings.filter(({ outcome }) => outcome === "done").map(({ endMs }) => endMs));
  if (fromMs <= first) limits.push(DEFAULT_LIMIT);
  return Math.max(...limits);
}

/** When the setting was surely replaced. One whose outcome is unknown may come into force at any later time. */
function overAt({ outcome, endMs }: LimitSet, settings: readonly LimitSet[]): number {
  if (outcome === "unknown") return Number.POSITIVE_INFINITY;
  const later = settings.filter((other) => other.outcome === "done" && other.startMs > endMs);
  return Math.min(Number.POSITIVE_INFINITY, ...later.map((other) => other.endMs));
}
