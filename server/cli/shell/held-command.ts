// A command that runs while a lock is held, in a process group of its own: passes signals on to the group, and stops
// all of the group before the lease can have ended.

import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Lock } from "../../../clients/typescript/src/index.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../context.ts";

/** Signals that ask a process to end or to do something; they are passed on to the group. */
const PASSED_ON: readonly NodeJS.Signals[] = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGTERM",
  "SIGUSR1",
  "SIGUSR2",
  "SIGWINCH",
];

export interface Ended {
  /**
   * The command's exit code; 128 plus the signal's number if a signal has ended it; 126 or 127 if it could not be
   * started.
   */
  readonly code: number;
  /** Set if the command could not be started: why. */
  readonly notStarted?: string;
}

/** @param killAfterMs the time from the loss of the lock until processes that do not stop when asked are killed. */
export async function runHeld(
  [program = "", ...args]: readonly string[],
  lock: Lock,
  killAfterMs: number,
  context: CliContext,
): Promise<Ended> {
  const { token, leaseId, name } = lock;
  const env = { ...context.env, ROWLOCK_NAME: name, ROWLOCK_TOKEN: String(token), ROWLOCK_LEASE: leaseId };
  let child: ChildProcess | undefined;
  const send = (signal: NodeJS.Signals) => void (child?.pid && context.kill(-child.pid, signal));
  let killTimer: NodeJS.Timeout | undefined;
  const stop = () => {
    send("SIGTERM");
    // A suspended process would not handle SIGTERM.
    send("SIGCONT");
    killTimer = setTimeout(() => send("SIGKILL"), killAfterMs);
  };
  // Listens before the command begins: a signal that arrives at that moment is handled in a later turn, and passed on.
  const silence = [
    ...PASSED_ON.map((signal) => context.onSignal(signal, () => send(signal))),
    // Ctrl-Z suspends this process: the command must not run while nobody renews its lease.
    context.onSignal("SIGTSTP", () => {
      send("SIGSTOP");
      context.kill(0, "SIGSTOP");
    }),
    context.onSignal("SIGCONT", () => {
      if (!lock.signal.aborted) send("SIGCONT");
    }),
  ];
  // `detached` gives the command a session, and so a process group, of its own.
  child = spawn(program, args, { stdio: "inherit", detached: true, env });
  if (lock.signal.aborted) stop();
  else lock.signal.addEventListener("abort", stop);
  try {
    const ended = await endOf(child, program);
    // Processes that the command left running must not outlive the lock.
    if (lock.signal.aborted) send("SIGKILL");
    return ended;
  } finally {
    lock.signal.removeEventListener("abort", stop);
    clearTimeout(killTimer);
    for (const off of silence) off();
  }
}

function endOf(child: ChildProcess, program: string): Promise<Ended> {
  return new Promise((resolve) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT")
        resolve({ code: EXIT.noCommand, notStarted: `There is no command "${program}".` });
      else
        resolve({
          code: EXIT.notExecutable,
          notStarted: `"${program}" cannot be executed (${error.code ?? error.message}).`,
        });
    });
    child.on("exit", (code, signal) => {
      resolve({ code: code ?? 128 + (signal ? constants.signals[signal] : 0) });
    });
  });
}
