// Signals that end a wait for a lock: its place in the queue is given up at once, and not only when the server misses this
// process.

import { constants } from "node:os";
import type { CliContext, ExitCode } from "../context.ts";

const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

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
