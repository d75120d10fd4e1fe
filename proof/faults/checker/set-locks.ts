// Which locks are held together with others, by claims for several locks.

import type { Forced, History } from "../history/history.ts";
import { poolsOver } from "./pool-settings.ts";

/** All locks that claims connect with this one, itself among them: what is held at one may be in the way at all. */
export function connectedWith(history: History): (lock: string) => readonly string[] {
  const groups = new Map<string, string[]>();
  for (const { set } of history.of("acquire")) {
    if (!set) continue;
    const all = new Set(set.flatMap((lock) => groups.get(lock) ?? lock));
    const group = [...all];
    for (const lock of group) groups.set(lock, group);
  }
  return (lock) => groups.get(lock) ?? [lock];
}

/** Whether claims for the lock wait at pools. Those for several locks take all of these first, also those under none. */
export function pooledLocks(history: History): (lock: string) => boolean {
  const bySets = new Set(
    history
      .of("acquire")
      .flatMap(({ set = [] }) => (set.some((lock) => poolsOver(history, lock).length > 0) ? set : [])),
  );
  return (lock) => bySets.has(lock) || poolsOver(history, lock).length > 0;
}

/** Forced releases at any lock of a claim: all of it ends. */
export function forcesOf(
  { lock, set = [lock] }: { readonly lock: string; readonly set?: readonly string[] },
  forces: ReadonlyMap<string, readonly Forced[]>,
): readonly Forced[] {
  return set.flatMap((each) => forces.get(each) ?? []);
}
