// Runs the steps of `reads/` on MySQL and MariaDB. A step is one round trip on any connection; on a snapshot, all steps have
// the same one.

import { partsOf } from "../../core/bounds.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import type { Runner, Step, Steps } from "../reads/steps.ts";
import { ROLLED_BACK, retry } from "../retry.ts";
import type { Row } from "../rows/from-rows.ts";
import { BRANCHES_MAX } from "../storage-bounds.ts";
import { addCaughtUp, runCaughtUp } from "./caught-up.ts";
import { type Connection, Trip } from "./connection/connection.ts";
import { onSnapshot, rowsOf, writtenBy } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { statementOf } from "./dialect.ts";

// MySQL would report numbers that are up to a day old.
const FRESH_ESTIMATES = "SET SESSION wait_timeout = 8 /*!80000 , information_schema_stats_expiry = 0 */";
const ESTIMATE = `SELECT COALESCE(MAX(TABLE_ROWS), 0) FROM information_schema.TABLES
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = `;

type Rows = readonly (readonly Row[])[];

export function stepsOn(pool: MysqlPool, clock: DatabaseClock | null): Runner {
  const perform = (step: Step) =>
    step.isWrite
      ? retry(ROLLED_BACK, () => pool.write((connection) => send(connection, step)))
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

/** Runs steps one after the other. */
export async function run<Answer>(
  steps: Steps<Answer>,
  perform: (step: Step) => Promise<Rows>,
): Promise<Answer> {
  let at = steps.next();
  while (!at.done) at = steps.next(await perform(at.value));
  return at.value;
}

/** Sends one step; returns the rows of each of its lists. */
export async function send(connection: Connection, step: Step): Promise<Rows> {
  const trip = new Trip(step.name);
  const places = step.lists.map((queries, at) =>
    partsOf(queries, BRANCHES_MAX).map((part) => {
      const [sql, ...values] = statementOf(part);
      return step.isCaughtUp && at === 0
        ? addCaughtUp(connection, trip, sql, ...values)
        : trip.add(sql, ...values);
    }),
  );
  const results = await (step.isCaughtUp ? runCaughtUp(connection, trip) : connection.run(trip));
  if (step.isWrite) return [[[writtenBy(results[0])]]];
  return places.map((parts) => parts.flatMap((at) => rowsOf(results[at])));
}
