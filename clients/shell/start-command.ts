// Starts the command of `rowlock run` as its caller would have: signals that were ignored stay ignored, and variables keep
// their bytes. Knows nothing of locks.

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { constants as system } from "node:os";
import { delimiter, join } from "node:path";
import type { CliContext } from "./context.ts";

const SHELL = "/bin/sh";

/** Why a command cannot be started. */
export type StartFault = "ENOENT" | "EACCES";

/**
 * Starts it in a session, and so a process group, of its own. The group gets no signal of a terminal, only those that are
 * sent to it.
 */
export function startCommand(
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  { ignoredSignals, bytesOfVariables }: Pick<CliContext, "ignoredSignals" | "bytesOfVariables">,
): ChildProcess | StartFault {
  const options = { stdio: "inherit", detached: true, env } as const;
  const numbers = ignoredSignals.flatMap((name) => system.signals[name as NodeJS.Signals] ?? []);
  if (numbers.length === 0 && bytesOfVariables.size === 0) return spawn(program, args, options);
  // Node starts processes with no signal ignored, and with text as variables; sh can do both. It would report by an exit
  // code that it found no such command, and a command has exit codes of its own.
  const fault = startFault(program, env.PATH ?? "");
  if (fault) return fault;
  const lines = [...bytesOfVariables].map(([name, bytes]) => assignment(name, bytes));
  if (numbers.length > 0) lines.push(`trap '' ${numbers.join(" ")}`);
  const script = [...lines, 'exec "$@"'].join("\n");
  return spawn(SHELL, ["-c", script, "rowlock", program, ...args], options);
}

/** sh drops newlines at the end of what a command prints, so a letter stands there first. */
function assignment(name: string, bytes: Uint8Array): string {
  const octal = [...bytes].map((byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");
  return `${name}=$(printf %b '${octal}x'); ${name}=\${${name}%x}; export ${name}`;
}

function startFault(program: string, path: string): StartFault | undefined {
  const places = program.includes("/")
    ? [program]
    : path.split(delimiter).map((folder) => join(folder, program));
  let fault: StartFault | undefined = "ENOENT";
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
