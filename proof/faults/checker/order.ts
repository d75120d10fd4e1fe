// First come, first served: the claims of a lock are granted in the order of their tickets.

import type { History } from "../history/history.ts";
import type { Breach } from "./breach.ts";

export function order(history: History): Breach[] {
  const breaches: Breach[] = [];
  for (const [lock, listed] of history.byLock("list")) {
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
