// Runs a command under a lock that was just taken, and releases the lock: shared by `rowlock run` and `rowlock
// capture`.

import type {
  Lock,
  LockOptions,
  RecordOptions,
  ReleaseOptions,
} from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import type { GivingUp } from "./giving-up.ts";
import { runHeld } from "./held-command.ts";
import { said } from "./print.ts";

const TTL_MS = 30_000;
/**
 * The margin is how long before the lease can end the command is asked to stop: a share of the time to live, up to a
 * maximum. The command is killed after KILL_AT_SHARE of the margin.
 */
const MARGIN_SHARE = 1 / 4;
const MARGIN_MS_MAX = 10_000;
const KILL_AT_SHARE = 3 / 4;

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

/** @param outcomeOf returns what the lock remembers of a command that has ended with this code. */
export async function runUnder(
  words: readonly string[],
  lock: Lock,
  { margin, ...asked }: Hold,
  outcomeOf: (code: ExitCode) => ReleaseOptions,
  context: CliContext,
  givingUp: GivingUp,
): Promise<ExitCode> {
  // A signal arrived together with the grant.
  if (givingUp.code !== undefined) {
    await giveBack(lock, unused(asked));
    return givingUp.code;
  }
  // runHeld listens for signals before `givingUp` stops listening, so that no signal falls between.
  const running = runHeld(words, lock, margin * KILL_AT_SHARE, context);
  givingUp.stop();
  const { code, notStarted } = await running;
  if (lock.state === "lost") {
    if (notStarted) context.err(said(notStarted));
    const why = whyLost(lock.signal.reason);
    context.err(said(`The lock "${lock.name}" was lost, and the command was stopped: ${why}`));
    return EXIT.lost;
  }
  if (notStarted) {
    context.err(said(notStarted));
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

function whyLost({ metadata }: { metadata?: Readonly<Record<string, string>> }): string {
  switch (metadata?.end_reason) {
    case "FORCE_RELEASED":
      return "an operator has ended its lease.";
    case "EXPIRED":
      return "its lease could not be renewed in time: no server answered, or this machine slept.";
    case "RELEASED":
      return "somebody who knew the lease's id released it.";
    default:
      return "its lease has ended.";
  }
}
