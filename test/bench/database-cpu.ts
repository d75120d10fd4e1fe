// The processor time of the database servers that this process started, as Linux counts it.

import { readdir, readFile } from "node:fs/promises";

const CLOCK_TICKS_PER_S = 100;

/** User and system time together, in seconds; 0 if no server runs. */
export async function databaseCpuSeconds(): Promise<number> {
  let ticks = 0;
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const [, name = "", rest = ""] = /\((.*)\) (.*)/.exec(stat) ?? [];
    const fields = rest.split(" ");
    const isOwn = Number(fields[1]) === process.pid && /^(mariadbd|mysqld|ld-linux)/.test(name);
    if (isOwn) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / CLOCK_TICKS_PER_S;
}
