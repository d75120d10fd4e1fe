// Reads a lock with its record: the guard row, and the record if the guard row says that there is one.

import type { Lock } from "../../core/lock.ts";
import { countersFromRow, hasRecord, type Row, recordFromRow } from "./rows.ts";
import type { SqliteStatements } from "./statements.ts";

export function lockFromRow(statements: SqliteStatements, row: Row): Lock {
  const guard = countersFromRow(row);
  if (!hasRecord(row)) return { ...guard, record: null };
  const record = statements.get("record", guard.id);
  if (!record) throw new Error(`Lock ${guard.id} should have a record, and has none.`);
  return { ...guard, record: recordFromRow(record) };
}
