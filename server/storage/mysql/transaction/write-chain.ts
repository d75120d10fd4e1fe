// The writes of a transaction as a chain: each writes only if the one before it has written all of its rows, so what the
// last one has written tells of all of them. Nothing is counted by further statements, which would cost as much as the
// writes. Rows may be others than those that were read: who sets a database back does not ask for our row locks.

import type { SqlValue, Trip } from "../connection/trip.ts";
import { areTrue, assertAllWritten, type Facts, VALUE_WHILE_OPEN, WHILE_OPEN } from "./assertions.ts";

export class WriteChain {
  readonly #trip: Trip;
  /** Rows that the last write has to have written; null: there is none yet. */
  #rows: number | null = null;

  constructor(trip: Trip) {
    this.#trip = trip;
  }

  /** Adds an UPDATE, which ends in its WHERE, of so many rows. */
  update(rows: number, sql: string, ...values: readonly SqlValue[]): void {
    const link = this.#link();
    this.#trip.add(
      `${sql} ${link.length > 0 ? "AND ROW_COUNT() = ?" : ""} ${WHILE_OPEN}`,
      ...values,
      ...link,
    );
    this.#rows = rows;
  }

  /** Adds an INSERT of rows, of which the first column cannot be NULL. With facts, it asserts those as well. */
  insert(sql: string, rows: readonly (readonly SqlValue[])[], facts: Facts | null = null): void {
    const [[key = null, ...first] = [], ...others] = rows;
    const link = this.#link();
    const conditions = [...(link.length > 0 ? ["ROW_COUNT() = ?"] : []), ...(facts ? [areTrue(facts)] : [])];
    const value =
      conditions.length > 0 ? `IF(${conditions.join(" AND ")}, ${VALUE_WHILE_OPEN}, NULL)` : VALUE_WHILE_OPEN;
    const values = [...link, ...(facts?.values ?? []), key, first];
    if (others.length === 0) this.#trip.add(`${sql} VALUES (${value}, ?)`, ...values);
    else this.#trip.add(`${sql} VALUES (${value}, ?), ?`, ...values, others);
    this.#rows = rows.length;
  }

  /** Adds the check of the last write, and so of all, and that of the facts. Directly after it. */
  check(facts: Facts | null): void {
    if (this.#rows !== null) assertAllWritten(this.#trip, this.#rows, facts);
  }

  #link(): number[] {
    return this.#rows === null ? [] : [this.#rows];
  }
}
