// The reads of free locks on MySQL. They lock nothing and run along the index of records, so locks that are held, waited
// for, exhausted or not yet due cost nothing. Each group of locks is one range of that index.

import { partsOf } from "../../core/bounds.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import { NAMED_LOCK_LIST } from "../rows/columns.ts";
import {
  type FoundFree,
  type FreeRange,
  type FreeReads,
  findFree,
  freeLockFromRow,
  groupFromRow,
  longestFreeFirst,
  namedLockFromRow,
  type WantedNames,
} from "../rows/free-locks.ts";
import { bytesOf, prefixRange } from "../rows/values.ts";
import { BRANCHES_MAX, NAMES_MAX, PAUSED_PATTERNS_MAX } from "../storage-bounds.ts";
import type { FreeLock, Store } from "../store.ts";
import { type Connection, type Row, Trip } from "./connection/connection.ts";
import { rowsOf } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { monotonicUs, NOW_US } from "./statements.ts";

const INDEX = "rowlock_record r FORCE INDEX (rowlock_record_due)";
const GROUP = `SELECT r.folder, r.status FROM ${INDEX}`;
const GROUPS = {
  in_folder: `(${GROUP} WHERE r.folder = ? ORDER BY r.status LIMIT ?)`,
  in_folder_above: `(${GROUP} WHERE r.folder = ? AND r.status > ? ORDER BY r.status LIMIT ?)`,
  in_folders: `(${GROUP} WHERE r.folder >= ? AND r.folder < ? ORDER BY r.folder, r.status LIMIT ?)`,
  in_folders_above: `(${GROUP} WHERE r.folder > ? AND r.folder < ? ORDER BY r.folder, r.status LIMIT ?)`,
};

// Each row begins with the number of its range, because a union keeps no order.
const AT = "r.folder = ? AND r.status = ? AND r.due_at = ? AND r.name > ? ORDER BY r.name LIMIT ?";
const AFTER = `r.folder = ? AND r.status = ? AND r.due_at > ? AND r.due_at <= ${NOW_US}
  ORDER BY r.due_at, r.name LIMIT ?`;
// The limit comes from the guard row, which is read only for the locks that are returned.
const FREE = "SELECT STRAIGHT_JOIN ?, r.lock_id, r.name, r.due_at, l.limit_value FROM";
const GUARD = "JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = r.lock_id WHERE";
const LAST = "SELECT ?, NULL, r.name, r.due_at, NULL FROM";
const NEXT_DUE = `(SELECT r.due_at - ${NOW_US} FROM ${INDEX}
  WHERE r.folder = ? AND r.status = ? AND r.due_at > ${NOW_US} ORDER BY r.due_at LIMIT 1)`;

const NAMED = `SELECT ${NAMED_LOCK_LIST}
  FROM rowlock_lock l FORCE INDEX (rowlock_lock_name) LEFT JOIN rowlock_record r ON r.lock_id = l.id
  WHERE l.name IN (?)`;

type Branch = readonly [sql: string, ...values: SqlValue[]];

export function freeLocks(pool: MysqlPool, clock: DatabaseClock): Pick<Store, "freeLocks"> {
  return {
    freeLocks: (selector, from, atMost) =>
      pool.use((connection) => findFree(readsOn(connection, clock), selector, from, atMost)),
  };
}

