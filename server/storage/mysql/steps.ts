// Runs the steps of `reads/` on MySQL and MariaDB, with their statements as these read them. A step is one round trip on any
// connection; on a snapshot, all steps have the same one.

import { partsOf } from "../../core/bounds.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import type { Query, Runner, Step, Steps } from "../reads/steps.ts";
import type { Row } from "../rows/from-rows.ts";
import { BRANCHES_MAX } from "../storage-bounds.ts";
import { type Connection, rowsOf, runCaughtUp, Trip, writtenBy } from "./connection/connection.ts";
import { onSnapshot, repeatedly } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { type Branch, NOW_US } from "./statements.ts";

// MySQL would report numbers that are up to a day old.
const FRESH_ESTIMATES = "SET SESSION wait_timeout = 8 /*!80000 , information_schema_stats_expiry = 0 */";
const ESTIMATE = `SELECT COALESCE(MAX(TABLE_ROWS), 0) FROM information_schema.TABLES
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = `;

type Rows = readonly (readonly Row[])[];

export function stepsOn(pool: MysqlPool, clock: DatabaseClock | null): Runner {
  const perform = (step: Step) =>
    step.isWrite
      ? repeatedly(pool, (connection) => send(connection, step))
      : pool.use((connection) => send(connection, step));
  return {
    read: (steps) => run(steps, perform),
    write: (steps) => run(steps, perform),
    snapshot: (steps, { msMax, isCaughtUp } = {}) =>
      pool.use(
        (connection) =>
          onSnapshot(connection, () => run(steps(), (step) => send(connection, step)), isCaughtUp),
        msMax,
      ),
    async count(table) {
      const trip = new Trip("estimate");
      trip.add(FRESH_ESTIMATES);
      const at = trip.add(`${ESTIMATE} '${table}'`);
      const results = await pool.use((connection) => connection.run(trip));
      return Number(rowsOf(results[at])[0]?.[0]);
    },
    removedEnded() {},
    clock,
    scanMax: Number.POSITIVE_INFINITY,
    sliceMax: Number.POSITIVE_INFINITY,
  };
}

export async function run<Answer>(
  steps: Steps<Answer>,
  perform: (step: Step) => Promise<Rows>,
): Promise<Answer> {
  let at = steps.next();
  while (!at.done) at = steps.next(await perform(at.value));
  return at.value;
}

export async function send(connection: Connection, step: Step): Promise<Rows> {
  const trip = new Trip(step.name);
  const places = step.lists.map((queries, at) =>
    partsOf(queries, BRANCHES_MAX).map((part) => {
      const [sql, ...values] = statementOf(part);
      return step.isCaughtUp && at === 0
        ? trip.addCaughtUp(connection, sql, ...values)
        : trip.add(sql, ...values);
    }),
  );
  const results = await runCaughtUp(connection, trip);
  if (step.isWrite) return [[[writtenBy(results[0])]]];
  return places.map((parts) => parts.flatMap((at) => rowsOf(results[at])));
}

// MySQL does not turn a comparison of rows into a range of an index.
const COMPARED_ROWS = /\(([\w., ]+)\) ([<>])(=?) \((:[\w:, ]+)\)/g;

function compared(_: string, columns: string, sign: string, orEqual: string, values: string): string {
  const names = values.split(", ");
  const parts = columns.split(", ").map((column, at, all) => {
    const same = all.slice(0, at).map((other, index) => `${other} = ${names[index]} AND `);
    return `${same.join("")}${column} ${sign}${at === all.length - 1 ? orEqual : ""} ${names[at]}`;
  });
  return `(${parts.map((part) => `(${part})`).join(" OR ")})`;
}

/** Texts with question marks, and the names of their values, by the texts in `reads/`, which are constants. */
const known = new Map<string, readonly [text: string, names: readonly string[]]>();

function positional(sql: string): readonly [text: string, names: readonly string[]] {
  const before = known.get(sql);
  if (before) return before;
  const names: string[] = [];
  const text = sql
    .replace(COMPARED_ROWS, compared)
    .replace(/:(now|past)\b/g, NOW_US)
    .replace(/:(\w+)/g, (_, name) => {
      names.push(name);
      return "?";
    });
  known.set(sql, [text, names]);
  return [text, names];
}

function branchOf([sql, values = {}]: Query): Branch {
  const [text, names] = positional(sql);
  const inOrder = names.map((name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`There is no value for ${name}: ${sql}`);
    return value as SqlValue;
  });
  return [text, ...inOrder];
}

export function statementOf(queries: readonly Query[]): Branch {
  const branches = queries.map(branchOf);
  const [first] = branches;
  if (first && branches.length === 1) return first;
  const sql = branches.map(([text]) => `(${text})`).join(" UNION ALL ");
  return [sql, ...branches.flatMap(([, ...values]) => values)];
}
