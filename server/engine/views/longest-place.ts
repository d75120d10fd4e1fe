// Which of the places of a claim for several locks is the one to say.

import type { Place } from "../../core/command.ts";

/** Of the places at several locks the one where most are ahead; of several such, the first. null: there is none. */
export function longestPlace(places: readonly Place[]): Place | null {
  let found: Place | null = null;
  for (const place of places) if (!found || place.ahead > found.ahead) found = place;
  return found;
}
