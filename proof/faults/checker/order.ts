// First come, first served: the claims of a lock are granted in the order of their tickets. Under a pool, claims that have the lock
// together may pass each other on their way to the lease.

import type { Acquired, History } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { DEFAULT_LIMIT } from "./exclusion.ts";
import { permitsOf, poolsOver } from "./pool-settings.ts";
import { ratesOf } from "./rate-settings.ts";

export function order(history: History): Breach[] {
  return [...inQueues(history), ...inPools(history)];
}

function inQueues(history: History): Breach[] {
  const breaches: Breach[] = [];
  const limited = history.byLock("limit");
  for (const [lock, all] of history.byLock("list")) {
    const isPooled = poolsOver(history, lock).length > 0;
    if (isPooled && (limited.has(lock) || all.some(({ mode }) => mode === "shared"))) continue;
    // A spend takes no room of its lock.
    const listed = isPooled ? all.filter(({ endReason }) => endReason !== "SPENT") : all;
    const byToken = [...listed].sort((a, b) => (BigInt(a.token) < BigInt(b.token) ? -1 : 1));
    for (const [index, claim] of byToken.entries()) {
      const before = byToken[index - 1];
      if (!before || BigInt(before.ticket) < BigInt(claim.ticket)) continue;
      const what = `${lock}: ticket ${claim.ticket} was granted after ticket ${before.ticket}`;
      breaches.push({ rule: "first come, first served", what });
    }
  }
  return breaches;
}

/** Who came so much later reached the pools later. */
const LATER_MS = 1_000;
/** Who may go on at a pool does so by then, if nothing is wrong. */
const GOES_ON_MS = 2_500;

/**
 * At a pool, nobody takes what somebody before needs: whenever one that came later was granted, those before it that wait
 * for the same pools alone could be granted, too, and are soon.
 */
function inPools(history: History): Breach[] {
  const breaches: Breach[] = [];
  const calls = history.of("acquire").filter((call) => !call.spends);
  const changes = [...history.of("pool"), ...history.of("limit"), ...history.of("force")];
  const isQuiet = (all: readonly Span[], fromMs: number, untilMs: number) =>
    all.every(({ startMs, endMs }) => endMs < fromMs || startMs > untilMs);
  const waits = calls.filter(({ startMs, endMs }) => endMs - startMs > LATER_MS + GOES_ON_MS);
  for (const first of waits) {
    const over = poolsOver(history, first.lock).join(" ");
    if (over === "" || ratesOf(history, first.lock).length > 0) continue;
    if (history.of("pool").some(({ target, rate }) => rate && over.split(" ").includes(target))) continue;
    const passed = calls.find((later) => {
      if (later.outcome !== "granted" || later.startMs < first.startMs + LATER_MS) return false;
      const untilMs = later.endMs + GOES_ON_MS;
      return (
        first.endMs > untilMs &&
        poolsOver(history, later.lock).join(" ") === over &&
        isQuiet(history.of("fault"), first.startMs, untilMs) &&
        isQuiet(changes, later.startMs, untilMs) &&
        fitsAll(history, first.lock, calls, { startMs: first.startMs, endMs: untilMs })
      );
    });
    if (!passed) continue;
    const what = `${over}: ${passed.who} was granted ${passed.lock} before ${first.who}, who waited for ${first.lock} before`;
    breaches.push({ rule: "nobody takes what somebody before needs", what });
  }
  return breaches;
}

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** Whether all that was asked of the lock at about this time fits into it together. */
function fitsAll(
  history: History,
  lock: string,
  calls: readonly Acquired[],
  { startMs, endMs }: Span,
): boolean {
  const own = [...calls, ...history.of("hold")].filter(
    (other) => other.lock === lock && other.startMs <= endMs && other.endMs >= startMs,
  );
  // One that is held was asked for, and may have been before.
  const tokens = new Map(own.map((one) => [one.token ?? one, one]));
  const settings = (history.byLock("limit").get(lock) ?? []).filter((set) => set.startMs <= endMs);
  const isKnown = settings.every((set) => set.outcome === "done" && set.endMs < startMs);
  const limit = settings.at(-1)?.limit ?? DEFAULT_LIMIT;
  const permits = [...tokens.values()].reduce((sum, one) => sum + permitsOf(one), 0);
  return isKnown && [...tokens.values()].every(({ mode }) => mode === "permit") && permits <= limit;
}
