// Runs a command under a lock that was just taken, in a process group of its own, and releases the lock afterwards.
// Passes signals on to the group, and stops all of the group before the lease can have ended.

import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";
import type {
  Lock,
  LockOptions,
  RecordOptions,
  ReleaseOptions,
  RowlockClient,
  RowlockError,
} from "../typescript/src/index.ts";
import { tokensText } from "./also.ts";
import { type CliContext, EXIT, type ExitCode, UNDER_LOCK } from "./context.ts";
import { said } from "./print.ts";
import { startCommand } from "./start-command.ts";
import { ENDING, type Interruption } from "./take.ts";

const TTL_MS = 30_000;
/**
 * The margin is how long before the lease can end the command is asked to stop: a share of the time to live, up to a
 * maximum. The command is killed after KILL_AT_SHARE of the margin.
 */
const MARGIN_SHARE = 1 / 4;
const MARGIN_MS_MAX = 10_000;
const KILL_AT_SHARE = 3 / 4;

/** Why a lock was lost, by how its lease ended. */
const WHY_LOST: Readonly<Record<string, string>> = {
  FORCE_RELEASED: "an operator has ended its lease",
  EXPIRED:
    "its lease could not be renewed in time: no server answered, its database was away, it did not accept who asks, or this machine slept",
  RELEASED: "somebody who knew the lease's id released it",
};

/** The options with which the lock must be taken, so that the command ends before the lease can. */
export interface Hold extends RecordOptions {
  readonly ttl: number;
  readonly margin: number;
}

/** Adds to the options the default time to live, if they have none, and the margin, both in milliseconds. */
export function holdOf<Asked extends RecordOptions & Pick<LockOptions, "ttl">>(asked: Asked): Asked & Hold {
  const ttl = typeof asked.ttl === "number" ? asked.ttl : TTL_MS;
  return { ...asked, ttl, margin: Math.min(ttl * MARGIN_SHARE, MARGIN_MS_MAX) };
}

/**
 * Signals are handled to the end of the process: none that comes after the command keeps the lock from being released.
 * @param outcomeOf returns what the lock remembers of a command that has ended with this code.
 */
export async function runUnder(
  rowlock: Pick<RowlockClient, "renew">,
  words: readonly string[],
  lock: Lock,
  { margin, ...asked }: Hold,
  outcomeOf: (code: ExitCode) => ReleaseOptions,
  context: CliContext,
  interrupted: Interruption,
): Promise<ExitCode> {
  // A signal arrived together with the grant.
  if (interrupted.code !== undefined) {
    await giveBack(lock, unused(asked));
    return interrupted.code;
  }
  const held: Held = {
    lock,
    killAfterMs: margin * KILL_AT_SHARE,
    confirm: () => rowlock.renew(lock.leaseId),
  };
  const { code, notStarted, lostBy } = await runHeld(words, held, context);
  if (notStarted) context.err(said(notStarted));
  if (lostBy !== undefined || lock.state === "lost") {
    const { end } = (lostBy ?? lock.signal.reason) as Partial<Lost>;
    const why = WHY_LOST[end?.reason ?? ""] ?? "its lease has ended";
    context.err(said(`The lock "${lock.name}" was lost, and the command was stopped: ${why}.`));
    return EXIT.lost;
  }
  if (notStarted) {
    await giveBack(lock, unused(asked));
    return code;
  }
  const outcome = outcomeOf(code);
  const isRemembered = await giveBack(lock, outcome);
  if (!isRemembered && (outcome.status ?? outcome.coolDown ?? asked.minInterval) !== undefined)
    context.err(
      said(`The server may not have recorded this run of "${lock.name}": check with \`rowlock show\`.`),
    );
  return code;
}

/** The options that release a lease under which nothing was run: as there was no run, the lock stays due. */
export function unused({ minInterval }: RecordOptions): ReleaseOptions {
  return minInterval === undefined ? {} : { coolDown: 0 };
}

/**
 * Releases the lock, and returns whether this release ended the lease. If no server answers, the lease ends by itself.
 */
async function giveBack(lock: Lock, last: ReleaseOptions): Promise<boolean> {
  const released = lock.release(last).catch(() => false);
  // Resolves once that release is done; rejects if it failed for another reason.
  await lock[Symbol.asyncDispose]();
  return await released;
}

/** Signals that ask a process to end or to do something; they are passed on to the group. */
const PASSED_ON = [...ENDING, "SIGWINCH"] as const;

