// Waits for a lock as the flags say, shows the place in the queue meanwhile, and says why the lock was not acquired.

import type { Lock, LockOptions, Rowlock } from "../../../clients/typescript/src/index.ts";
import type { CliContext, ExitCode } from "../context.ts";
import { EXIT } from "../context.ts";
import { type GivingUp, unlessSignalled } from "./giving-up.ts";
import { refusedSentence } from "./lock-options.ts";
import { said } from "./print.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface Asked extends LockOptions {
  readonly name: string;
  /** Show neither the place in the queue, nor that the lock was not acquired. */
  readonly quiet: boolean;
}

/**
 * Takes the lock and runs `held`. Resolves with the exit code of `held`, or with that of a lock that was not acquired
 * or of a signal that came before.
 */
export function take(
  rowlock: Rowlock,
  { name, quiet, ...asked }: Asked,
  context: CliContext,
  held: (lock: Lock, givingUp: GivingUp) => Promise<ExitCode>,
): Promise<ExitCode> {
  return unlessSignalled(context, async (givingUp) => {
    const line = new WaitingLine(name, context);
    const options = { ...asked, signal: givingUp.signal, ...(!quiet && { onPosition: line.at.bind(line) }) };
    const { lock, refusal } = await rowlock.acquire(name, options).finally(() => line.clear());
    if (lock) return await held(lock, givingUp);
    if (!quiet) context.err(said(refusedSentence(name, refusal)));
    return EXIT.notAcquired;
  });
}
