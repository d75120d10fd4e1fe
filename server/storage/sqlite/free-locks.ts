// The reads of free locks on SQLite. They run along the index of records, so locks that are held, waited for, exhausted
// or not yet due cost nothing.

import {
  type FreeReads,
  findFree,
  freeLockFromRow,
  groupFromRow,
  isWanted,
  namedLockFromRow,
} from "../rows/free-locks.ts";
import { bytesOf } from "../rows/values.ts";
import type { Store } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";

export function freeLocks(handle: SqliteHandle): Pick<Store, "freeLocks"> {
  const reads = readsOn(handle);
  return {
    freeLocks: (selector, from, atMost) => findFree(reads, selector, from, atMost),
  };
}

function readsOn(handle: SqliteHandle): FreeReads {
  const { statements, nowUs } = handle;
  return {
    groups: (ranges, entries) =>
      ranges.map(({ kind, values }) => statements.all(`group_${kind}`, ...values, entries).map(groupFromRow)),

    free(ranges, entries) {
      const readUs = nowUs() - handle.coarseUs;
      return ranges.map(({ group, after, wanted }) => {
        const key = [bytesOf(group.folder), bytesOf(group.status), after.freeSinceUs] as const;
        const rows =
          after.name === null
            ? statements.all("free_locks", ...key, readUs, entries)
            : statements.all("free_locks_at", ...key, bytesOf(after.name), entries);
        const read = rows.map(freeLockFromRow);
        return {
          locks: wanted ? read.filter((lock) => isWanted(lock, wanted)) : read,
          end: read.length === entries ? (read.at(-1) ?? null) : null,
        };
      });
    },

    nextInUs(groups) {
      const readUs = nowUs() - handle.coarseUs;
      const found = groups.flatMap(({ folder, status }) => {
        const row = statements.get("next_due", bytesOf(folder), bytesOf(status), readUs);
        return row ? [Math.max(0, Number(row[0]) - nowUs())] : [];
      });
      return found.length === 0 ? null : Math.min(...found);
    },

    named: (names) => ({
      nowUs: nowUs(),
      locks: names
        .map((name) => statements.get("named_lock", bytesOf(name)))
        .filter((row) => row !== undefined)
        .map(namedLockFromRow),
    }),
  };
}
