// The writes of a transaction as a chain: each write has an effect only if the write before it wrote all of its rows,
// so the row count of the last one vouches for all. No further statements count rows, because each would cost as much
// as a write. The check is necessary because rows may differ from those that were read: an operator who sets a database
// back does not take our row locks.

import type { SqlValue, Trip } from "../connection/connection.ts";
import { assertAllWritten, isMet, type MetaCondition, VALUE_WHILE_OPEN, WHILE_OPEN } from "./assertions.ts";

export class WriteChain {
  readonly #trip: Trip;
  /** The rows that the last write must have written; null: there is no write yet. */
  #rows: number | null = null;

  constructor(trip: Trip) {
    this.#trip = trip;
  }

  /** Adds an UPDATE or DELETE of `rows` rows; `sql` must end in its WHERE clause. */
  update(rows: number, sql: string, ...values: readonly SqlValue[]): void {
    const link = this.#link();
    this.#trip.add(
      `${sql} ${link.length > 0 ? "AND ROW_COUNT() = ?" : ""} ${WHILE_OPEN}`,
      ...values,
      ...link,
    );
    this.#rows = rows;
  }

  /** Adds an INSERT of rows whose first column cannot be NULL. If a condition is given, it also asserts that one. */
  insert(sql: string, rows: readonly (readonly SqlValue[])[], condition: MetaCondition | null = null): void {
    const [[key = null, ...first] = [], ...others] = rows;
    const link = this.#link();
    const conditions = [
      ...(link.length > 0 ? ["ROW_COUNT() = ?"] : []),
      ...(condition ? [isMet(condition)] : []),
    ];
    const value =
      conditions.length > 0 ? `IF(${conditions.join(" AND ")}, ${VALUE_WHILE_OPEN}, NULL)` : VALUE_WHILE_OPEN;
    const values = [...link, ...(condition?.values ?? []), key, first];
    if (others.length === 0) this.#trip.add(`${sql} VALUES (${value}, ?)`, ...values);
    else this.#trip.add(`${sql} VALUES (${value}, ?), ?`, ...values, others);
    this.#rows = rows.length;
  }

  /** Adds the check of the last write, and so of all writes, and of the condition. Must directly follow that write. */
  check(condition: MetaCondition | null): void {
    if (this.#rows !== null) assertAllWritten(this.#trip, this.#rows, condition);
  }

  #link(): number[] {
    return this.#rows === null ? [] : [this.#rows];
  }
}
