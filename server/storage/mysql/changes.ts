// What people have changed: reads for display, notes of changes that no transaction of a lock makes, and cleaning.
// `transaction/write.ts` adds the others.

import { partsOf } from "../../core/bounds.ts";
import { ROLLED_BACK, retry } from "../retry.ts";
import { bigintOf } from "../rows/from-rows.ts";
import { CHANGE_COLUMNS, changeFromRow, changeValuesAfterTime, newestChanges } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import { BRANCHES_MAX } from "../storage-bounds.ts";
import type { ChangePosition, Store } from "../store.ts";
import { query, Trip } from "./connection/connection.ts";
import { rowsOf } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { addEstimate } from "./history.ts";
import { type Branch, NOW_US } from "./statements.ts";

const ADD = `INSERT INTO rowlock_change (${CHANGE_COLUMNS}) VALUES (${NOW_US}, ?)`;
const BY_TIME = "rowlock_change FORCE INDEX (PRIMARY)";
const BY_TARGET = "rowlock_change FORCE INDEX (rowlock_change_target)";
const NEWEST = "ORDER BY changed_at DESC, id DESC LIMIT ?";
const IS_BEFORE = "(changed_at < ? OR (changed_at = ? AND id < ?))";
/** Above all ids of changes. */
const HIGHEST = 2n ** 63n;
const KEYS = `SELECT changed_at, id FROM ${BY_TIME}`;
const REMOVE = `DELETE c FROM rowlock_change c FORCE INDEX (PRIMARY)
  WHERE c.changed_at < ? OR (c.changed_at = ? AND c.id <= ?)`;

const RAISE_CHANGES_FROM = "UPDATE rowlock_meta SET changes_from = GREATEST(changes_from, ?) WHERE id = 1";

export function changes(pool: MysqlPool) {
  return {
    async noteChange(change) {
      const values = changeValuesAfterTime(change);
      await retry(ROLLED_BACK, () =>
        pool.write((connection) => query(connection, "note_change", ADD, values)),
      );
    },

    async changes(targets, before, max) {
      const position = before ? [before.atUs, before.atUs, before.id] : [];
      const ranges =
        targets === null
          ? [inOrder(BY_TIME, [], position, max)]
          : [...new Set(targets)].map((target) => inOrder(BY_TARGET, [bytesOf(target)], position, max));
      const found = [];
      for (const part of partsOf(ranges, BRANCHES_MAX)) {
        const sql = part.map(([text]) => text).join(" UNION ALL ");
        const values = part.flatMap(([, ...own]) => own);
        const rows = await pool.use((connection) => query(connection, "changes", sql, ...values));
        found.push(...rows.map(changeFromRow));
      }
      return newestChanges(found, max);
    },

    async purgeChanges(untilUs, keptMax, max) {
      const surplus = await firstBeyond(pool, keptMax);
      const upTo: ChangePosition =
        surplus && surplus.atUs >= untilUs ? surplus : { atUs: untilUs - 1, id: HIGHEST };
      const sql = `${KEYS} WHERE changed_at < ? OR (changed_at = ? AND id <= ?) ORDER BY changed_at, id LIMIT ?`;
      const values = [upTo.atUs, upTo.atUs, upTo.id, max];
      const keys = await pool.use((connection) => query(connection, "old_changes", sql, ...values));
      const last = keys.at(-1);
      if (!last) return 0;
      const [atUs, id] = last.map(bigintOf) as [bigint, bigint];
      if (atUs >= untilUs)
        await retry(ROLLED_BACK, () =>
          pool.write((connection) => query(connection, "raise_changes_from", RAISE_CHANGES_FROM, atUs + 1n)),
        );
      await retry(ROLLED_BACK, () =>
        pool.write((connection) => query(connection, "purge_changes", REMOVE, atUs, atUs, id)),
      );
      return keys.length;
    },
  } satisfies Partial<Store>;
}

function inOrder(
  table: string,
  target: readonly Buffer[],
  position: readonly SqlValue[],
  max: number,
): Branch {
  const conditions = [
    ...(target.length > 0 ? ["target = ?"] : []),
    ...(position.length > 0 ? [IS_BEFORE] : []),
  ];
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  return [`(SELECT ${CHANGE_COLUMNS} FROM ${table} ${where} ${NEWEST})`, ...target, ...position, max];
}

/** The newest change that has `keptMax` newer ones. Counts them only if there may be that many. */
async function firstBeyond(pool: MysqlPool, keptMax: number): Promise<ChangePosition | null> {
  const trip = new Trip("changes_estimate");
  const rowsAt = addEstimate(trip, "rowlock_change");
  const results = await pool.use((connection) => connection.run(trip));
  if (Number(rowsOf(results[rowsAt])[0]?.[0]) <= keptMax) return null;
  const sql = `${KEYS} ORDER BY changed_at DESC, id DESC LIMIT 1 OFFSET ?`;
  const [row] = await pool.use((connection) => query(connection, "surplus_changes", sql, keptMax));
  return row ? { atUs: Number(row[0]), id: bigintOf(row[1]) } : null;
}
