// By how much a transaction raises the revisions of its guard rows. At random, so that a revision which is still the known
// one proves that the row is still the known one, too: rows that were set back and written again come to other
// revisions, even after as many transactions.

import { REVISION_STEP_MAX } from "../engine-bounds.ts";

/** The same for all guard rows of a transaction, so that one statement raises them all alike. */
export function newRevisionStep(): bigint {
  return BigInt(1 + Math.floor(Math.random() * REVISION_STEP_MAX));
}
