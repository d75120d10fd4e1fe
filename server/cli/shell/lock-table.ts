// Many locks for a person, a line for each.

import type { LockView } from "../../../clients/typescript/src/index.ts";
import { columns, type Paint, shown } from "./print.ts";

const HEAD = ["NAME", "LIMIT", "HELD", "WAITING", "HOLDERS"];
const OWNERS_MAX = 3;

export function lockTable(locks: readonly LockView[], paint: Paint): string {
  return columns([HEAD.map((word) => paint("bold", word)), ...locks.map((lock) => cells(lock, paint))]);
}

/** The first of those who hold it. */
export function ownersOf({ holders, holderCount }: LockView): string {
  const owners = holders.slice(0, OWNERS_MAX).map(({ owner }) => shown(owner));
  const more = holderCount - owners.length;
  return [...owners, ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}

function cells(lock: LockView, paint: Paint): string[] {
  const { name, limit, heldPermits, waiting, draining } = lock;
  return [
    shown(name),
    limit.limit === 0 ? paint("red", "0") : `${limit.limit}`,
    draining ? paint("yellow", `${heldPermits}`) : `${heldPermits}`,
    waiting > 0 ? paint("yellow", `${waiting}`) : "0",
    ownersOf(lock),
  ];
}
