// A waiter whose place is asked for, and which of its places is the one to say.

import type { Claim } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";

/** Of the places at several locks the one where most are ahead; of several such, the first. null: there is none. */
export function longestPlace(places: readonly Place[]): Place | null {
  let found: Place | null = null;
  for (const place of places) if (!found || place.ahead > found.ahead) found = place;
  return found;
}
