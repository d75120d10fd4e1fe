// Finds the groups of locks under a prefix in the index of records: in the folder that contains the prefix, and in all
// folders that begin with it. A pure generator: the caller runs the reads.

import { GROUP_ENTRIES, GROUP_ENTRIES_MAX, GROUP_READS_MAX, GROUP_READS_SMALL } from "../storage-bounds.ts";
import type { RecordGroup } from "../store.ts";
import { prefixRange } from "./name-range.ts";
import { folderOf } from "./values.ts";

/** A range of the index of records, whose first entries are read. */
export type GroupRange =
  /** One folder, with statuses above this one (null: all). */
  | { readonly kind: "folder"; readonly folder: string; readonly aboveStatus: string | null }
  /** Folders from `from` (`isAbove`: after it) and below `below`. */
  | { readonly kind: "folders"; readonly from: Buffer; readonly isAbove: boolean; readonly below: Buffer };

export interface GroupRead {
  /** In the order of the index, one after the other. */
  readonly ranges: readonly GroupRange[];
  /** The number of entries to read from each range. */
  readonly entries: number;
}

/**
 * Steps from group to group. Yields what to read; receives, for each range in order, the groups of the entries read.
 * `isLast`: there are no further groups.
 */
export function* recordGroupReads(
  prefix: string,
  after: RecordGroup | null,
  max: number,
): Generator<GroupRead, { groups: RecordGroup[]; isLast: boolean }, readonly (readonly RecordGroup[])[]> {
  const groups: RecordGroup[] = [];
  let last = after;
  for (let reads = 0; reads < GROUP_READS_MAX; reads++) {
    const entries = reads < GROUP_READS_SMALL ? GROUP_ENTRIES : GROUP_ENTRIES_MAX;
    const found = yield { ranges: rangesAfter(prefix, last), entries };
    for (const inRange of found) {
      for (const group of inRange) {
        if (last && last.folder === group.folder && last.status === group.status) continue;
        if (groups.length === max) return { groups, isLast: false };
        groups.push(group);
        last = group;
      }
      // The rest of this range comes before the next range.
      if (inRange.length === entries) break;
    }
    if (found.every((inRange) => inRange.length < entries)) return { groups, isLast: true };
  }
  return { groups, isLast: false };
}

function rangesAfter(prefix: string, last: RecordGroup | null): GroupRange[] {
  const own = folderOf(prefix);
  const { from, below } = prefixRange(prefix);
  const { folder = own, status = null } = last ?? {};
  // The folder that contains the prefix sorts before all folders that begin with the prefix, and may itself begin with
  // it.
  const isBefore = folder === own && own !== prefix;
  const isAbove = !isBefore || own === prefix;
  return [
    { kind: "folder", folder, aboveStatus: status },
    { kind: "folders", from: isBefore ? from : Buffer.from(folder), isAbove, below },
  ];
}
