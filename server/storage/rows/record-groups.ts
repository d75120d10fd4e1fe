// Where locks under a prefix are found in the index of records: in the folder that the prefix lies in, and in all folders
// that begin with it. Pure, but for the steps that it is given.

import { GROUP_ENTRIES, GROUP_ENTRIES_MAX, GROUP_READS_MAX, GROUP_READS_SMALL } from "../storage-bounds.ts";
import type { RecordGroup } from "../store.ts";
import { prefixRange } from "./name-range.ts";
import { folderOf } from "./values.ts";

/** A range of the index of records, of which the first entries are read. */
export type GroupRange =
  /** Of one folder, above this status (null: all). */
  | { readonly kind: "folder"; readonly folder: string; readonly aboveStatus: string | null }
  /** Of folders from these bytes on (`isAbove`: after them) and below those. */
  | { readonly kind: "folders"; readonly from: Buffer; readonly isAbove: boolean; readonly below: Buffer };

export interface GroupRead {
  /** In the order of the index: one after the other. */
  readonly ranges: readonly GroupRange[];
  /** Entries of each. */
  readonly entries: number;
}

/** Steps from group to group. Yields what to read; to be given the groups of the entries of each range, in order. */
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
      // What has not been read of this range stands before the next one.
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
  // The folder of the prefix stands before all that begin with it, and may be one of them.
  const isBefore = folder === own && own !== prefix;
  const isAbove = !isBefore || own === prefix;
  return [
    { kind: "folder", folder, aboveStatus: status },
    { kind: "folders", from: isBefore ? from : Buffer.from(folder), isAbove, below },
  ];
}
