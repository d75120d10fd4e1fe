// Keeps a transaction whole on a Galera node. To apply what another node has committed, the node rolls back a
// transaction in its way; where that meets a statement in the middle of a trip, MariaDB 10.11 answers the statement as
// done, and the statements after it run and commit one by one. So each write of a transaction writes only while the
// transaction is open, and the answers to them say whether it still was.

import { StoreError } from "../../store.ts";

// Only MariaDB reads what stands in these comments.

/** Ends a WHERE: nothing is written outside a transaction. */
export const WHILE_OPEN = "/*M!100304 AND @@in_transaction */";
/** A value of a row to insert, of a column that cannot be NULL: outside a transaction the statement fails. */
export const VALUE_WHILE_OPEN = "/*M!100304 IF(@@in_transaction, */ ? /*M!100304 , NULL) */";

const IN_TRANSACTION = 1;

/**
 * Throws a transient StoreError if the transaction was gone by the end of one of these writes: then none of them is
 * there, and a COMMIT after them has committed nothing.
 */
export function mustStillBeOpen(writes: readonly unknown[]): void {
  for (const write of writes) {
    const { serverStatus } = write as { readonly serverStatus?: number };
    if (serverStatus === undefined || (serverStatus & IN_TRANSACTION) !== 0) continue;
    throw new StoreError(
      "transient",
      "deadlock",
      "The database rolled this transaction back in favour of another node's.",
    );
  }
}
