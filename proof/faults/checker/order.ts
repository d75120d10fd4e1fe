// First come, first served: the claims of a lock are granted in the order of their tickets. Under a pool, claims that have the lock
// together may pass each other on their way to the lease.

import type { History } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { poolsOver } from "./pool-settings.ts";

export function order(history: History): Breach[] {
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
