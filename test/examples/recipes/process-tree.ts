// Kills a process and everything it has started, as when its machine loses power: none of them notices.

import { readdirSync, readFileSync } from "node:fs";

/** Call this with a process that nobody has waited for yet, so that its id has not been reused. */
export function killTree(root: number): void {
  const stopped = new Set<number>();
  // A stopped process starts nothing more, so the search ends.
  for (let found = [root]; found.length > 0; found = childrenOf(stopped).filter((pid) => !stopped.has(pid)))
    for (const pid of found) {
      signal(pid, "SIGSTOP");
      stopped.add(pid);
    }
  for (const pid of stopped) signal(pid, "SIGKILL");
}

function childrenOf(parents: ReadonlySet<number>): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => parents.has(parentOf(pid)));
}

/** NaN if there is no such process. */
function parentOf(pid: number): number {
  if (Number.isNaN(pid)) return Number.NaN;
  try {
    return Number(/\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
  } catch {
    return Number.NaN;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
