// One contract for every background loop: started once, stopped any number of times, awaited on shutdown. A run that
// fails is reported, and the loop goes on at a slower pace until a run succeeds. Runs never overlap.

import { Backoff } from "./backoff.ts";

export interface LoopOptions {
  readonly name: string;
  /** From the end of one run to the start of the next. */
  readonly intervalMs: number;
  /** Share of the interval by which it varies, so that replicas do not run in step. */
  readonly jitter: number;
  /** Longest rest after failures; if unset, that of `Backoff`. */
  readonly restMsMax?: number;
  readonly run: () => Promise<void>;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Loop {
  readonly #options: LoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = true;
  readonly #backoff: Backoff;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.restMsMax);
  }

  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#schedule();
  }

  /** Resolves when the present run, if any, has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(): void {
    const { intervalMs, jitter } = this.#options;
    const delayMs = Math.max(intervalMs, this.#backoff.restMs) * (1 + jitter * (Math.random() * 2 - 1));
    this.#timer = setTimeout(() => this.#start(), delayMs);
  }

  #start(): void {
    this.#running = this.#runOnce().finally(() => {
      this.#running = undefined;
      if (!this.#stopped) this.#schedule();
    });
  }

  async #runOnce(): Promise<void> {
    try {
      await this.#options.run();
      this.#backoff.succeeded();
    } catch (error) {
      this.#backoff.failed();
      this.#options.onFailure(this.#options.name, error);
    }
  }
}
