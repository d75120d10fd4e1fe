// Time and order: ends what is due, then grants to the head of the queue as long as it fits. Strictly in order of
// ticket numbers, so a heavy request at the head waits for its permits and nobody passes it.

import type { Claim, EndReason } from "./claim.ts";
import { isDue } from "./claim.ts";
import type { Draft } from "./draft.ts";
import { fits, neverFits } from "./fits.ts";
import { end, grant } from "./transitions.ts";

/** Ends all known claims whose time has run out. Done once, before the first command, as time stands still after it. */
export function endDue(draft: Draft): void {
  for (const claim of draft.claims.values()) {
    if (claim.state !== "ended" && isDue(claim, draft.nowUs)) end(draft, claim, dueReason(claim));
  }
}

/** Grants to the first waiters while they fit. */
export function grantWaiters(draft: Draft): void {
  const { lock, queue } = draft;
  while (lock.waiting > 0) {
    const head = queue[0];
    if (!head) {
      // Only a queue that was read in part can run out while somebody still waits.
      draft.unfinished = draft.limit.limit > 0;
      return;
    }
    if (neverFits(draft.limit.limit, head)) {
      end(draft, head, "never_fits");
    } else if (fits(lock, draft.limit.limit, head)) {
      queue.shift();
      grant(draft, head);
    } else return;
  }
}

function dueReason(claim: Claim): EndReason {
  if (claim.state === "held") return claim.provisional ? "lapsed" : "expired";
  const waitOver = claim.waitUntilUs !== null && claim.waitUntilUs <= (claim.deadlineUs as number);
  return waitOver ? "timed_out" : "lapsed";
}
