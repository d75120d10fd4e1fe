// Starts the command of `rowlock run` as its caller would have: signals that were ignored stay ignored. Knows nothing of
// locks.

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
  { ignoredSignals }: Pick<CliContext, "ignoredSignals">,
): ChildProcess | StartFault {
  const options = { stdio: "inherit", detached: true, env } as const;
  const numbers = ignoredSignals.flatMap((name) => system.signals[name as NodeJS.Signals] ?? []);
  if (numbers.length === 0) return spawn(program, args, options);
  // Node starts processes with no signal ignored. sh would report by an exit code that it found no such command, and a
  // command has exit codes of its own.
  const fault = startFault(program, env.PATH ?? "");
  if (fault) return fault;
  const script = `trap '' ${numbers.join(" ")}; exec "$@"`;
  return spawn(SHELL, ["-c", script, "rowlock", program, ...args], options);
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
