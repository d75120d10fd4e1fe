// The values of whole rows, with texts as bytes, as they are to be read.

import type { Claim } from "../../server/core/claim.ts";
import type { Lock } from "../../server/core/lock.ts";
import {
  LOCK_COUNTED_COLUMNS,
  LOCK_SELDOM_COLUMNS,
  LOCK_WRITTEN_COLUMNS,
} from "../../server/storage/rows/columns.ts";
import {
  bytesOf,
  claimValuesBy,
  countedValues,
  historyValuesBy,
  holderValuesBy,
  seldomValues,
  type Value,
} from "../../server/storage/rows/values.ts";

/** Values for LOCK_WRITTEN_COLUMNS. */
export function lockValues(lock: Lock): Value[] {
  const columns: readonly string[] = [...LOCK_COUNTED_COLUMNS, ...LOCK_SELDOM_COLUMNS];
  const values = [...countedValues(lock), ...seldomValues(lock)];
  return LOCK_WRITTEN_COLUMNS.map((column) => values[columns.indexOf(column)] as Value);
}

/** Values for CLAIM_COLUMNS. */
export const claimValues = (claim: Claim): Value[] => claimValuesBy(bytesOf, claim);
/** Values for HOLDER_COLUMNS. */
export const holderValues = (claim: Claim): Value[] => holderValuesBy(bytesOf, claim);
/** Values for HISTORY_COLUMNS. */
export const historyValues = (claim: Claim): Value[] => historyValuesBy(bytesOf, claim);
