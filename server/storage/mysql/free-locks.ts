// Reads locks that are free and due, for captures. Locks nothing and reads along the index of records, so locks that
// are held, waited for, exhausted or not yet due cost nothing. Each group of locks is one range of that index.

import type { DatabaseClock } from "../../core/database-clock.ts";
import { partsOf } from "../../core/parts.ts";
import { monotonicUs } from "../monotonic.ts";
import { askedOf, type FreeRange, freePage } from "../rows/free-page.ts";
import { prefixRange } from "../rows/name-range.ts";
import { type GroupRange, recordGroupReads } from "../rows/record-groups.ts";
import { bytesOf } from "../rows/values.ts";
import { BRANCHES_MAX, NAMES_MAX, PAUSED_PATTERNS_MAX } from "../storage-bounds.ts";
import type { FreeLock, FreePlace, NamedLock, RecordGroup, Store, WantedNames } from "../store.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { Row, Session } from "./connection/session.ts";
import { type SqlValue, Trip } from "./connection/trip.ts";
import { bigintOf, NOW_US, numberOrNull, textOf } from "./rows.ts";
import { rowsOf } from "./transaction/in-transaction.ts";

const INDEX = "rowlock_record r FORCE INDEX (rowlock_record_due)";
const GROUP = `SELECT r.folder, r.status FROM ${INDEX}`;
const IN_FOLDER = `(${GROUP} WHERE r.folder = ? ORDER BY r.status LIMIT ?)`;
const IN_FOLDER_ABOVE = `(${GROUP} WHERE r.folder = ? AND r.status > ? ORDER BY r.status LIMIT ?)`;
const IN_FOLDERS = `(${GROUP} WHERE r.folder >= ? AND r.folder < ? ORDER BY r.folder, r.status LIMIT ?)`;
const IN_FOLDERS_ABOVE = `(${GROUP} WHERE r.folder > ? AND r.folder < ? ORDER BY r.folder, r.status LIMIT ?)`;

// Each row begins with the number of its range, because a union keeps no order.
const AT = "r.folder = ? AND r.status = ? AND r.due_at = ? AND r.name > ? ORDER BY r.name LIMIT ?";
const AFTER = `r.folder = ? AND r.status = ? AND r.due_at > ? AND r.due_at <= ${NOW_US}
  ORDER BY r.due_at, r.name LIMIT ?`;
// The limit comes from the guard row, which is read only for the locks that are returned.
const FREE = `SELECT STRAIGHT_JOIN ?, r.lock_id, r.name, r.due_at, l.limit_value
  FROM ${INDEX} JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = r.lock_id WHERE`;
/** The wanted locks among the first entries of a range. LAST returns the last one of these entries, without an id. */
const FREE_AMONG = (
  entries: string,
  asked: string,
) => `(SELECT STRAIGHT_JOIN ?, r.lock_id, r.name, r.due_at, l.limit_value
  FROM (SELECT r.lock_id, r.name, r.due_at FROM ${INDEX} WHERE ${entries}) r
  JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = r.lock_id WHERE ${asked})`;
const LAST = (entries: string) =>
  `(SELECT ?, NULL, r.name, r.due_at, NULL FROM ${INDEX} WHERE ${entries} OFFSET ?)`;
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

    async freeLocks(groups, after, wanted, entries) {
      const ranges = groups.flatMap((group) => {
        const key = [bytesOf(group.folder), bytesOf(group.status)];
        const asked = askedOf(wanted, group);
        const later: Range = { entries: AFTER, values: [...key, after?.dueAtUs ?? BEFORE_ALL], asked };
        if (!after) return [later];
        return [{ entries: AT, values: [...key, after.dueAtUs, bytesOf(after.name)], asked }, later];
      });
      const branches = ranges.flatMap((range, number) => branchesOf(range, number, entries));
      const rows = await pool.use((session) => union(session, "free_locks", branches));
      return freePage(freeRanges(ranges, rows, entries));
    },

    async nextDueIn(groups) {
      const branches = groups.map(
        ({ folder, status }): Branch => [NEXT_DUE, bytesOf(folder), bytesOf(status)],
      );
      const beforeUs = clock.earliestUs(monotonicUs());
      const rows = await pool.use((session) => union(session, "next_due", branches));
      if (rows.length === 0) return null;
      // The database read its clock no earlier than `beforeUs`. The result counts from the latest time that the clock
      // may show now, so it is never an overestimate.
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
): ReturnType<Store["recordGroups"]> {
  const reads = recordGroupReads(prefix, after, max);
  let read = reads.next();
  while (!read.done) {
    const { ranges, entries } = read.value;
    const trip = new Trip("record_groups");
    for (const range of ranges) trip.add(...groupBranch(range, entries));
    const results = await session.run(trip);
    const found = results.map((result) =>
      rowsOf(result).map((row) => ({ folder: textOf(row[0] ?? null), status: textOf(row[1] ?? null) })),
    );
    read = reads.next(found);
  }
  return read.value;
}

function groupBranch(range: GroupRange, entries: number): Branch {
  if (range.kind === "folders")
    return [range.isAbove ? IN_FOLDERS_ABOVE : IN_FOLDERS, range.from, range.below, entries];
  const folder = bytesOf(range.folder);
  return range.aboveStatus === null
    ? [IN_FOLDER, folder, entries]
    : [IN_FOLDER_ABOVE, folder, bytesOf(range.aboveStatus), entries];
}

/** A range of the index, and the condition on its names; null: none. */
interface Range {
  readonly entries: string;
  readonly values: readonly SqlValue[];
  readonly asked: WantedNames | null;
}

function branchesOf({ entries: sql, values, asked }: Range, number: number, entries: number): Branch[] {
  if (!asked) return [[`(${FREE} ${sql})`, number, ...values, entries]];
  const conditions = conditionsOf(asked);
  return [
    [FREE_AMONG(sql, conditions.sql), number, ...values, entries, ...conditions.values],
    [LAST(sql), number, ...values, 1, entries - 1],
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

function freeRanges(ranges: readonly Range[], rows: readonly Row[], entries: number): FreeRange[] {
  const found = ranges.map(({ asked }) => ({
    asked,
    locks: [] as FreeLock[],
    end: null as FreePlace | null,
  }));
  for (const [number, ...row] of rows) {
    const range = found[Number(number)];
    const lock = freeLock(row);
    if (!range) continue;
    if (row[0] === null) range.end = lock;
    else range.locks.push(lock);
  }
  for (const range of found)
    if (!range.asked && range.locks.length === entries)
      range.end = freePage([{ ...range, end: null }]).locks.at(-1) ?? null;
  return found;
}

/** Returns the rows of all branches, in no order. */
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
    id: id === null ? 0n : bigintOf(id),
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
