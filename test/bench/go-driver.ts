// Builds the callers, which are in Go (driver/), and runs them. A client in Node would cost as much as the server and
// so measure itself.

import { execFile, spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const module = join(import.meta.dirname, "driver");
/** Run outside npm, the tools of node_modules are still the ones to use. */
const environment = {
  ...process.env,
  PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH}`,
};
const run = promisify(execFile);

export const isGoHere = () => spawnSync("go", ["version"], { stdio: "ignore" }).status === 0;

/** Generates the stubs and compiles; the first time takes a minute, as all libraries are compiled, too. */
export async function buildDriver(binary: string): Promise<void> {
  const options = { cwd: root, env: environment };
  await run("buf", ["generate", "--template", "test/bench/driver/buf.gen.yaml"], options);
  await run("go", ["build", "-o", binary, "."], { ...options, cwd: module });
}

/** Which system the callers talk to, in the words of the driver, and where it is. */
export interface Target {
  readonly system: string;
  readonly address: string;
}

/** What they do there. */
export interface Task {
  readonly work: "distinct" | "hot" | "semaphore" | "waits" | "crowd" | "hand-over" | "died";
  readonly callers: number;
  /** Sessions, for a target that is a session. */
  readonly connections: number;
  /** Of a semaphore. */
  readonly limit?: number;
}

export interface Figures {
  /** Of what part of the work, where it has several. */
  readonly part?: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Runs the callers in a process of their own, so that they cost the server nothing but the machine. */
export async function drive(
  binary: string,
  target: Target,
  task: Task,
  warmUpS: number,
  seconds: number,
): Promise<Figures[]> {
  const flags = { ...target, ...task, "warm-up": `${warmUpS}s`, measured: `${seconds}s` };
  const args = Object.entries(flags).map(([name, value]) => `-${name}=${value}`);
  try {
    const { stdout } = await run(binary, args);
    return stdout.split("\n").flatMap((line) => (line ? [JSON.parse(line) as Figures] : []));
  } catch (error) {
    throw new Error((error as { stderr?: string }).stderr?.trim() || String(error), { cause: error });
  }
}
