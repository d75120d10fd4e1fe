// An index of records in memory, with the reads that a store supplies to find free locks. Counts what is read.

import {
  type FreeRange,
  type FreeReads,
  type GroupRange,
  isWanted,
  longestFreeFirst,
  type NamedLock,
} from "../../server/storage/rows/free-locks.ts";
import { folderOf } from "../../server/storage/rows/values.ts";
import type { FreeLock, RecordGroup } from "../../server/storage/store.ts";

type Entry = { -readonly [Field in keyof NamedLock]: NamedLock[Field] } & {
  readonly folder: string;
  readonly folderBytes: Buffer;
};

export class FreeIndex implements FreeReads {
  readonly locks: Entry[] = [];
  nowUs = 1_000_000_000;
  /** Groups of which free locks were read, one array for each read. */
  readonly read: (readonly RecordGroup[])[] = [];
  entriesRead = 0;
  groupReads = 0;
  groupEntriesRead = 0;
  #inOrder: readonly Entry[] = [];

  /** Adds a lock. `freeSinceUs`: null if it is not free. */
  add(name: string, freeSinceUs: number | null = this.locks.length, status = "new"): void {
    const id = BigInt(this.locks.length + 1);
    const folder = folderOf(name);
    const folderBytes = Buffer.from(folder);
    this.locks.push({ id, name, freeSinceUs, status, limit: null, folder, folderBytes });
  }

  groups(ranges: readonly GroupRange[], entries: number): RecordGroup[][] {
    this.groupReads += 1;
    return ranges.map((range) => {
      const found = this.#entries().filter((entry) => isIn(entry, range));
      this.groupEntriesRead += Math.min(found.length, entries);
      return found.slice(0, entries).map(({ folder, status }) => ({ folder, status }));
    });
  }

  free(ranges: readonly FreeRange[], entries: number) {
    this.read.push([...new Set(ranges.map(({ group }) => group))]);
    return ranges.map(({ group, after, wanted }) => {
      const found = this.#entries().filter(
        (lock): lock is Entry & FreeLock =>
          lock.folder === group.folder &&
          lock.status === group.status &&
          lock.freeSinceUs !== null &&
          lock.freeSinceUs <= this.nowUs &&
          (after.name === null
            ? lock.freeSinceUs > after.freeSinceUs
            : lock.freeSinceUs === after.freeSinceUs && lock.name > after.name),
      );
      // To order only what is read saves seconds over tens of thousands of locks.
      const times = found.map(({ freeSinceUs }) => freeSinceUs).sort((a, b) => a - b);
      const lastUs = times[entries - 1] ?? Number.POSITIVE_INFINITY;
      const first = found.filter(({ freeSinceUs }) => freeSinceUs <= lastUs);
      const locks = longestFreeFirst(first).slice(0, entries);
      this.entriesRead += locks.length;
      return {
        locks: locks.filter((lock) => !wanted || isWanted(lock, wanted)),
        end: locks.length === entries ? (locks.at(-1) ?? null) : null,
      };
    });
  }

  nextInUs(groups: readonly RecordGroup[]): number | null {
    const later = this.locks
      .filter(({ folder, status }) =>
        groups.some((group) => group.folder === folder && group.status === status),
      )
      .flatMap(({ freeSinceUs }) => (freeSinceUs === null ? [] : [freeSinceUs - this.nowUs]))
      .filter((inUs) => inUs > 0);
    return later.length === 0 ? null : Math.min(...later);
  }

  named(names: readonly string[]) {
    return { nowUs: this.nowUs, locks: this.locks.filter(({ name }) => names.includes(name)) };
  }

  #entries(): readonly Entry[] {
    if (this.#inOrder.length !== this.locks.length)
      this.#inOrder = this.locks.toSorted(
        (a, b) => compare(a.folder, b.folder) || compare(a.status, b.status) || compare(a.name, b.name),
      );
    return this.#inOrder;
  }
}

function isIn({ folderBytes, status }: Entry, { kind, bounds }: GroupRange): boolean {
  const { from, above = from, below = from } = bounds;
  const fromFirst = Buffer.compare(folderBytes, from);
  const isBelow = Buffer.compare(folderBytes, below) < 0;
  switch (kind) {
    case "in_folder":
      return fromFirst === 0;
    case "in_folder_above":
      return fromFirst === 0 && Buffer.compare(Buffer.from(status), above) > 0;
    case "in_folders":
      return fromFirst >= 0 && isBelow;
    case "in_folders_above":
      return fromFirst > 0 && isBelow;
  }
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
