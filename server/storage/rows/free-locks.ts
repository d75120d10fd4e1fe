// Finds free locks, for captures: by name, or in all folders under a prefix. There it steps from group to group along
// the index of records, and reads the first entries of each group. Every read is bounded. `reads/free-locks.ts` has the
// reads; this file decides what to read, and puts the locks of all groups into one order.

import * as bounds from "../storage-bounds.ts";
import type { FreeLock, FreePage, FreePosition, FreeSelector, RecordGroup, RecordGroups } from "../store.ts";
import { bytesOf, folderOf, prefixRange } from "./values.ts";

/**
 * A range of the index of records, of which the first entries are read for their groups: one folder, or its statuses
 * above one; the folders from one on, or above it, and below another.
 */
export interface GroupRange {
  readonly kind: "in_folder" | "in_folder_above" | "in_folders" | "in_folders_above";
  readonly bounds: { readonly from: Buffer; readonly above?: Buffer; readonly below?: Buffer };
}

export interface FreeRange {
  readonly group: RecordGroup;
  /** Only locks that became free later. With a name, only locks that became free then, with names after this one. */
  readonly after: { readonly freeSinceUs: number; readonly name: string | null };
  /** Which of the locks are wanted; null: all of them. */
  readonly wanted: WantedNames | null;
}

export type WantedNames = Pick<Extract<FreeSelector, { kind: "prefix" }>, "prefix" | "paused">;

export interface FoundFree {
  /** The wanted locks among the entries that were read. */
  readonly locks: readonly FreeLock[];
  /** The last entry that was read, if there may be more behind it; null: the range was read to its end. */
  readonly end: FreeOrder | null;
}

export interface NamedLock extends Omit<FreeLock, "freeSinceUs"> {
  /** null: the lock has holders or waiters, or no attempts left. */
  readonly freeSinceUs: number | null;
  readonly status: string;
}

/** The reads of a store. All of them may answer at once. */
export interface FreeReads {
  /** Returns, for each range, the groups of its first `entries` entries. */
  groups(ranges: readonly GroupRange[], entries: number): Awaitable<readonly (readonly RecordGroup[])[]>;
  /** Reads the first `entries` entries of each range, at least one. */
  free(ranges: readonly FreeRange[], entries: number): Awaitable<readonly FoundFree[]>;
  /** Returns in how long the next lock of these groups becomes free, never an overestimate; null: none does. */
  nextInUs(groups: readonly RecordGroup[]): Awaitable<number | null>;
  /** Returns the locks with these names that have a guard row. `nowUs` is the latest that the clock may be. */
  named(
    names: readonly string[],
  ): Awaitable<{ readonly nowUs: number; readonly locks: readonly NamedLock[] }>;
}

type Awaitable<Answer> = Answer | Promise<Answer>;

/** The order of free locks: longest free first, then by the bytes of their names. */
type FreeOrder = Pick<FreeLock, "freeSinceUs" | "name">;

const BEFORE_ALL = -1;

export async function findFree(
  reads: FreeReads,
  selector: FreeSelector,
  from: FreePosition,
  atMost: number,
): Promise<FreePage> {
  if (selector.kind === "names") return freeAmong(selector, await reads.named(selector.names), from);
  const found = from.groups ?? (await groupsAfter(reads, selector.prefix, from.behind));
  const at = { ...from, groups: found };
  const groups = found.groups.filter(({ status }) => isWantedStatus(selector, status));
  const ranges = groups.flatMap((group) => rangesOf(group, selector, from.after));
  const entries = Math.min(atMost, Math.ceil(bounds.FREE_ENTRIES_MAX / groups.length));
  const { locks, end } = merged(groups.length > 0 ? await reads.free(ranges, entries) : []);
  if (end) return { locks, at, next: { ...at, after: end }, nextInUs: null };
  if (!found.isLast) {
    const behind = found.groups.at(-1) ?? from.behind;
    return { locks, at, next: { behind, after: null }, nextInUs: null };
  }
  // If there are groups before these, or locks among these, the next lock to become free is not worth a read.
  const isNothing = locks.length === 0 && from.behind === null && groups.length > 0;
  return { locks, at, next: null, nextInUs: isNothing ? await reads.nextInUs(groups) : null };
}

function freeAmong(
  selector: Extract<FreeSelector, { kind: "names" }>,
  { nowUs, locks }: Awaited<ReturnType<FreeReads["named"]>>,
  at: FreePosition,
): FreePage {
  const found = new Map(locks.map((lock) => [lock.name, lock]));
  const free: FreeLock[] = [];
  let nextInUs: number | null = null;
  for (const name of selector.names) {
    const { freeSinceUs, status, ...lock } = found.get(name) ?? { ...UNUSED, name };
    if (freeSinceUs === null || !isWantedStatus(selector, status)) continue;
    const inUs = freeSinceUs - nowUs;
    if (inUs <= 0) free.push({ ...lock, freeSinceUs });
    else nextInUs = Math.min(nextInUs ?? inUs, inUs);
  }
  return { locks: longestFreeFirst(free), at, next: null, nextInUs };
}

