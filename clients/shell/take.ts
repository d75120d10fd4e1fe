// Waits for a lock as its flags say: shows the place in the queue meanwhile, gives that place up at a signal, and says
// why the lock was not acquired.

import { constants } from "node:os";
import type {
  ClaimView,
  LimitView,
  Lock,
  LockOptions,
  Place,
  Refusal,
  RowlockClient,
} from "../typescript/src/index.ts";
import { type CliContext, EXIT, type ExitCode } from "./context.ts";
import { inLocalTime } from "./past-times.ts";
import { pausedBy } from "./paused-limits.ts";
import { ERASE_LINE, said, shown, timeWords } from "./print.ts";
import { resumeWords } from "./wait-causes.ts";

/** What ends a process that does not handle it. */
export const ENDING = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM"] as const;
const REWRITE_MS = 1_000;
/** How long a wait lasts before its reason is printed: most are over by then. */
const REASON_AFTER_MS = 10_000;

export interface Asked extends LockOptions {
  readonly name: string;
  /** Show neither the place in the queue, nor that the lock was not acquired. */
  readonly quiet?: boolean | undefined;
}

/** What listens, to the end of this process, for signals that ask it to end: none cuts its clean-up short. */
export interface Interruption {
  /** Aborted by the first of the signals. */
  readonly signal: AbortSignal;
  /** The exit code of a process that this signal has ended; undefined: none has come. */
  readonly code: ExitCode | undefined;
}

export function interruption(context: CliContext): Interruption {
  const controller = new AbortController();
  let code: ExitCode | undefined;
  for (const signal of ENDING)
    context.onSignal(signal, () => {
      code ??= 128 + constants.signals[signal];
      controller.abort();
    });
  return {
    signal: controller.signal,
    get code() {
      return code;
    },
  };
}

/**
 * Resolves with the exit code of `work`; if `work` rejects because of a signal, with that signal's code. `work` must
 * check `interrupted.code` before it relies on its result. So the client gives up its place in the queue at once, and
 * does not leave it to the server to miss this process.
 */
export async function unlessInterrupted(
  context: CliContext,
  work: (interrupted: Interruption) => Promise<ExitCode>,
): Promise<ExitCode> {
  const interrupted = interruption(context);
  try {
    return await work(interrupted);
  } catch (error) {
    if (interrupted.code !== undefined && error === interrupted.signal.reason) return interrupted.code;
    throw error;
  }
}

/**
 * Takes the lock and runs `held`. Resolves with the exit code of `held`, or with that of a lock that was not acquired
 * or of a signal that came before.
 */
export function take(
  rowlock: RowlockClient,
  { name, quiet = false, ...asked }: Asked,
  context: CliContext,
  held: (lock: Lock, interrupted: Interruption) => Promise<ExitCode>,
): Promise<ExitCode> {
  return unlessInterrupted(context, async (interrupted) => {
    const line = waitingLine(name, context);
    const reason = laterReason(rowlock, line.say);
    const onPosition = (place: Place) => {
      line.at(place);
      reason.at(place);
    };
    const options = { ...asked, signal: interrupted.signal, ...(!quiet && { onPosition }) };
    const { lock, refusal } = await rowlock.acquire(name, options).finally(() => {
      reason.stop();
      line.clear();
    });
    if (lock) return await held(lock, interrupted);
    if (!quiet) context.err(said(refusedSentence(name, refusal)));
    return EXIT.notAcquired;
  });
}

/**
 * Some time after the first place, asks once why it does not move, and passes that on to `say`. It is a courtesy: an
 * older server, a missing right or any other failure costs the words, and never the wait.
 */
export function laterReason(rowlock: Pick<RowlockClient, "explainWait">, say: (words: string) => void) {
  let ticketId: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const ask = async (): Promise<void> => {
    if (ticketId === undefined) return;
    try {
      const { summary } = await rowlock.explainWait({ ticketId });
      if (!isOver) say(inLocalTime(summary, new Date()));
    } catch {
      // See above: the wait goes on.
    }
  };
  return {
    at(place: Pick<Place, "ticketId">): void {
      ticketId = place.ticketId;
      timer ??= setTimeout(() => void ask(), REASON_AFTER_MS);
    },
    /** The wait is over. */
    stop(): void {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** Shows the place in the queue: on a terminal in one line that is rewritten, elsewhere in a line for each place. */
export function waitingLine(name: string, { err, errIsTerminal }: CliContext) {
  let rewriting: NodeJS.Timeout | undefined;
  let write = (): void => {};
  const words = (ahead: number, waitedMs: number): string => {
    const place = ahead === 0 ? "next in the queue" : `${ahead} ahead in the queue`;
    return `waiting for "${shown(name)}": ${place}, for ${timeWords(waitedMs)} so far`;
  };
  return {
    /** Shows a new place. */
    at({ ahead, waitedMs }: Place): void {
      if (!errIsTerminal) {
        err(said(words(ahead, waitedMs)));
        return;
      }
      const placedMs = performance.now();
      write = () => err(`${ERASE_LINE}${words(ahead, waitedMs + performance.now() - placedMs)}`);
      write();
      clearInterval(rewriting);
      rewriting = setInterval(write, REWRITE_MS);
    },
    /** Prints a line of its own about the wait, which stays. */
    say(about: string): void {
      err(`${errIsTerminal ? ERASE_LINE : ""}${said(`waiting for "${name}": ${about}`)}`);
      write();
    },
    /** The wait is over. Can be called twice. */
    clear(): void {
      if (rewriting) err(ERASE_LINE);
      clearInterval(rewriting);
      rewriting = undefined;
    },
  };
}

/** Says in one sentence why the lock was not acquired. */
function refusedSentence(name: string, refusal: Refusal): string {
  const { retryAfterMs } = refusal;
  switch (refusal.reason) {
    case "BUSY":
      return `"${name}" is busy${holdersWords(refusal.holders)}.`;
    case "TIMED_OUT": {
      const { limit, holders } = refusal;
      return `"${name}" did not become free in time${limit ? `: it ${pausedWords(limit)}` : holdersWords(holders)}.`;
    }
    case "PAUSED":
      return `"${name}" ${pausedWords(refusal.limit)}.`;
    case "NEVER_FITS":
      return `"${name}" has a limit of ${refusal.limit?.permits ?? "less"}, so this can never be granted: ask for fewer permits, or raise the limit.`;
    case "NOT_BEFORE":
      return `"${name}" is not due yet${retryAfterMs === undefined ? "" : `: it will be in ${timeWords(retryAfterMs)}`}.`;
    case "EXHAUSTED":
      return `"${name}" has no attempts left: \`rowlock update\` gives it more.`;
    case "STATUS_MISMATCH":
      return `"${name}" has ${refusal.status === "" ? "no status" : `the status "${refusal.status}"`}, which no --if-status allows.`;
    default:
      return `"${name}" was not acquired. ${inLocalTime(refusal.message, new Date())}`;
  }
}

function pausedWords(limit: LimitView | undefined): string {
  if (!limit) return "is paused: the database has failed over, and a lost lease may still be held";
  const paused = pausedBy(limit);
  const todo = paused ? `\`${resumeWords(paused)}\` ends that` : "raise its limit to resume it";
  return `is paused${limit.reason ? ` (${limit.reason})` : ""}: ${todo}`;
}

function holdersWords([first, ...more]: readonly ClaimView[]): string {
  if (!first) return "";
  return `: ${first.owner} holds it${more.length > 0 ? `, and ${more.length} more` : ""}`;
}
