// Shows the place in the queue: on a terminal in one line that is rewritten, elsewhere in a new line for each place.

import type { Place } from "../../../clients/typescript/src/index.ts";
import type { CliContext } from "../context.ts";
import { told } from "./durations.ts";
import { said, shown } from "./print.ts";

const ERASE_LINE = "\r\x1b[K";
const AGAIN_MS = 1_000;

export class WaitingLine {
  readonly #name: string;
  readonly #context: CliContext;
  #place: Place | undefined;
  #toldMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(name: string, context: CliContext) {
    this.#name = name;
    this.#context = context;
  }

  /** Shows a new place. */
  at(place: Place): void {
    this.#place = place;
    this.#toldMs = performance.now();
    if (!this.#context.errIsTerminal) {
      this.#context.err(said(this.#words(place, place.waitedMs)));
      return;
    }
    this.#write();
    this.#timer ??= setInterval(() => this.#write(), AGAIN_MS);
  }

  /** The wait is over. Can be called twice. */
  clear(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#place && this.#context.errIsTerminal) this.#context.err(ERASE_LINE);
    this.#place = undefined;
  }

  #write(): void {
    if (!this.#place) return;
    const waitedMs = this.#place.waitedMs + performance.now() - this.#toldMs;
    this.#context.err(`${ERASE_LINE}${this.#words(this.#place, waitedMs)}`);
  }

  #words({ ahead }: Place, waitedMs: number): string {
    const place = ahead === 0 ? "next in the queue" : `${ahead} ahead in the queue`;
    return `waiting for "${shown(this.#name)}": ${place}, for ${told(waitedMs)} so far`;
  }
}
