// First come, first served: the claims of a lock are granted in the order of their tickets, and while one waits, none that came
// later is. Where shares may be fair, so are those of each group. Under a pool, claims that have the lock together may pass each other on their way to the lease.

import type { Acquired, History, Listed } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { DEFAULT_LIMIT } from "./exclusion.ts";
import { permitsOf, poolsOver } from "./pool-settings.ts";
import { ratesOf } from "./rate-settings.ts";
import { pooledLocks } from "./set-locks.ts";

export function order(history: History): Breach[] {
  return [...inQueues(history), ...pastWaiters(history), ...inPools(history)];
}

function inQueues(history: History): Breach[] {
  const breaches: Breach[] = [];
  for (const [lock, listed] of judgedIn(history)) {
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

/** Leases by the names of locks, without those that may pass each other. */
function judgedIn(history: History): Map<string, readonly Listed[]> {
  const limited = history.byLock("limit");
  const isPooled = pooledLocks(history);
  const judged = new Map<string, readonly Listed[]>();
  for (const [lock, all] of history.byLock("list")) {
    if (isPooled(lock) && (limited.has(lock) || all.some(({ mode }) => mode === "shared"))) continue;
    // A spend takes no room of its lock.
    const together = isPooled(lock) ? all.filter(({ endReason }) => endReason !== "SPENT") : all;
    for (const [queue, own] of Map.groupBy(together, queueOf)) judged.set(queue, own);
  }
  return judged;
}

/** A lock, or a group of claims at it. */
function queueOf({ lock, group }: Pick<Listed, "lock" | "group">): string {
  return group === undefined ? lock : `${lock} (${group})`;
}

/** What a server may not know of the database's clock, and a decision that is late. */
const UNSURE_US = 1e6;

/** Nobody passes a waiter, also not one that is never granted. */
function pastWaiters(history: History): Breach[] {
  // The servers change the times of claims after the clock was set back.
  if (history.of("step").length > 0) return [];
  const leases = judgedIn(history);
  return history.of("unserved").flatMap((unserved) => {
    const { ticket, owner, endReason, endedUs } = unserved;
    const queue = queueOf(unserved);
    const passed = leases
      .get(queue)
      ?.find(
        (later) =>
          BigInt(later.ticket) > BigInt(ticket) && (later.grantedUs ?? endedUs) < endedUs - UNSURE_US,
      );
    if (!passed) return [];
    const seconds = ((endedUs - (passed.grantedUs as number)) / 1e6).toFixed(1);
    const what = `${queue}: ticket ${passed.ticket} was granted ${seconds} s before ticket ${ticket} of ${owner} ended as ${endReason}`;
    return { rule: "first come, first served", what };
  });
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
    // One for several locks may wait for another one of them.
    if (first.set || over === "" || ratesOf(history, first.lock).length > 0) continue;
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
  const areSingle = own.every(({ set }) => set === undefined);
  return (
    isKnown && areSingle && [...tokens.values()].every(({ mode }) => mode === "permit") && permits <= limit
  );
}
