// A claim for several locks: it gets all of them or none. It has a row at each of its locks, with a place, a token and an end
// of its own there. All rows have the same list of members, and the first one is the lead: its key is the id of the claim, its
// deadline is the claim's, and it waits at pools. proof/sets/README.md has the design.
//
// Such a claim moves only in a decision that has all of its locks. Any other one leaves it as it is, and has it looked at.

import type { Claim, Member } from "./claim.ts";
import type { Place } from "./command.ts";
import { claimOf, type Draft, touch } from "./draft.ts";
import { RowsNeeded } from "./pools.ts";

/** One lock of a claim, and the claim's row there. */
export interface Part {
  readonly draft: Draft;
  readonly claim: Claim;
}

/** All locks of the claim, the lead first; null: the decision has not all of them. */
export function wholeOf(draft: Draft, claim: Claim): readonly Part[] | null {
  if (claim.members === null) return [{ draft, claim }];
  const parts: Part[] = [];
  for (const { lockId, ticketNumber } of claim.members) {
    const other = draft.batch.drafts.find(({ lock }) => lock.id === lockId);
    const row = other && claimOf(other, ticketNumber);
    if (!row) return null;
    parts.push({ draft: other, claim: row });
  }
  return parts;
}

/** The same for a decision that cannot go on without them. */
export function wholeOrThrow(draft: Draft, claim: Claim): readonly Part[] {
  const parts = wholeOf(draft, claim);
  if (!parts) throw new RowsNeeded({ sets: [claim.members ?? []] });
  return parts;
}

/** The claim stays as it is, and is looked at with all of its locks. */
export function leave(draft: Draft, { members }: Claim): void {
  const [lead] = members as readonly [Member];
  draft.left.push({ lockId: lead.lockId, ticketNumber: lead.ticketNumber });
}

/** All rows show the lease as the lead has it. */
export function copyLease(parts: readonly Part[]): void {
  const [lead, ...others] = parts as [Part, ...Part[]];
  for (const { draft, claim } of others) {
    const { ttlUs, provisional, deadlineUs } = lead.claim;
    if (claim.ttlUs === ttlUs && claim.provisional === provisional && claim.deadlineUs === deadlineUs)
      continue;
    Object.assign(claim, { ttlUs, provisional, deadlineUs });
    touch(draft, claim);
  }
}

/** Of the places at several locks the one where most are ahead; of several such, the first. null: there is none. */
export function longestPlace(places: readonly Place[]): Place | null {
  let found: Place | null = null;
  for (const place of places) if (!found || place.ahead > found.ahead) found = place;
  return found;
}
