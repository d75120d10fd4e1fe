// Nobody waits for ever while what he waits for is free: while somebody waits for a lock, it is not left alone for longer
// than a ttl and a little, beside the time of faults. A lease that its client lost before it could use it takes its ttl. The
// rate of a lock may keep it free for as long as the permits of one claim take to come back. A lock under a pool may be left alone
// while the pool may be full, and one that claims hold together with others while any of these is held.

import type { Acquired, History, LimitSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { isUnder, mayBeInForce, permitsOf, poolSettings, poolsOver, replacedMs } from "./pool-settings.ts";
import { SOON_MS } from "./quiet.ts";
import { backInMs, ratesOf } from "./rate-settings.ts";
import { connectedWith } from "./set-locks.ts";
import { common, type Span, totalMs, union, without } from "./spans.ts";

export function progress(history: History, ttlMs: number): Breach[] {
  const faults = union(history.of("fault").map(spanOf));
  const holds = history.byLock("hold");
  const settings = history.byLock("limit");
  const connected = connectedWith(history);
  const lastTokens = new Map(history.of("final").map(({ lock, lastToken }) => [lock, lastToken]));
  const breaches: Breach[] = [];
  for (const [lock, calls] of history.byLock("acquire")) {
    const locks = connected(lock);
    const pools = [...new Set(locks.flatMap((each) => poolsOver(history, each)))];
    const under =
      pools.length === 0 && locks.length === 1
        ? calls
        : history
            .of("acquire")
            .filter(
              (call) => locks.includes(call.lock) || pools.some((target) => isUnder(call.lock, target)),
            );
    const used = union([
      ...locks.flatMap((each) => holds.get(each) ?? []).map(spanOf),
      ...under.filter(isGranted).map(({ endMs }) => ({ fromMs: endMs, untilMs: endMs })),
      ...pools.flatMap((target) => fullSpans(history, target)),
    ]);
    const waits = union(calls.map(spanOf));
    const permitsMax = locks.length * Math.max(...under.map(({ permits }) => permits));
    const rates = [
      ...locks.map((each) => ratesOf(history, each)),
      ...pools.map((target) => poolSettings(history, target)),
    ].flat();
    const paces = rates.map(({ rate }) => (rate ? backInMs(rate, permitsMax) : 0));
    const graceMs = ttlMs + Math.max(0, ...paces);
    const paused = union(locks.flatMap((each) => pauses(settings.get(each) ?? [])));
    for (const idle of without(without(waits, paused), used)) {
      const beside = idle.untilMs - idle.fromMs - totalMs(common([idle], faults));
      const unused = [...Map.groupBy(under, (call) => call.lock)]
        .map(([name, own]) => unusedIn(idle, own, lastTokens.get(name)))
        .reduce((a, b) => a + b);
      if (beside <= graceMs * (1 + unused) + SOON_MS) continue;
      const what = `${lock}: free for ${(beside / 1e3).toFixed(1)} s beside faults and ${unused} unused leases, while somebody waited`;
      breaches.push({ rule: "nobody waits for ever for what is free", what });
    }
  }
  return breaches;
}

/**
 * How many leases were granted meanwhile at most, of which no client could make use: by the tokens that others were told
 * before and after, and by the calls that may have had them.
 */
function unusedIn(idle: Span, calls: readonly Acquired[], last: string | undefined): number {
  const possible = calls.filter(
    (call) => call.outcome !== "granted" && common([idle], [spanOf(call)]).length > 0,
  ).length;
  const told = calls.filter(isGranted).map(({ token, endMs }) => ({ token: BigInt(token as string), endMs }));
  const before = told
    .filter(({ endMs }) => endMs <= idle.fromMs)
    .reduce((highest, { token }) => (token > highest ? token : highest), 0n);
  const later = told.filter(({ endMs }) => endMs >= idle.untilMs).map(({ token }) => token);
  const after = later.length > 0 ? later.reduce((a, b) => (b < a ? b : a)) : BigInt(last ?? 0) + 1n;
  const between = after > before ? Number(after - before) - 1 : 0;
  return Math.min(possible, between);
}

const isGranted = ({ outcome }: Acquired) => outcome === "granted";

/** When there may be no room in a pool for those who ask for most under it, or when it may be paused. */
function fullSpans(history: History, target: string): Span[] {
  const settings = poolSettings(history, target);
  const holds = history.of("hold").filter(({ lock }) => isUnder(lock, target));
  const asked = history.of("acquire").filter(({ lock }) => isUnder(lock, target));
  const most = Math.max(
    1,
    ...[...Map.groupBy(asked, ({ who, requestId }) => `${who} ${requestId}`).values()].map((calls) =>
      [...new Map(calls.map((call) => [call.lock, call])).values()].reduce(
        (sum, call) => sum + permitsOf(call),
        0,
      ),
    ),
  );
  const ends = [
    ...settings.map(({ startMs }) => startMs),
    ...settings.map((set) => replacedMs(set, settings)),
  ];
  const times = [0, ...ends, ...holds.flatMap(({ startMs, endMs }) => [startMs, endMs])].sort(
    (a, b) => a - b,
  );
  const full: Span[] = [];
  for (const [index, fromMs] of times.entries()) {
    const untilMs = times[index + 1] ?? Number.POSITIVE_INFINITY;
    if (untilMs <= fromMs || fromMs === Number.POSITIVE_INFINITY) continue;
    const midMs = Math.min((fromMs + untilMs) / 2, fromMs + 1);
    const held = holds
      .filter(({ startMs, endMs }) => startMs <= midMs && endMs > midMs)
      .reduce((sum, hold) => sum + permitsOf(hold), 0);
    const limits = mayBeInForce(settings, midMs, midMs).map(({ limit }) => limit ?? Number.POSITIVE_INFINITY);
    if (held + most > Math.min(...limits)) full.push({ fromMs, untilMs });
  }
  return full;
}

/** When the lock may have been paused. */
function pauses(settings: readonly LimitSet[]): Span[] {
  const paused = settings.filter(({ limit }) => limit === 0);
  return union(
    paused.map(({ startMs, endMs }) => ({ fromMs: startMs, untilMs: resumedMs(endMs, settings) })),
  );
}

/** When a setting that began after this time was surely in force. */
function resumedMs(pausedMs: number, settings: readonly LimitSet[]): number {
  const next = settings.find(
    ({ limit, outcome, startMs }) => limit > 0 && outcome === "done" && startMs >= pausedMs,
  );
  return next?.endMs ?? Number.POSITIVE_INFINITY;
}

function spanOf({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): Span {
  return { fromMs: startMs, untilMs: endMs };
}
