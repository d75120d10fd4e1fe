// A process with all that it has started, to be ended as when its machine loses power: none of them notices.

import { readdirSync, readFileSync } from "node:fs";

/** To be told of a process that has not been waited for yet, so that its id is its own. */
export function killTree(root: number): void {
  const stopped = new Set<number>();
  // Who is stopped starts nothing more, so that at some time nobody new is found.
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

/** NaN where there is no such process. */
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
