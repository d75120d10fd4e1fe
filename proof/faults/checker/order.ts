// First come, first served: the claims of a lock are granted in the order of their tickets. Under a pool, claims that have the lock
// together may pass each other on their way to the lease.

import type { History } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { poolsOver } from "./pool-settings.ts";

export function order(history: History): Breach[] {
  const breaches: Breach[] = [];
  const limited = history.byLock("limit");
  for (const [lock, listed] of history.byLock("list")) {
    const isShared = limited.has(lock) || listed.some(({ mode }) => mode === "shared");
    if (isShared && poolsOver(history, lock).length > 0) continue;
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