const UNUSED: Omit<NamedLock, "name"> = { id: null, freeSinceUs: 0, limit: null, status: "" };

export function isWantedStatus({ statuses }: Pick<FreeSelector, "statuses">, status: string): boolean {
  return statuses.length === 0 || statuses.includes(status);
}

/** Returns the next groups under the prefix, after `behind`, in a bounded number of reads. */
export async function groupsAfter(
  reads: Pick<FreeReads, "groups">,
  prefix: string,
  behind: RecordGroup | null,
): Promise<RecordGroups> {
  const groups: RecordGroup[] = [];
  let last = behind;
  for (let read = 0; read < bounds.GROUP_READS_MAX; read++) {
    const entries = read < bounds.GROUP_READS_SMALL ? bounds.GROUP_ENTRIES : bounds.GROUP_ENTRIES_MAX;
    const found = await reads.groups(groupRangesAfter(prefix, last), entries);
    for (const inRange of found) {
      for (const group of inRange) {
        if (last && last.folder === group.folder && last.status === group.status) continue;
        if (groups.length === bounds.FREE_GROUPS_MAX) return { groups, isLast: false };
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

/**
 * The ranges of the index with groups after `last`, in order: the folder that contains the prefix, and those under it.
 */
function groupRangesAfter(prefix: string, last: RecordGroup | null): GroupRange[] {
  const own = folderOf(prefix);
  const { from, below } = prefixRange(prefix);
  const folder = last?.folder ?? own;
  // The folder that contains the prefix sorts before all folders that begin with the prefix, and may itself begin with
  // it.
  const isBefore = folder === own && own !== prefix;
  return [
    last
      ? { kind: "in_folder_above", bounds: { from: bytesOf(folder), above: bytesOf(last.status) } }
      : { kind: "in_folder", bounds: { from: bytesOf(folder) } },
    isBefore
      ? { kind: "in_folders", bounds: { from, below } }
      : { kind: "in_folders_above", bounds: { from: bytesOf(folder), below } },
  ];
}

function rangesOf(group: RecordGroup, selector: WantedNames, after: FreeOrder | null): FreeRange[] {
  const wanted = wantedIn(group, selector);
  const later = { group, after: { freeSinceUs: after?.freeSinceUs ?? BEFORE_ALL, name: null }, wanted };
  return after ? [{ group, after, wanted }, later] : [later];
}

/** Returns the condition that names of this group must meet; null: all are wanted. */
function wantedIn({ folder }: RecordGroup, { prefix, paused }: WantedNames): WantedNames | null {
  const pausedHere = paused.filter(
    (each) => each.prefix.startsWith(folder) || folder.startsWith(each.prefix),
  );
  return pausedHere.length === 0 && folder.startsWith(prefix) ? null : { prefix, paused: pausedHere };
}

export function isWanted({ name, limit }: FreeLock, { prefix, paused }: WantedNames): boolean {
  if (!name.startsWith(prefix)) return false;
  if (limit !== null) return true;
  return !paused.some(
    (each) => name.startsWith(each.prefix) && !each.except.some((other) => name.startsWith(other)),
  );
}

/**
 * Merges the locks of several ranges into one order, up to the position `end` that was reached in all of them; null:
 * all were read to their ends.
 */
export function merged(ranges: readonly FoundFree[]): FoundFree {
  let end: FreeOrder | null = null;
  for (const range of ranges) if (range.end && (!end || inOrder(range.end, end) < 0)) end = range.end;
  const reached = end;
  const locks = ranges.flatMap((range) => range.locks);
  return {
    locks: longestFreeFirst(reached ? locks.filter((lock) => inOrder(lock, reached) <= 0) : locks),
    end: reached && { freeSinceUs: reached.freeSinceUs, name: reached.name },
  };
}

export function longestFreeFirst<Found extends FreeOrder>(locks: readonly Found[]): Found[] {
  const bytes = new Map(locks.map((lock) => [lock, Buffer.from(lock.name)]));
  return locks.toSorted(
    (a, b) => a.freeSinceUs - b.freeSinceUs || Buffer.compare(bytes.get(a) as Buffer, bytes.get(b) as Buffer),
  );
}

function inOrder(a: FreeOrder, b: FreeOrder): number {
  return a.freeSinceUs - b.freeSinceUs || Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}
