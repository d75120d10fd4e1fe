// Locks that are free and due, for those who capture them. Reads along the index of records: what is held, waited for,
// exhausted or not due yet costs nothing.

import { longestDueFirst, recordGroupSteps } from "../rows/record-groups.ts";
import { bytesOf } from "../rows/values.ts";
import type { FreeLock } from "../store.ts";
import type { AtOnce, SqliteHandle } from "./handle.ts";
import { numberOrNull, type Row, textOf } from "./rows.ts";

export function freeLocks(
  handle: SqliteHandle,
): AtOnce<"recordGroups" | "freeLocks" | "nextDueIn" | "namedLocks"> {
  const { statements, nowUs } = handle;
  return {
    recordGroups(prefix, after, max) {
      const steps = recordGroupSteps<() => Row | undefined>(prefix, after, max, {
        inFolder: (folder, above) => () =>
          above === null
            ? statements.get("group_in_folder", bytesOf(folder))
            : statements.get("group_in_folder_above", bytesOf(folder), bytesOf(above)),
        inFolders: (from, isAbove, below) => () =>
          statements.get(isAbove ? "group_in_folders_above" : "group_in_folders", from, below),
      });
      let step = steps.next();
      while (!step.done) {
        const row = step.value();
        step = steps.next(row && { folder: textOf(row.folder), status: textOf(row.status) });
      }
      return step.value;
    },

    freeLocks(groups, after, max) {
      const readUs = nowUs() - handle.coarseUs;
      const rows = groups.flatMap(({ folder, status }) => {
        const group = [bytesOf(folder), bytesOf(status)] as const;
        if (!after) return statements.all("free_locks", ...group, -1, readUs, max);
        return [
          ...statements.all("free_locks_at", ...group, after.dueAtUs, bytesOf(after.name), max),
          ...statements.all("free_locks", ...group, after.dueAtUs, readUs, max),
        ];
      });
      return longestDueFirst(rows.map(freeLock), max);
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
