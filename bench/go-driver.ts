// Builds and runs the callers, which are in Go (driver/). A client in Node would cost as much as the server, and so
// measure itself.

import { execFile, spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "..");
const module = join(import.meta.dirname, "driver");
/** Outside npm, the tools of node_modules still come first. */
const environment = {
  ...process.env,
  PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH}`,
};
const run = promisify(execFile);

export const isGoHere = () => spawnSync("go", ["version"], { stdio: "ignore" }).status === 0;

/** Generates the stubs and compiles. The first time takes a minute, because all libraries are compiled too. */
export async function buildDriver(binary: string): Promise<void> {
  const options = { cwd: root, env: environment };
  await run("buf", ["generate", "--template", "bench/driver/buf.gen.yaml"], options);
  await run("go", ["build", "-o", binary, "."], { ...options, cwd: module });
}

/** The system that the callers use, by the driver's name, and its address. */
export interface Target {
  readonly system: string;
  readonly address: string;
}

/** What the callers do there. */
export interface Task {
  readonly work: "distinct" | "hot" | "semaphore" | "waits" | "crowd" | "hand-over" | "died";
  readonly callers: number;
  /** The number of sessions, if the target is a session. */
  readonly connections: number;
  /** For a semaphore only. */
  readonly limit?: number;
  /** How many locks each claim is for; unset: one. */
  readonly "claim-locks"?: number;
}

export interface Figures {
  /** The part of the work, if it has several. */
  readonly part?: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs the callers in a separate process, so that they cost the server nothing but the machine. */
export async function drive<Result = Figures, Asked = Task>(
  binary: string,
  target: Target,
  task: Asked,
  warmUpS: number,
  seconds: number,
): Promise<Result[]> {
  const flags = { ...target, ...task, "warm-up": `${warmUpS}s`, measured: `${seconds}s` };
  const args = Object.entries(flags).map(([name, value]) => `-${name}=${value}`);
  try {
    const { stdout } = await run(binary, args);
    return stdout.split("\n").flatMap((line) => (line ? [JSON.parse(line) as Result] : []));
  } catch (error) {
    throw new Error((error as { stderr?: string }).stderr?.trim() || String(error), { cause: error });
  }
}
