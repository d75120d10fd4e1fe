// A command under a lock that was just taken, to its release: what `rowlock run` and `rowlock capture` share.

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
/** How long before the lease can end the command is asked to stop, and when it is killed within that time. */
const MARGIN_SHARE = 1 / 4;
const MARGIN_MS_MAX = 10_000;
const KILL_AT_SHARE = 3 / 4;

/** What the lock has to be taken with, for the command to end before the lease can. */
export interface Hold extends RecordOptions {
  readonly ttl: number;
  readonly margin: number;
}

export function holdOf<Asked extends RecordOptions & Pick<LockOptions, "ttl">>(asked: Asked): Asked & Hold {
  const ttl = typeof asked.ttl === "number" ? asked.ttl : TTL_MS;
  return { ...asked, ttl, margin: Math.min(ttl * MARGIN_SHARE, MARGIN_MS_MAX) };
}

/** @param outcomeOf what the lock remembers of a command that has ended with this code. */
export async function runUnder(
  words: readonly string[],
  lock: Lock,
  { margin, ...asked }: Hold,
  outcomeOf: (code: ExitCode) => ReleaseOptions,
  context: CliContext,
  givingUp: GivingUp,
): Promise<ExitCode> {
  // A signal that came with the grant.
  if (givingUp.code !== undefined) {
    await giveBack(lock, unused(asked));
    return givingUp.code;
  }
  // The command's part listens before this one stops to, so that no signal falls between.
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
      said(`It is not known whether "${lock.name}" remembers this run: look with \`rowlock show\`.`),
    );
  return code;
}

/** How a lease is released under which nothing was run: that is no run after which the next one is not due yet. */
export function unused({ minInterval }: RecordOptions): ReleaseOptions {
  return minInterval === undefined ? {} : { coolDown: 0 };
}

/** Whether it was this that ended the lease. Where no server answers it ends by itself. */
async function giveBack(lock: Lock, last: ReleaseOptions): Promise<boolean> {
  const released = lock.release(last).catch(() => false);
  // Resolves with that release; rejects where it went wrong otherwise.
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
      return "somebody who knew its lease has released it.";
    default:
      return "its lease has ended.";
  }
}
