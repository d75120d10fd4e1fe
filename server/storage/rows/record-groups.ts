// Where locks under a prefix are found in the index of records: in the folder that the prefix lies in, and in all folders
// that begin with it. Pure, but for the steps that it is given.

import type { FreeLock, RecordGroup } from "../store.ts";
import { prefixRange } from "./name-range.ts";
import { folderOf } from "./values.ts";

/** Answers the first group of the folder with a higher status than this (null: the lowest), and the first one of folders. */
export interface GroupSteps<Answer> {
  inFolder(folder: string, aboveStatus: string | null): Answer;
  /** From these bytes on (`isAbove`: after them) and below those. */
  inFolders(from: Buffer, isAbove: boolean, below: Buffer): Answer;
}

type Found = RecordGroup | undefined;

/** Steps from group to group. Yields what it wants to know; to be given the answers. */
export function* recordGroupSteps<Asked>(
  prefix: string,
  after: RecordGroup | null,
  max: number,
  steps: GroupSteps<Asked>,
): Generator<Asked, RecordGroup[], Found> {
  const own = folderOf(prefix);
  const { from, below } = prefixRange(prefix);
  const groups: RecordGroup[] = [];
  let last = after;
  while (groups.length < max) {
    let next: Found = yield steps.inFolder(last?.folder ?? own, last?.status ?? null);
    // The folder of the prefix stands before all that begin with it, and may be one of them.
    const isBefore = !last || (last.folder === own && own !== prefix);
    if (!next && last && !isBefore) next = yield steps.inFolders(Buffer.from(last.folder), true, below);
    else if (!next) next = yield steps.inFolders(from, own === prefix, below);
    if (!next) break;
    groups.push(next);
    last = next;
  }
  return groups;
}

/** The first `max` of them, those longest due first, then by the bytes of their names. */
export function longestDueFirst(locks: readonly FreeLock[], max: number): FreeLock[] {
  return locks
    .toSorted((a, b) => a.dueAtUs - b.dueAtUs || Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
    .slice(0, max);
}
