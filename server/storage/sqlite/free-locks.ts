// Reads locks that are free and due, for captures. Reads along the index of records, so locks that are held, waited
// for, exhausted or not yet due cost nothing.

import { askedOf, type FreeRange, freePage, isWanted } from "../rows/free-page.ts";
import { type GroupRange, recordGroupReads } from "../rows/record-groups.ts";
import { bytesOf } from "../rows/values.ts";
import type { FreeLock, RecordGroup } from "../store.ts";
import type { AtOnce, SqliteHandle } from "./handle.ts";
import { numberOrNull, type Row, textOf } from "./rows.ts";

export function freeLocks(
  handle: SqliteHandle,
): AtOnce<"recordGroups" | "freeLocks" | "nextDueIn" | "namedLocks"> {
  const { statements, nowUs } = handle;

  function groupsOf(range: GroupRange, entries: number): RecordGroup[] {
    const rows =
      range.kind === "folders"
        ? statements.all(
            range.isAbove ? "group_in_folders_above" : "group_in_folders",
            range.from,
            range.below,
            entries,
          )
        : range.aboveStatus === null
          ? statements.all("group_in_folder", bytesOf(range.folder), entries)
          : statements.all(
              "group_in_folder_above",
              bytesOf(range.folder),
              bytesOf(range.aboveStatus),
              entries,
            );
    return rows.map((row) => ({ folder: textOf(row.folder), status: textOf(row.status) }));
  }

  return {
    recordGroups(prefix, after, max) {
      const reads = recordGroupReads(prefix, after, max);
      let read = reads.next();
      while (!read.done) {
        const { ranges, entries } = read.value;
        read = reads.next(ranges.map((range) => groupsOf(range, entries)));
      }
      return read.value;
    },

    freeLocks(groups, after, wanted, entries) {
      const readUs = nowUs() - handle.coarseUs;
      const ranges = groups.flatMap((group) => {
        const key = [bytesOf(group.folder), bytesOf(group.status)] as const;
        const asked = askedOf(wanted, group);
        const range = (rows: Row[]): FreeRange => {
          const read = rows.map(freeLock);
          const end = read.length === entries ? (read.at(-1) ?? null) : null;
          return { locks: asked ? read.filter((lock) => isWanted(lock, asked)) : read, end };
        };
        const later = range(statements.all("free_locks", ...key, after?.dueAtUs ?? -1, readUs, entries));
        if (!after) return [later];
        return [
          range(statements.all("free_locks_at", ...key, after.dueAtUs, bytesOf(after.name), entries)),
          later,
        ];
      });
      return freePage(ranges);
    },

    nextDueIn(groups) {
      const readUs = nowUs() - handle.coarseUs;
      const found = groups.flatMap(({ folder, status }) => {
        const row = statements.get("next_due", bytesOf(folder), bytesOf(status), readUs);
        return row ? [Math.max(0, Number(row.due_at) - nowUs())] : [];
      });
      return found.length === 0 ? null : Math.min(...found);
    },

    namedLocks: (names) => ({
      nowUs: nowUs(),
      locks: names.flatMap((name) => {
        const row = statements.get("named_lock", bytesOf(name));
        if (!row) return [];
        const isFree = Number(row.holders) + Number(row.waiting) === 0;
        const dueAtUs = row.has_record ? numberOrNull(row.due_at) : isFree ? 0 : null;
        const status = row.status === null ? "" : textOf(row.status);
        return [{ id: row.id as bigint, name, limit: numberOrNull(row.limit_value), dueAtUs, status }];
      }),
    }),
  };
}

function freeLock(row: Row): FreeLock {
  return {
    id: row.lock_id as bigint,
    name: textOf(row.name),
    dueAtUs: Number(row.due_at),
    limit: numberOrNull(row.limit_value),
  };
}
