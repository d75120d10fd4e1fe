// Waits for a lock, or to spend from its rate, as the flags say: shows the place in the queue meanwhile, gives that place
// up at a signal, and says why the lock was not acquired.

import { constants } from "node:os";
import type {
  ClaimView,
  LimitView,
  Lock,
  LockOptions,
  Place,
  RateView,
  Refusal,
  RowlockClient,
  SpendOptions,
  Spent,
} from "../typescript/src/index.ts";
import { alsoWords, type FurtherLock } from "./also.ts";
import { type CliContext, EXIT, type ExitCode } from "./context.ts";
import { given } from "./flags.ts";
import { inLocalTime } from "./past-times.ts";
import { pausedBy } from "./paused-limits.ts";
import { poolOf } from "./pools.ts";
import { ERASE_LINE, said, shown, timeWords } from "./print.ts";
import { queueRulesText } from "./queue-rules.ts";
import { rateText } from "./rates.ts";
import { resumeWords } from "./wait-causes.ts";

/** What ends a process that does not handle it. */
export const ENDING = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM"] as const;
const REWRITE_MS = 1_000;
/** How long a wait lasts before its reason is printed: most are over by then. */
const REASON_AFTER_MS = 10_000;

interface Named {
  readonly name: string;
  readonly also?: readonly FurtherLock[] | undefined;
  /** Show neither the place in the queue, nor that the lock was not acquired. */
  readonly quiet?: boolean | undefined;
  /** Whether a newer request that takes the place in the queue does the work of this one, too: then this one has not failed. */
  readonly supersededOk?: boolean | undefined;
}

export type Asked = Omit<LockOptions, "also"> & Named;

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
  { name, also, quiet, supersededOk, ...asked }: Asked,
  context: CliContext,
  held: (lock: Lock, interrupted: Interruption) => Promise<ExitCode>,
): Promise<ExitCode> {
  return unlessInterrupted(context, async (interrupted) => {
    const { lock, refusal } = await queued(rowlock, { name, also, quiet }, context, interrupted, (more) =>
      rowlock.acquire(name, { ...asked, ...given({ also }), ...more }),
    );
    return lock
      ? await held(lock, interrupted)
      : refused({ name, also, quiet, supersededOk }, refusal, context);
  });
}

/**
 * Spends from the lock's rate and runs `spent`. Resolves with 0, or with the exit code of a request that was refused or
 * of a signal.
 */
export function takeFromRate(
  rowlock: RowlockClient,
  { name, quiet, ...asked }: SpendOptions & Named,
  context: CliContext,
  spent: (spent: Spent) => void,
): Promise<ExitCode> {
  return unlessInterrupted(context, async (interrupted) => {
    const { RowlockError } = await import("../typescript/src/index.ts");
    try {
      spent(
        await queued(rowlock, { name, quiet }, context, interrupted, (more) =>
          rowlock.spend(name, { ...asked, ...more }),
        ),
      );
      return interrupted.code ?? EXIT.ok;
    } catch (error) {
      if (!(error instanceof RowlockError) || !error.refusal) throw error;
      return refused({ name, quiet }, error.refusal, context);
    }
  });
}

/** Makes a request, and shows its place in the queue meanwhile. */
function queued<Outcome>(
  rowlock: RowlockClient,
  { name, also, quiet = false }: Named,
  context: CliContext,
  { signal }: Interruption,
  request: (more: Pick<LockOptions, "signal" | "onPosition">) => Promise<Outcome>,
): Promise<Outcome> {
  const line = waitingLine(name, context, also);
  const reason = laterReason(rowlock, line.say);
  const onPosition = (place: Place) => {
    line.at(place);
    reason.at(place);
  };
  return request({ signal, ...(!quiet && { onPosition }) }).finally(() => {
    reason.stop();
    line.clear();
  });
}

