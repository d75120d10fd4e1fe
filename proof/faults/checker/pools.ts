// Pools: all leases under a pool together have no more permits than its limit allows, from when all servers know the pool, for
// leases that were asked for since then, and for all leases from when it counts all holders. A pool that is paused grants
// nothing. At the end nobody has anything of it.

import type { Held, History, PoolSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { untilForced } from "./exclusion.ts";
import {
  isRemoval,
  isUnder,
  knownSpans,
  mayBeInForce,
  permitsOf,
  poolSettings,
  poolsOf,
  replacedMs,
  wholeSpans,
} from "./pool-settings.ts";
import { sameRate } from "./rate-settings.ts";
import { forcesOf } from "./set-locks.ts";
import type { Span } from "./spans.ts";

export function pools(history: History): Breach[] {
  return poolsOf(history).flatMap((target) => {
    const settings = poolSettings(history, target);
    const known = knownSpans(settings);
    return [
      ...overLimit(history, target, settings, known),
      ...grantedWhilePaused(history, target, settings, known),
      ...atTheEnd(history, target, settings),
    ];
  });
}

/** What clients believe to hold at the same time fits into the limit that the last one of them found when it was granted. */
function overLimit(
  history: History,
  target: string,
  settings: readonly PoolSet[],
  known: readonly Span[],
): Breach[] {
  const whole = wholeSpans(history, settings, target);
  const breaches: Breach[] = [];
  let together: Held[] = [];
  for (const hold of believedUnder(history, target)) {
    together = [...together.filter(({ endMs }) => endMs > hold.startMs), hold];
    const what = misfit(together, settings, known, whole);
    if (what) breaches.push({ rule: "never held more often than allowed", what: `pool ${target}: ${what}` });
  }
  return breaches;
}

function believedUnder(history: History, target: string): Held[] {
  const forces = history.byLock("force");
  return history
    .of("hold")
    .filter(({ lock }) => isUnder(lock, target))
    .map((hold) => untilForced(hold, forcesOf(hold, forces)))
    .filter(({ startMs, endMs }) => endMs > startMs)
    .sort((a, b) => a.startMs - b.startMs);
}

function misfit(
  together: readonly Held[],
  settings: readonly PoolSet[],
  known: readonly Span[],
  whole: readonly Span[],
): string | undefined {
  const judged = [
    ...known.map((span) => ({ span, holds: together.filter(({ askedMs }) => askedMs >= span.fromMs) })),
    ...whole.map((span) => ({ span, holds: together })),
  ];
  for (const { span, holds } of judged) {
    if (holds.length === 0) continue;
    // The last one of them was granted between the two, and all others were held then.
    const fromMs = Math.max(...holds.map(({ askedMs }) => askedMs));
    const toMs = Math.max(...holds.map(({ startMs }) => startMs));
    if (fromMs < span.fromMs || toMs > span.untilMs) continue;
    const permits = holds.reduce((sum, hold) => sum + permitsOf(hold), 0);
    const limit = highestLimit(settings, fromMs, toMs);
    if (permits <= limit) continue;
    const all = holds.map(({ who, lock, token }) => `${lock} ${token} of ${who}`).join(" beside ");
    return `${all}, ${permits} permits with a limit of ${limit}`;
  }
  return undefined;
}

function highestLimit(settings: readonly PoolSet[], fromMs: number, toMs: number): number {
  const inForce = mayBeInForce(settings, fromMs, toMs);
  return Math.max(...inForce.map(({ limit }) => limit ?? Number.POSITIVE_INFINITY));
}

function grantedWhilePaused(
  history: History,
  target: string,
  settings: readonly PoolSet[],
  known: readonly Span[],
): Breach[] {
  const granted = [
    ...history.of("acquire").filter(({ outcome }) => outcome === "granted"),
    ...history
      .of("take")
      .flatMap(({ taken, ...call }) => taken.map(({ task: lock, token }) => ({ ...call, lock, token }))),
  ];
  return granted
    .filter(({ lock, startMs, endMs }) => {
      if (!isUnder(lock, target)) return false;
      if (!known.some(({ fromMs, untilMs }) => startMs >= fromMs && endMs <= untilMs)) return false;
      return highestLimit(settings, startMs, endMs) === 0;
    })
    .map(({ who, lock, token }) => ({
      rule: "a paused pool grants nothing",
      what: `pool ${target}: ${who} was granted ${lock} ${token}`,
    }));
}

function atTheEnd(history: History, target: string, settings: readonly PoolSet[]): Breach[] {
  const breaches: Breach[] = [];
  const breach = (rule: string, what: string) => breaches.push({ rule, what: `pool ${target}: ${what}` });
  for (const final of history.of("final pool").filter((each) => each.target === target)) {
    const { permits, waiting, isWhole, ...now } = final;
    if (permits > 0) breach("nothing is held for nobody", `${permits} permits`);
    if (waiting > 0) breach("nobody waits for what is free", `${waiting} wait`);
    if (!isWhole && !isRemoval(now)) breach("a new pool is whole soon", "it still counts");
    const last = settings.filter((set) => replacedMs(set, settings) === Number.POSITIVE_INFINITY);
    if (settings.every(({ outcome }) => outcome === "unknown"))
      last.push({ ...now, did: "pool", limit: null, rate: null, outcome: "done" });
    if (last.some(({ limit, rate }) => limit === now.limit && sameRate(rate, now.rate))) continue;
    const text = ({ limit, rate }: Pick<PoolSet, "limit" | "rate">) => JSON.stringify({ limit, rate });
    breach(
      "an acknowledged limit stays",
      `it is ${text(now)}, and only ${last.map(text).join(" or ")} may be in force`,
    );
  }
  return breaches;
}