function readsOn(connection: Connection, clock: DatabaseClock): FreeReads {
  return {
    async groups(ranges, entries) {
      const trip = new Trip("record_groups");
      for (const { kind, values } of ranges) trip.add(GROUPS[kind], ...values, entries);
      const results = await connection.run(trip);
      return results.map((result) => rowsOf(result).map(groupFromRow));
    },

    async free(ranges, entries) {
      const branches = ranges.flatMap((range, number) => branchesOf(range, number, entries));
      return foundIn(ranges, await union(connection, "free_locks", branches), entries);
    },

    async nextInUs(groups) {
      const branches = groups.map(
        ({ folder, status }): Branch => [NEXT_DUE, bytesOf(folder), bytesOf(status)],
      );
      const beforeUs = clock.earliestUs(monotonicUs());
      const rows = await union(connection, "next_due", branches);
      if (rows.length === 0) return null;
      // The database read its clock no earlier than `beforeUs`. The result counts from the latest time that the clock
      // may show now, so it is never an overestimate.
      const latestUs = clock.latestUs(monotonicUs());
      const unsureUs = beforeUs === null || latestUs === null ? 0 : latestUs - beforeUs;
      return Math.max(0, Math.min(...rows.map(([inUs]) => Number(inUs))) - unsureUs);
    },

    async named(names) {
      const trip = new Trip("named_locks");
      const clockAt = trip.add(`SELECT ${NOW_US}`);
      const namedAt = partsOf(names, NAMES_MAX).map((part) => trip.add(NAMED, part.map(bytesOf)));
      const results = await connection.run(trip);
      const locks = namedAt.flatMap((at) => rowsOf(results[at]).map(namedLockFromRow));
      const readUs = Number(rowsOf(results[clockAt])[0]?.[0]);
      return { nowUs: Math.max(readUs, clock.latestUs(monotonicUs()) ?? readUs), locks };
    },
  };
}

/**
 * Reads a range. If not all of its names are wanted, a subquery reads the entries, and a second branch returns the last
 * one of them, without an id.
 */
function branchesOf({ group, after, wanted }: FreeRange, number: number, entries: number): Branch[] {
  const where = after.name === null ? AFTER : AT;
  const key = [bytesOf(group.folder), bytesOf(group.status), after.freeSinceUs];
  const values = after.name === null ? key : [...key, bytesOf(after.name)];
  if (!wanted) return [[`(${FREE} ${INDEX} ${GUARD} ${where})`, number, ...values, entries]];
  const conditions = conditionsOf(wanted);
  const read = `(SELECT r.lock_id, r.name, r.due_at FROM ${INDEX} WHERE ${where}) r`;
  return [
    [`(${FREE} ${read} ${GUARD} ${conditions.sql})`, number, ...values, entries, ...conditions.values],
    [`(${LAST} ${INDEX} WHERE ${where} OFFSET ?)`, number, ...values, 1, entries - 1],
  ];
}

function conditionsOf({ prefix, paused }: WantedNames): { sql: string; values: SqlValue[] } {
  const IN_RANGE = "(r.name >= ? AND r.name < ?)";
  const bounds = (of: string): SqlValue[] => {
    const { from, below } = prefixRange(of);
    return [from, below];
  };
  const patterns = paused.slice(0, PAUSED_PATTERNS_MAX);
  const pausedSql = patterns.map(({ except }) =>
    [IN_RANGE, ...except.map(() => `NOT ${IN_RANGE}`)].join(" AND "),
  );
  const sql = [IN_RANGE, ...pausedSql.map((each) => `(l.limit_value IS NOT NULL OR NOT (${each}))`)];
  const values = patterns.flatMap((each) => [...bounds(each.prefix), ...each.except.flatMap(bounds)]);
  return { sql: sql.join(" AND "), values: [...bounds(prefix), ...values] };
}

function foundIn(ranges: readonly FreeRange[], rows: readonly Row[], entries: number): FoundFree[] {
  const found = ranges.map(() => ({ locks: [] as FreeLock[], end: null as FreeLock | null }));
  for (const [number, ...row] of rows) {
    const range = found[Number(number)];
    if (row[0] === null && range) range.end = freeLockFromRow(row);
    else range?.locks.push(freeLockFromRow(row));
  }
  // If all names of a range are wanted, the last lock is the last entry that was read.
  return found.map(({ locks, end }, number) => {
    const isFull = !ranges[number]?.wanted && locks.length === entries;
    return { locks, end: isFull ? (longestFreeFirst(locks).at(-1) ?? null) : end };
  });
}

/** Returns the rows of all branches, in no order. */
async function union(
  connection: Connection,
  name: string,
  branches: readonly Branch[],
): Promise<readonly Row[]> {
  const trip = new Trip(name);
  const unionsAt = partsOf(branches, BRANCHES_MAX).map((part) =>
    trip.add(part.map(([sql]) => sql).join(" UNION ALL "), ...part.flatMap(([, ...values]) => values)),
  );
  const results = await connection.run(trip);
  return unionsAt.flatMap((at) => rowsOf(results[at]));
}
