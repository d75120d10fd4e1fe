// The processor time of servers that this process started, as Linux counts it.

import { readdir, readFile } from "node:fs/promises";

const CLOCK_TICKS_PER_S = 100;

/** What `/proc` says of a process; null: it has ended. */
interface Process {
  readonly name: string;
  readonly parent: number;
  readonly seconds: number;
}

/** User and system time of these processes together, in seconds. */
export async function cpuSeconds(pids: readonly number[]): Promise<number> {
  const processes = await Promise.all(pids.map(processOf));
  return processes.reduce((sum, process) => sum + (process?.seconds ?? 0), 0);
}

/** User and system time of the database servers together, in seconds; 0 if none runs. */
export async function databaseCpuSeconds(): Promise<number> {
  return cpuSeconds(await databasePids());
}

/** The database servers that this process started. */
export async function databasePids(): Promise<number[]> {
  const pids: number[] = [];
  for (const name of await readdir("/proc")) {
    const process = /^\d+$/.test(name) ? await processOf(Number(name)) : null;
    if (process && isDatabase(process)) pids.push(Number(name));
  }
  return pids;
}

function isDatabase({ name, parent }: Process): boolean {
  return parent === process.pid && /^(mariadbd|mysqld|ld-linux)/.test(name);
}

async function processOf(pid: number): Promise<Process | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const [, name, rest] = /\((.*)\) (.*)/.exec(stat) ?? [];
  if (name === undefined || rest === undefined) return null;
  const fields = rest.split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { name, parent: Number(fields[1]), seconds: ticks / CLOCK_TICKS_PER_S };
}
