// What the reads of this folder ask of a database. Each read is a generator, which yields steps and receives their rows. So it
// is one text for all databases, although SQLite answers synchronously and MySQL asynchronously. The text is SQL as MySQL has
// it. The `steps.ts` of each database runs the steps and says what that database reads instead.

import type { DatabaseClock } from "../../core/database-clock.ts";
import type { Row } from "../rows/from-rows.ts";

export type StepValue = number | bigint | Buffer | null | readonly StepValue[];

/**
 * A statement, and its values by name. In its text, `:name` stands for a value, and `IN (:name)` for a list of them, or of
 * pairs; `:now` for the database's clock; `:past` for the earliest that this clock may be. Texts must be fixed, because
 * SQLite keeps each as compiled.
 */
export type Query = readonly [sql: string, values?: Readonly<Record<string, StepValue>>];

export interface Step {
  /** The metric label. */
  readonly name: string;
  /** For each list, the step is answered with the rows of all its queries, in no order. */
  readonly lists: readonly (readonly Query[])[];
  /** It is an UPDATE or a DELETE, answered with a row that contains how many rows it wrote. Safe to repeat. */
  readonly isWrite?: true;
  /** Its first list sees everything that a cluster had committed before. */
  readonly isCaughtUp?: true;
  /** The steps after it do not rely on the rows to stay as they are, so SQLite's process may do other work first. */
  readonly isPause?: true;
}

export type Steps<Answer> = Generator<Step, Answer, readonly (readonly Row[])[]>;

export interface Runner {
  read<Answer>(steps: Steps<Answer>): Promise<Answer>;
  /** Runs steps that write: on SQLite as one transaction, on MySQL each as its own, which is repeated after a rollback. */
  write<Answer>(steps: Steps<Answer>): Promise<Answer>;
  /** Runs steps as of one moment, except on SQLite across a pause. May call `steps` again, and takes `msMax` at most. */
  snapshot<Answer>(
    steps: () => Steps<Answer>,
    /** `isCaughtUp`: it has everything that a cluster had committed before. */
    how?: { readonly msMax?: number; readonly isCaughtUp?: boolean },
  ): Promise<Answer>;
  count(table: "rowlock_history" | "rowlock_change"): Promise<number>;
  removedEnded(claims: number): void;
  /** What is known of the clock between readings; null: each reading is exact. */
  readonly clock: DatabaseClock | null;
  /** How many rows may be read or written before the process does its other work. */
  readonly scanMax: number;
  readonly sliceMax: number;
}

export function* answers(step: Step): Steps<readonly (readonly Row[])[]> {
  return yield step;
}

/** Reads the rows of all these queries, in no order. */
export function* rowsOf(name: string, ...queries: readonly Query[]): Steps<readonly Row[]> {
  if (queries.length === 0) return [];
  const [rows = []] = yield { name, lists: [queries] };
  return rows;
}

export const CLOCK: Query = ["SELECT :now"];

/** Reads the same and a clock after it, so that no remaining time is reported too long. */
export function* timed(
  name: string,
  ...queries: readonly Query[]
): Steps<{ readonly nowUs: number; readonly rows: readonly Row[] }> {
  const [rows = [], clock] = yield { name, lists: [queries, [CLOCK]] };
  return { nowUs: Number(clock?.[0]?.[0]), rows };
}

export function* written(name: string, ...query: Query): Steps<number> {
  const [rows] = yield { name, lists: [[query]], isWrite: true };
  return Number(rows?.[0]?.[0]);
}