function refused(
  { name, also, quiet, supersededOk }: Named,
  refusal: Refusal,
  { err }: CliContext,
): ExitCode {
  if (!quiet) err(said(refusedSentence(refusal.lockName ?? name, refusal, alsoWords(also))));
  return supersededOk && refusal.reason === "SUPERSEDED" ? EXIT.ok : EXIT.notAcquired;
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
export function waitingLine(name: string, { err, errIsTerminal }: CliContext, also?: readonly FurtherLock[]) {
  let rewriting: NodeJS.Timeout | undefined;
  let write = (): void => {};
  const which = `"${shown(name)}"${alsoWords(also)}`;
  const words = ({ ahead, pool, waitsFor, waitedMs, rateWaitMs = 0 }: Place, sinceMs: number): string => {
    // The lock that is named is the one at which most are before it: if nobody is there, nobody is at the others.
    const ofOne = ahead === 0 ? "in each queue" : `in the queue of "${shown(waitsFor ?? "")}"`;
    const queue = waitsFor === undefined ? "in the queue" : ofOne;
    const where = pool === undefined ? queue : `at the pool ${shown(pool)}`;
    const place = ahead === 0 ? `next ${where}` : `${ahead} ahead ${where}`;
    const leftMs = rateWaitMs - sinceMs;
    const rate = leftMs > 0 ? `, ${timeWords(leftMs)} more by its rate` : "";
    return `waiting for ${which}: ${place}${rate}, for ${timeWords(waitedMs + sinceMs)} so far`;
  };
  return {
    /** Shows a new place. */
    at(place: Place): void {
      if (!errIsTerminal) {
        err(said(words(place, 0)));
        return;
      }
      const placedMs = performance.now();
      write = () => err(`${ERASE_LINE}${words(place, performance.now() - placedMs)}`);
      write();
      clearInterval(rewriting);
      rewriting = setInterval(write, REWRITE_MS);
    },
    /** Prints a line of its own about the wait, which stays. */
    say(about: string): void {
      err(`${errIsTerminal ? ERASE_LINE : ""}${said(`waiting for ${which}: ${about}`)}`);
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

/** Says in one sentence why the lock was not acquired. @param also the further locks, for what is about all of them. */
function refusedSentence(name: string, refusal: Refusal, also: string): string {
  const { retryAfterMs } = refusal;
  switch (refusal.reason) {
    case "BUSY":
      return busySentence(name, refusal);
    case "TIMED_OUT": {
      const { limit, holders } = refusal;
      // It may be that of another one of its locks: the server says which.
      if (limit && also !== "") return inLocalTime(refusal.message, new Date());
      const why = limit ? `: it ${pausedWords(limit)}` : holdersWords(holders, name);
      return `"${name}"${also} did not become free in time${why}.`;
    }
    case "PAUSED":
      return `"${name}" ${pausedWords(refusal.limit)}.`;
    case "RATE": {
      const { rate } = refusal;
      const when = retryAfterMs === undefined ? "later" : `in ${timeWords(retryAfterMs)}`;
      const pool = rate && poolOf(rate);
      if (rate && pool)
        return `"${name}" must wait: ${pool} has been granted as often as its rate of ${rateText(rate)} allows: try again ${when}.`;
      return `"${name}" has been granted as often as its rate${rate ? ` of ${rateText(rate)}` : ""} allows: try again ${when}.`;
    }
    case "NEVER_FITS":
      if (refusal.queueRules)
        return `"${name}" takes no request for several locks, because of the order of its queue (${queueRulesText(refusal.queueRules)}): ask for it alone.`;
      if ((refusal.rate ?? refusal.limit)?.source === "pool") return neverFitsPool(name, refusal);
      if (refusal.rate)
        return `"${name}" has a rate of ${rateText(refusal.rate)}, so this can never be granted: ask for fewer permits, or raise the burst.`;
      return `"${name}" has a limit of ${refusal.limit?.permits ?? "less"}, so this can never be granted: ask for fewer permits, or raise the limit.`;
    case "SUPERSEDED":
      return `"${name}" was not acquired: a newer request took the place in the queue, and does what this one would have done.`;
    case "NOT_BEFORE":
      return `"${name}" is not due yet${retryAfterMs === undefined ? "" : `: it will be in ${timeWords(retryAfterMs)}`}.`;
    case "EXHAUSTED":
      return `"${name}" has no attempts left: \`rowlock update\` gives it more.`;
    case "STATUS_MISMATCH":
      return `"${name}" has ${refusal.status === "" ? "no status" : `the status "${refusal.status}"`}, which no --if-status allows.`;
    default:
      return `"${name}"${also} was not acquired. ${inLocalTime(refusal.message, new Date())}`;
  }
}

function busySentence(
  name: string,
  { limit, holders }: Pick<Refusal & { reason: "BUSY" }, "limit" | "holders">,
): string {
  const pool = limit && poolOf(limit);
  if (!limit || !pool) return `"${name}" is busy${holdersWords(holders, name)}.`;
  const why = limit.reason ? ` (${limit.reason})` : "";
  return `"${name}" must wait: ${pool} with its limit of ${limit.permits}${why} has no room now.`;
}

function neverFitsPool(
  name: string,
  { limit, rate }: Pick<Refusal & { reason: "NEVER_FITS" }, "limit" | "rate">,
) {
  const pool = poolOf((rate ?? limit) as RateView | LimitView);
  if (rate)
    return `"${name}" is under ${pool}, which has a rate of ${rateText(rate)}, so this can never be granted: ask for fewer permits, or raise the burst.`;
  return `"${name}" is under ${pool}, which has a limit of ${limit?.permits}, so this can never be granted: ask for fewer permits, or raise the limit.`;
}

function pausedWords(limit: LimitView | undefined): string {
  if (!limit) return "is paused: the database has failed over, and a lost lease may still be held";
  const pool = poolOf(limit);
  if (pool)
    return `is paused by ${pool}${limit.reason ? ` (${limit.reason})` : ""}: raise the limit of that to resume it`;
  const paused = pausedBy(limit);
  const todo = paused ? `\`${resumeWords(paused)}\` ends that` : "raise its limit to resume it";
  return `is paused${limit.reason ? ` (${limit.reason})` : ""}: ${todo}`;
}

function holdersWords([first, ...more]: readonly ClaimView[], name: string): string {
  if (!first) return "";
  const what = first.lockName === name ? "it" : `"${first.lockName}"`;
  return `: ${first.owner} holds ${what}${more.length > 0 ? `, and ${more.length} more` : ""}`;
}
