// Signals that end a wait for a lock: its place in the queue is given up at once, and not only when the server misses this
// process.

import { constants } from "node:os";
import type { CliContext, ExitCode } from "../context.ts";

const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/**
 * What `work` resolves with; where it rejects as a signal has come, how a process ends that this signal has ended. `work` has
 * to look at `givingUp.code` before it trusts what it has got, and to stop it when it hears signals itself.
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

/** Listens from when it is made until `stop`. */
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

  /** How a process ends that one of these signals has ended; undefined where none has come. */
  get code(): ExitCode | undefined {
    return this.#code;
  }

  /** Can be called twice. */
  stop(): void {
    for (const off of this.#silence.splice(0)) off();
  }
}
