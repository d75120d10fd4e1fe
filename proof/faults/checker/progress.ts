// Nobody waits for ever while what he waits for is free: while somebody waits for a lock, it is not left alone for longer
// than a ttl and a little, beside the time of faults. A lease that its client lost before it could use it takes its ttl. The
// rate of a lock may keep it free for as long as the permits of one claim take to come back.

import type { Acquired, History, LimitSet } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { SOON_MS } from "./quiet.ts";
import { backInMs, ratesOf } from "./rate-settings.ts";
import { common, type Span, totalMs, union, without } from "./spans.ts";

export function progress(history: History, ttlMs: number): Breach[] {
  const faults = union(history.of("fault").map(spanOf));
  const holds = history.byLock("hold");
  const settings = history.byLock("limit");
  const breaches: Breach[] = [];
  for (const [lock, calls] of history.byLock("acquire")) {
    const granted = calls.filter(({ outcome }) => outcome === "granted");
    const used = union([
      ...(holds.get(lock) ?? []).map(spanOf),
      ...granted.map(({ endMs }) => ({ fromMs: endMs, untilMs: endMs })),
    ]);
    const waits = union(calls.map(spanOf));
    const permitsMax = Math.max(...calls.map(({ permits }) => permits));
    const paces = ratesOf(history, lock).map(({ rate }) => (rate ? backInMs(rate, permitsMax) : 0));
    const graceMs = ttlMs + Math.max(0, ...paces);
    const last = history.of("final").find((final) => final.lock === lock)?.lastToken;
    for (const idle of without(without(waits, pauses(settings.get(lock) ?? [])), used)) {
      const beside = idle.untilMs - idle.fromMs - totalMs(common([idle], faults));
      const unused = unusedIn(idle, calls, granted, last);
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
function unusedIn(
  idle: Span,
  calls: readonly Acquired[],
  granted: readonly Acquired[],
  last: string | undefined,
): number {
  const possible = calls.filter(
    (call) => call.outcome !== "granted" && common([idle], [spanOf(call)]).length > 0,
  ).length;
  const told = granted.map(({ token, endMs }) => ({ token: BigInt(token as string), endMs }));
  const before = told
    .filter(({ endMs }) => endMs <= idle.fromMs)
    .reduce((highest, { token }) => (token > highest ? token : highest), 0n);
  const later = told.filter(({ endMs }) => endMs >= idle.untilMs).map(({ token }) => token);
  const after = later.length > 0 ? later.reduce((a, b) => (b < a ? b : a)) : BigInt(last ?? 0) + 1n;
  const between = after > before ? Number(after - before) - 1 : 0;
  return Math.min(possible, between);
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