/** What says that a lease has ended. */
type Lost = Pick<RowlockError, "reason" | "end">;

interface Held {
  readonly lock: Lock;
  /** The time from the loss of the lock until processes that do not stop when asked are killed. */
  readonly killAfterMs: number;
  /** Asks the server whether the lease is still there. */
  readonly confirm: () => Promise<unknown>;
}

interface Ended {
  /** If a signal has ended it, 128 plus the signal's number; if it could not be started, 126 or 127. */
  readonly code: ExitCode;
  /** Set if the command could not be started: why. */
  readonly notStarted?: string;
  /** Set if the server said, before the client knew, that the lease has ended. */
  readonly lostBy?: Lost | undefined;
}

async function runHeld(
  words: readonly string[],
  { lock, killAfterMs, confirm }: Held,
  context: CliContext,
): Promise<Ended> {
  const env = {
    ...context.env,
    [UNDER_LOCK.name]: lock.name,
    [UNDER_LOCK.token]: String(lock.token),
    // Also of one lock: a command within another one must not find the tokens of the outer one.
    [UNDER_LOCK.tokens]: tokensText(lock.tokens),
    [UNDER_LOCK.lease]: lock.leaseId,
  };
  let child: ChildProcess | undefined;
  const send = (signal: NodeJS.Signals) => void (child?.pid && context.kill(-child.pid, signal));
  let killTimer: NodeJS.Timeout | undefined;
  /** How often Ctrl-Z has stopped the command, and whether it still has. */
  let stops = 0;
  let isStopped = false;
  let lostBy: Lost | undefined;
  const stop = () => {
    // Continued, it would work until it has handled SIGTERM, and others may hold the lock by now.
    if (isStopped) return send("SIGKILL");
    send("SIGTERM");
    // A process that something else has stopped would not handle SIGTERM.
    send("SIGCONT");
    killTimer = setTimeout(() => send("SIGKILL"), killAfterMs);
  };
  const goOn = async () => {
    const stopsBefore = stops;
    // Reading it checks the clock, and calls `stop` if the lease is over.
    if (lock.signal.aborted) return;
    if (isStopped) {
      // Nobody has renewed the lease meanwhile, and an operator may have ended it.
      const error = (await confirm().catch((reason: unknown) => reason)) as Partial<Lost> | undefined;
      if (stops !== stopsBefore || lock.signal.aborted) return;
      if (error?.reason === "LEASE_LOST" || error?.reason === "UNKNOWN_CLAIM") {
        lostBy = error as Lost;
        return send("SIGKILL");
      }
    }
    isStopped = false;
    send("SIGCONT");
  };
  // Listens before the command begins: a signal that arrives at that moment is handled in a later turn, and passed on.
  for (const signal of PASSED_ON) context.onSignal(signal, () => send(signal));
  // Ctrl-Z suspends this process: the command must not run while nobody renews its lease.
  context.onSignal("SIGTSTP", () => {
    stops += 1;
    isStopped = true;
    send("SIGSTOP");
    context.kill(0, "SIGSTOP");
  });
  context.onSignal("SIGCONT", () => void goOn());
  const started = startCommand(words, env, context);
  if (typeof started === "string") return notStarted(words[0], started);
  child = started;
  if (lock.signal.aborted) stop();
  else lock.signal.addEventListener("abort", stop);
  const ended = await endOf(child, words[0]);
  // Processes that the command left running must not outlive the lock.
  if (lostBy !== undefined || lock.signal.aborted) send("SIGKILL");
  // From here on its group may be empty, or what it left running on purpose: signals are for neither.
  child = undefined;
  lock.signal.removeEventListener("abort", stop);
  clearTimeout(killTimer);
  return { ...ended, lostBy };
}

function endOf(child: ChildProcess, program: string | undefined): Promise<Ended> {
  return new Promise((resolve) => {
    child.on("error", ({ code, message }: NodeJS.ErrnoException) =>
      resolve(notStarted(program, code ?? message)),
    );
    child.on("exit", (code, signal) => {
      resolve({ code: code ?? 128 + (signal ? constants.signals[signal] : 0) });
    });
  });
}

function notStarted(program = "", why: string): Ended {
  if (why === "ENOENT") return { code: EXIT.noCommand, notStarted: `There is no command "${program}".` };
  return { code: EXIT.notExecutable, notStarted: `"${program}" cannot be executed (${why}).` };
}
