// The writes of a transaction as a chain: each writes only if the one before it has written all of its rows, so what the
// last one has written tells of all of them. Nothing is counted by further statements, which would cost as much as the
// writes. Rows may be others than those that were read: who sets a database back does not ask for our row locks.

import type { SqlValue, Trip } from "../connection/trip.ts";
import { assertAllWritten, VALUE_WHILE_OPEN, WHILE_OPEN } from "./assertions.ts";

export class WriteChain {
  readonly #trip: Trip;
  /** Rows that the last write has to have written; null: there is none yet. */
  #rows: number | null = null;

  constructor(trip: Trip) {
    this.#trip = trip;
  }

  /** The rows that an assertion right after the last write has to find written. */
  get rows(): number {
    return this.#rows ?? 0;
  }

  /** Adds an UPDATE, which ends in its WHERE, of so many rows. */
  update(rows: number, sql: string, ...values: readonly SqlValue[]): void {
    const link = this.#rows === null ? [] : [this.#rows];
    this.#trip.add(
      `${sql} ${link.length > 0 ? "AND ROW_COUNT() = ?" : ""} ${WHILE_OPEN}`,
      ...values,
      ...link,
    );
    this.#rows = rows;
  }

  /** Adds an INSERT of rows, of which the first column cannot be NULL. */
  insert(sql: string, rows: readonly (readonly SqlValue[])[]): void {
    const [[key = null, ...first] = [], ...others] = rows;
    const link = this.#rows === null ? [] : [this.#rows];
    const value = link.length > 0 ? `IF(ROW_COUNT() = ?, ${VALUE_WHILE_OPEN}, NULL)` : VALUE_WHILE_OPEN;
    if (others.length === 0) this.#trip.add(`${sql} VALUES (${value}, ?)`, ...link, key, first);
    else this.#trip.add(`${sql} VALUES (${value}, ?), ?`, ...link, key, first, others);
    this.#rows = rows.length;
  }

  /** Adds the check of the last write, and so of all. Directly after it. */
  check(): void {
    if (this.#rows !== null) assertAllWritten(this.#trip, this.#rows);
  }
}
