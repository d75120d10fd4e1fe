// The reads of free locks on SQLite. They run along the index of records, so locks that are held, waited for, exhausted
// or not yet due cost nothing.

import { type FreeReads, findFree, type GroupRange, isWanted } from "../rows/free-locks.ts";
import { bytesOf } from "../rows/values.ts";
import type { FreeLock, Store } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";
import { numberOrNull, type Row, textOf } from "./rows.ts";

export function freeLocks(handle: SqliteHandle): Pick<Store, "freeLocks"> {
  const reads = readsOn(handle);
  return {
    freeLocks: (selector, from, atMost) => findFree(reads, selector, from, atMost),
  };
}

function readsOn(handle: SqliteHandle): FreeReads {
  const { statements, nowUs } = handle;

  const groupRows = (range: GroupRange, entries: number): Row[] => {
    if (range.kind === "folders") {
      const name = range.isAbove ? "group_in_folders_above" : "group_in_folders";
      return statements.all(name, range.from, range.below, entries);
    }
    const folder = bytesOf(range.folder);
    return range.aboveStatus === null
      ? statements.all("group_in_folder", folder, entries)
      : statements.all("group_in_folder_above", folder, bytesOf(range.aboveStatus), entries);
  };

  return {
    groups: (ranges, entries) =>
      handle.guard(() =>
        ranges.map((range) =>
          groupRows(range, entries).map((row) => ({
            folder: textOf(row.folder),
            status: textOf(row.status),
          })),
        ),
      ),

    free: (ranges, entries) =>
      handle.guard(() => {
        const readUs = nowUs() - handle.coarseUs;
        return ranges.map(({ group, after, wanted }) => {
          const key = [bytesOf(group.folder), bytesOf(group.status), after.freeSinceUs] as const;
          const rows =
            after.name === null
              ? statements.all("free_locks", ...key, readUs, entries)
              : statements.all("free_locks_at", ...key, bytesOf(after.name), entries);
          const read = rows.map(freeLock);
          return {
            locks: wanted ? read.filter((lock) => isWanted(lock, wanted)) : read,
            end: read.length === entries ? (read.at(-1) ?? null) : null,
          };
        });
      }),

    nextInUs: (groups) =>
      handle.guard(() => {
        const readUs = nowUs() - handle.coarseUs;
        const found = groups.flatMap(({ folder, status }) => {
          const row = statements.get("next_due", bytesOf(folder), bytesOf(status), readUs);
          return row ? [Math.max(0, Number(row.due_at) - nowUs())] : [];
        });
        return found.length === 0 ? null : Math.min(...found);
      }),

    named: (names) =>
      handle.guard(() => ({
        nowUs: nowUs(),
        locks: names.flatMap((name) => {
          const row = statements.get("named_lock", bytesOf(name));
          if (!row) return [];
          const isFree = Number(row.holders) + Number(row.waiting) === 0;
          const freeSinceUs = row.has_record ? numberOrNull(row.due_at) : isFree ? 0 : null;
          const status = row.status === null ? "" : textOf(row.status);
          return [{ id: row.id as bigint, name, limit: numberOrNull(row.limit_value), freeSinceUs, status }];
        }),
      })),
  };
}

function freeLock(row: Row): FreeLock {
  return {
    id: row.lock_id as bigint,
    name: textOf(row.name),
    freeSinceUs: Number(row.due_at),
    limit: numberOrNull(row.limit_value),
  };
}
