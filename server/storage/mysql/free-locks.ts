// Locks that are free and due, for those who capture them. Takes no locks, and reads along the index of records: what is held,
// waited for, exhausted or not due yet costs nothing. Each group of locks is one range of that index.

import type { DatabaseClock } from "../../core/database-clock.ts";
import { partsOf } from "../../core/parts.ts";
import { monotonicUs } from "../monotonic.ts";
import { longestDueFirst, recordGroupSteps } from "../rows/record-groups.ts";
import { bytesOf } from "../rows/values.ts";
import { BRANCHES_MAX, NAMES_MAX } from "../storage-bounds.ts";
import type { FreeLock, NamedLock, RecordGroup, Store } from "../store.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { Row, Session } from "./connection/session.ts";
import { type SqlValue, Trip } from "./connection/trip.ts";
import { bigintOf, NOW_US, numberOrNull, textOf } from "./rows.ts";
import { rowsOf } from "./transaction/in-transaction.ts";

const INDEX = "rowlock_record r FORCE INDEX (rowlock_record_due)";
const GROUP = `SELECT r.folder, r.status FROM ${INDEX}`;
const IN_FOLDER = `${GROUP} WHERE r.folder = ? ORDER BY r.status LIMIT 1`;
const IN_FOLDER_ABOVE = `${GROUP} WHERE r.folder = ? AND r.status > ? ORDER BY r.status LIMIT 1`;
const IN_FOLDERS = `${GROUP} WHERE r.folder >= ? AND r.folder < ? ORDER BY r.folder, r.status LIMIT 1`;
const IN_FOLDERS_ABOVE = `${GROUP} WHERE r.folder > ? AND r.folder < ? ORDER BY r.folder, r.status LIMIT 1`;

// The limit is of the guard row, which is read for those alone that are answered.
const FREE = `SELECT STRAIGHT_JOIN r.lock_id, r.name, r.due_at, l.limit_value
  FROM ${INDEX} JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = r.lock_id
  WHERE r.folder = ? AND r.status = ?`;
const FREE_AT = `(${FREE} AND r.due_at = ? AND r.name > ? ORDER BY r.name LIMIT ?)`;
const FREE_AFTER = `(${FREE} AND r.due_at > ? AND r.due_at <= ${NOW_US} ORDER BY r.due_at, r.name LIMIT ?)`;
const BEFORE_ALL = -1;
const NEXT_DUE = `(SELECT r.due_at - ${NOW_US} FROM ${INDEX}
  WHERE r.folder = ? AND r.status = ? AND r.due_at > ${NOW_US} ORDER BY r.due_at LIMIT 1)`;

const NAMED = `SELECT l.id, l.name, l.limit_value, l.holders, l.waiting, l.has_record, r.due_at, r.status
  FROM rowlock_lock l FORCE INDEX (rowlock_lock_name) LEFT JOIN rowlock_record r ON r.lock_id = l.id
  WHERE l.name IN (?)`;

type Branch = readonly [sql: string, ...values: SqlValue[]];

export function freeLocks(
  pool: MysqlPool,
  clock: DatabaseClock,
): Pick<Store, "recordGroups" | "freeLocks" | "nextDueIn" | "namedLocks"> {
  return {
    recordGroups: (prefix, after, max) => pool.use((session) => groups(session, prefix, after, max)),

    async freeLocks(groups, after, max) {
      const branches = groups.flatMap(({ folder, status }): Branch[] => {
        const group = [bytesOf(folder), bytesOf(status)];
        const later: Branch = [FREE_AFTER, ...group, after?.dueAtUs ?? BEFORE_ALL, max];
        return after ? [[FREE_AT, ...group, after.dueAtUs, bytesOf(after.name), max], later] : [later];
      });
      const rows = await pool.use((session) => union(session, "free_locks", branches));
      return longestDueFirst(rows.map(freeLock), max);
    },

    async nextDueIn(groups) {
      const branches = groups.map(
        ({ folder, status }): Branch => [NEXT_DUE, bytesOf(folder), bytesOf(status)],
      );
      const beforeUs = clock.earliestUs(monotonicUs());
      const rows = await pool.use((session) => union(session, "next_due", branches));
      if (rows.length === 0) return null;
      // The reading is no earlier than the clock was before it; what is left counts to the latest that it is by now.
      const latestUs = clock.latestUs(monotonicUs());
      const unsureUs = beforeUs === null || latestUs === null ? 0 : latestUs - beforeUs;
      return Math.max(0, Math.min(...rows.map(([inUs]) => Number(inUs))) - unsureUs);
    },

    async namedLocks(names) {
      const trip = new Trip("named_locks");
      const clockAt = trip.add(`SELECT ${NOW_US}`);
      const places = partsOf(names, NAMES_MAX).map((part) => trip.add(NAMED, part.map(bytesOf)));
      const results = await pool.use((session) => session.run(trip));
      const locks = places.flatMap((at) => rowsOf(results[at]).map(namedLock));
      const readUs = Number(rowsOf(results[clockAt])[0]?.[0]);
      return { nowUs: Math.max(readUs, clock.latestUs(monotonicUs()) ?? readUs), locks };
    },
  };
}

async function groups(
  session: Session,
  prefix: string,
  after: RecordGroup | null,
  max: number,
): Promise<RecordGroup[]> {
  const steps = recordGroupSteps<Branch>(prefix, after, max, {
    inFolder: (folder, above) =>
      above === null ? [IN_FOLDER, bytesOf(folder)] : [IN_FOLDER_ABOVE, bytesOf(folder), bytesOf(above)],
    inFolders: (from, isAbove, below) => [isAbove ? IN_FOLDERS_ABOVE : IN_FOLDERS, from, below],
  });
  let step = steps.next();
  while (!step.done) {
    const [row] = await union(session, "record_groups", [step.value]);
    step = steps.next(row && { folder: textOf(row[0] ?? null), status: textOf(row[1] ?? null) });
  }
  return step.value;
}

/** The rows of all branches, in no order. */
async function union(session: Session, name: string, branches: readonly Branch[]): Promise<readonly Row[]> {
  if (branches.length === 0) return [];
  const trip = new Trip(name);
  const places = partsOf(branches, BRANCHES_MAX).map((part) =>
    trip.add(part.map(([sql]) => sql).join(" UNION ALL "), ...part.flatMap(([, ...values]) => values)),
  );
  const results = await session.run(trip);
  return places.flatMap((at) => rowsOf(results[at]));
}

function freeLock([id, name, dueAt, limit]: Row): FreeLock {
  return {
    id: bigintOf(id),
    name: textOf(name ?? null),
    dueAtUs: Number(dueAt),
    limit: numberOrNull(limit),
  };
}

function namedLock([id, name, limit, holders, waiting, hasRecord, dueAt, status]: Row): NamedLock {
  const isFree = Number(holders) + Number(waiting) === 0;
  return {
    id: bigintOf(id),
    name: textOf(name ?? null),
    limit: numberOrNull(limit),
    dueAtUs: hasRecord ? numberOrNull(dueAt) : isFree ? 0 : null,
    status: status ? textOf(status) : "",
  };
}
