// Shell lines as a user pastes them into a folder, and the first program (examples/first) that they run there.

import { spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, type TestContext } from "vitest";
import type { ProcessStage } from "../process/stage.ts";
import { freshSqlite } from "./database.ts";

const FIRST = join(import.meta.dirname, "../../examples/first");
/** Downloads, and a compiler on a machine with other work. */
export const INSTALLING_MS = 600_000;

/** An environment for packages of Python in the folder. */
export const PYTHON_ENVIRONMENT = `python3 -m venv .venv
. .venv/bin/activate
export PIP_DISABLE_PIP_VERSION_CHECK=1
`;

interface Ended {
  readonly code: number | null;
  /** What was printed, on both streams. */
  readonly said: string;
}

/** What npm has told the tests of this repository's .npmrc, and no user has in a shell: a client is packed by its script. */
const OF_THE_REPOSITORY = "npm_config_ignore_scripts";

/** Runs shell lines to their end. */
export async function pasted(
  stage: ProcessStage,
  lines: string,
  cwd: string,
  env: Record<string, string> = {},
): Promise<Ended> {
  const { [OF_THE_REPOSITORY]: _, ...own } = process.env;
  const shell = spawn("sh", ["-e", "-c", lines], {
    cwd,
    env: { ...own, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (chunk) => (said += chunk));
  stage.afterwards(() => endGroup(shell.pid as number));
  const code = await new Promise<number | null>((resolve) => shell.on("close", resolve));
  return { code, said };
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Skips a test on a machine that cannot run this command, unless it is the CI. */
export async function needed(stage: ProcessStage, command: string, context: TestContext): Promise<void> {
  if (process.env.CI) return;
  const { code } = await pasted(stage, command, ".");
  context.skip(code !== 0, `there is no ${command}`);
}

/** Runs lines that install a client and start the first program of its language. It has to take a lock. */
export async function runsFirstProgram(
  stage: ProcessStage,
  files: readonly string[],
  lines: string,
  folder = stage.folder(),
  env: Record<string, string> = {},
): Promise<void> {
  const server = await stage.serving(await stage.database(freshSqlite));
  for (const file of files) cpSync(join(FIRST, file), join(folder, file), { recursive: true });
  const { code, said } = await pasted(stage, lines, folder, { ROWLOCK_ADDR: server.grpcAddress, ...env });
  expect(said).toContain("my turn, with fencing token 1");
  expect(code, said).toBe(0);
}
