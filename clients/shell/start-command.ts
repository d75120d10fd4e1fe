// Starts the command of `rowlock run` as its caller would have: signals that were ignored stay ignored, and variables keep
// their names and bytes. Knows nothing of locks.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { constants as system } from "node:os";
import { delimiter, join } from "node:path";
import type { CliContext } from "./context.ts";

const SHELL = "/bin/sh";
/** Where the system looks for programs if there is no PATH. */
const DEFAULT_PATH = "/bin:/usr/bin";
/** The variables that sh passes on. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Starts it in a session, and so a process group, of its own. The group gets no signal of a terminal, only those that are
 * sent to it. If it cannot be started, returns the code of the reason, such as EACCES, or emits it as `error`.
 */
export function startCommand(
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  { ignoredSignals, bytesOfVariables }: Pick<CliContext, "ignoredSignals" | "bytesOfVariables">,
): ChildProcess | string {
  // Node would find a fault in how it was called.
  if (program === "") return "ENOENT";
  const options = { stdio: "inherit", detached: true, env } as const;
  const started = (first: string, ...rest: readonly string[]) => {
    try {
      return spawn(first, rest, options);
    } catch (error) {
      // Node throws some reasons, such as E2BIG.
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };
  const ignored = ignoredSignals.filter((name) => name in system.signals);
  if (ignored.length === 0 && bytesOfVariables.size === 0) return started(program, ...args);
  // Node starts processes with no signal ignored, and with text as variables; sh can do both. It would report by an exit
  // code that it found no such command, and a command has exit codes of its own.
  const fault = startFault(program, env.PATH ?? DEFAULT_PATH);
  if (fault) return fault;
  // Some shells drop variables whose names they could not write, such as exported functions of bash.
  const hasOdd = Object.keys(env).some((name) => !VARIABLE.test(name));
  const ignoring = `--ignore-signal=${ignored.join(",")}`;
  if (hasOdd && bytesOfVariables.size === 0 && !program.includes("=") && canRun("env", [ignoring, "true"]))
    return started("env", ignoring, "--", program, ...args);
  const lines = [...bytesOfVariables].map(([name, bytes]) => assignment(name, bytes));
  const numbers = ignored.map((name) => system.signals[name as NodeJS.Signals]);
  if (numbers.length > 0) lines.push(`trap '' ${numbers.join(" ")}`);
  const script = [...lines, 'exec "$@"'].join("\n");
  return started(SHELL, "-c", script, "rowlock", program, ...args);
}

/** Whether this ends well: not every `env` can ignore signals. */
function canRun(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

/** sh drops newlines at the end of what a command prints, so a letter stands there first. */
function assignment(name: string, bytes: Uint8Array): string {
  const escaped = Buffer.from(bytes)
    .toString("latin1")
    .replace(/[^\w ,./:=-]/g, (byte) => `\\0${byte.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `${name}=$(printf %b '${escaped}x'); ${name}=\${${name}%x}; export ${name}`;
}

function startFault(program: string, path: string): string | undefined {
  const places = program.includes("/")
    ? [program]
    : path.split(delimiter).map((folder) => join(folder, program));
  let fault = "ENOENT";
  for (const place of places) {
    try {
      if (!statSync(place).isFile()) continue;
      fault = "EACCES";
      accessSync(place, constants.X_OK);
      return undefined;
    } catch {
      // It is not there, or cannot be executed: the next one may be.
    }
  }
  return fault;
}
