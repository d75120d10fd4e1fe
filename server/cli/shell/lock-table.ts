// A table of locks for a person, with a line for each lock.

import type { LockView } from "../../../clients/typescript/src/index.ts";
import { columns, dueWords, type Paint, shown } from "./print.ts";

const OWNERS_MAX = 3;

interface Column {
  readonly title: string;
  readonly cell: (lock: LockView, nowMs: number, paint: Paint) => string;
  /** The column is left out if all of its cells are empty. */
  readonly isRare?: true;
}

const COLUMNS: readonly Column[] = [
  { title: "NAME", cell: ({ name }) => shown(name) },
  {
    title: "LIMIT",
    cell: ({ limit: { limit } }, _, paint) => (limit === 0 ? paint("red", "0") : `${limit}`),
  },
  {
    title: "HELD",
    cell: ({ heldPermits, draining }, _, paint) =>
      draining ? paint("yellow", `${heldPermits}`) : `${heldPermits}`,
  },
  {
    title: "WAITING",
    cell: ({ waiting }, _, paint) => (waiting > 0 ? paint("yellow", `${waiting}`) : "0"),
  },
  { title: "STATUS", cell: ({ record }) => shown(record?.status ?? ""), isRare: true },
  { title: "ATTEMPTS", cell: ({ record }) => `${record?.attemptsLeft ?? ""}`, isRare: true },
  { title: "DUE", cell: ({ record }, nowMs) => (record ? dueWords(record, nowMs) : ""), isRare: true },
  { title: "HOLDERS", cell: (lock) => ownersOf(lock) },
];

export function lockTable(locks: readonly LockView[], nowMs: number, paint: Paint): string {
  const filled = COLUMNS.flatMap(({ title, cell, isRare }) => {
    const cells = locks.map((lock) => cell(lock, nowMs, paint));
    return isRare && cells.every((each) => each === "") ? [] : [[paint("bold", title), ...cells]];
  });
  const rows = Array.from({ length: locks.length + 1 }, (_, at) =>
    filled.map((cells) => cells[at] as string),
  );
  return columns(rows);
}

/** The owners of the first leases, and how many more there are. */
export function ownersOf({ holders, holderCount }: LockView): string {
  const owners = holders.slice(0, OWNERS_MAX).map(({ owner }) => shown(owner));
  const more = holderCount - owners.length;
  return [...owners, ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}
