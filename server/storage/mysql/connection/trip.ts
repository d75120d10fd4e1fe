// One round trip to the database: statements that are sent together, with their values. Values are only numbers,
// bigints, bytes and NULL. The driver writes bytes as X'..' literals, so no character set and no sql_mode can change
// where a value ends.

import type { Value } from "../../rows/values.ts";

export type SqlValue = Value | readonly SqlValue[];

export class Trip {
  /** The metric label. */
  readonly name: string;
  readonly #statements: string[] = [];
  readonly #values: SqlValue[] = [];
  #commits = false;

  constructor(name: string) {
    this.name = name;
  }

  /** Adds a statement; returns the index of its result. */
  add(statement: string, ...values: readonly SqlValue[]): number {
    this.#statements.push(statement);
    for (const value of values) this.#values.push(value);
    return this.#statements.length - 1;
  }

  /** Adds COMMIT as the last statement. Until the server answers it, the outcome of the transaction is unknown. */
  addCommit(): void {
    this.add("COMMIT");
    this.#commits = true;
  }

  get commits(): boolean {
    return this.#commits;
  }

  get length(): number {
    return this.#statements.length;
  }

  get sql(): string {
    return this.#statements.join(";\n");
  }

  get values(): readonly SqlValue[] {
    return this.#values;
  }
}
