// The reads of free locks. They lock nothing and run along the index of records, so locks that are held, waited for,
// exhausted or not yet due cost nothing. Each group of locks is one range of that index.

import { partsOf } from "../../core/bounds.ts";
import { type FreeReads, findFree, isWanted, longestFreeFirst, type NamedLock } from "../rows/free-locks.ts";
import { bigintOf, numberOrNull, type Row, textOf } from "../rows/from-rows.ts";
import { bytesOf } from "../rows/values.ts";
import { NAMES_MAX } from "../storage-bounds.ts";
import type { RecordGroup, Store } from "../store.ts";
import { answers, CLOCK, type Query, type Runner, rowsOf } from "./steps.ts";

export const INDEX = "rowlock_record r FORCE INDEX (rowlock_record_due)";
const GROUP = `SELECT r.folder, r.status FROM ${INDEX} WHERE r.folder`;
const GROUPS = {
  in_folder: `${GROUP} = :from ORDER BY r.status LIMIT :max`,
  in_folder_above: `${GROUP} = :from AND r.status > :above ORDER BY r.status LIMIT :max`,
  in_folders: `${GROUP} >= :from AND r.folder < :below ORDER BY r.folder, r.status LIMIT :max`,
  in_folders_above: `${GROUP} > :from AND r.folder < :below ORDER BY r.folder, r.status LIMIT :max`,
};
const IN_GROUP = "r.folder = :folder AND r.status = :status";
// Each row begins with the number of its range. The limit of a lock is in its guard row.
const FREE = `SELECT :number, r.lock_id, r.name, r.due_at, l.limit_value
  FROM ${INDEX} STRAIGHT_JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = r.lock_id WHERE ${IN_GROUP}`;
const FREE_AT = `${FREE} AND r.due_at = :dueAt AND r.name > :name ORDER BY r.name LIMIT :max`;
const FREE_AFTER = `${FREE} AND r.due_at > :dueAt AND r.due_at <= :past ORDER BY r.due_at, r.name LIMIT :max`;
const NEXT_DUE = `SELECT r.due_at - :now FROM ${INDEX} WHERE ${IN_GROUP} AND r.due_at > :past
  ORDER BY r.due_at LIMIT 1`;
const NAMED = `SELECT l.id, l.name, l.limit_value, l.holders, l.waiting, l.has_record, r.due_at, r.status
  FROM rowlock_lock l FORCE INDEX (rowlock_lock_name) LEFT JOIN rowlock_record r ON r.lock_id = l.id
  WHERE l.name IN (:names)`;

export function freeLocks(on: Runner) {
  const reads = readsOn(on);
  return {
    freeLocks: (selector, from, atMost) => findFree(reads, selector, from, atMost),
  } satisfies Partial<Store>;
}

export function recordGroupsOn(on: Runner): Pick<FreeReads, "groups"> {
  return {
    async groups(ranges, max) {
      const lists = ranges.map(({ kind, bounds }): Query[] => [[GROUPS[kind], { ...bounds, max }]]);
      const found = await on.read(answers({ name: "record_groups", lists }));
      const groupOf = ([folder, status]: Row) => ({ folder: textOf(folder), status: textOf(status) });
      return found.map((rows) => rows.map(groupOf));
    },
  };
}

function readsOn(on: Runner): FreeReads {
  return {
    ...recordGroupsOn(on),

    async free(ranges, max) {
      const queries = ranges.map(({ group, after }, number): Query => {
        const values = { ...valuesOf(group), number, dueAt: after.freeSinceUs, max };
        return after.name === null
          ? [FREE_AFTER, values]
          : [FREE_AT, { ...values, name: bytesOf(after.name) }];
      });
      const rows = await on.read(rowsOf("free_locks", ...queries));
      const byRange = Map.groupBy(rows, ([number]) => Number(number));
      return ranges.map(({ wanted }, number) => {
        const read = (byRange.get(number) ?? []).map(([, id, name, dueAt, limit]) => ({
          id: bigintOf(id),
          name: textOf(name),
          freeSinceUs: Number(dueAt),
          limit: numberOrNull(limit),
        }));
        return {
          locks: wanted ? read.filter((lock) => isWanted(lock, wanted)) : read,
          end: read.length === max ? (longestFreeFirst(read).at(-1) ?? null) : null,
        };
      });
    },

    async nextInUs(groups) {
      const beforeUs = on.clock?.earliestUs(performance.now() * 1_000) ?? null;
      const queries = groups.map((group): Query => [NEXT_DUE, valuesOf(group)]);
      const rows = await on.read(rowsOf("next_due", ...queries));
      if (rows.length === 0) return null;
      // The database read its clock no earlier than `beforeUs`. The result counts from the latest time that the clock
      // may show now, so it is never an overestimate.
      const latestUs = on.clock?.latestUs(performance.now() * 1_000) ?? null;
      const unsureUs = beforeUs === null || latestUs === null ? 0 : latestUs - beforeUs;
      return Math.max(0, Math.min(...rows.map(([inUs]) => Number(inUs))) - unsureUs);
    },

    async named(names) {
      const parts = partsOf(names.map(bytesOf), NAMES_MAX);
      const lists = [[CLOCK], ...parts.map((part): Query[] => [[NAMED, { names: part }]])];
      const [clock, ...found] = await on.read(answers({ name: "named_locks", lists }));
      const readUs = Number(clock?.[0]?.[0]);
      return {
        nowUs: Math.max(readUs, on.clock?.latestUs(performance.now() * 1_000) ?? readUs),
        locks: found.flat().map(namedLockFromRow),
      };
    },
  };
}

function valuesOf({ folder, status }: RecordGroup) {
  return { folder: bytesOf(folder), status: bytesOf(status) };
}

/** A row of NAMED. */
function namedLockFromRow([id, name, limit, holders, waiting, hasRecord, dueAt, status]: Row): NamedLock {
  const isFree = Number(holders) + Number(waiting) === 0;
  return {
    id: bigintOf(id),
    name: textOf(name),
    limit: numberOrNull(limit),
    freeSinceUs: hasRecord ? numberOrNull(dueAt) : isFree ? 0 : null,
    status: status ? textOf(status) : "",
  };
}
