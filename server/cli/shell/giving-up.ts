// Signals that end a wait for a lock: the client gives up its place in the queue at once, and does not leave it to the
// server to miss this process.

import { constants } from "node:os";
import type { CliContext, ExitCode } from "../context.ts";

const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/**
 * Resolves with the exit code of `work`; if `work` rejects because of a signal, with the code of a process that this
 * signal has ended. `work` must check `givingUp.code` before it relies on its result, and stop `givingUp` once it
 * handles signals itself.
 */
export async function unlessSignalled(
  context: CliContext,
  work: (givingUp: GivingUp) => Promise<ExitCode>,
): Promise<ExitCode> {
  const givingUp = new GivingUp(context);
  try {
    return await work(givingUp);
  } catch (error) {
    if (givingUp.code !== undefined && error === givingUp.signal.reason) return givingUp.code;
    throw error;
  } finally {
    givingUp.stop();
  }
}

/** Listens for the signals from its construction until `stop`. */
export class GivingUp {
  readonly #controller = new AbortController();
  readonly #silence: (() => void)[];
  #code: ExitCode | undefined;

  constructor(context: CliContext) {
    this.#silence = SIGNALS.map((signal) =>
      context.onSignal(signal, () => {
        this.#code ??= 128 + constants.signals[signal];
        this.#controller.abort();
      }),
    );
  }

  /** Aborted by the first of the signals. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code of a process that the first of these signals has ended; undefined: none has come. */
  get code(): ExitCode | undefined {
    return this.#code;
  }

  /** Can be called twice. */
  stop(): void {
    for (const off of this.#silence.splice(0)) off();
  }
}
