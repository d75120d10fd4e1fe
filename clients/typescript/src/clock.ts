// The client's own clock: milliseconds that only go ahead, and count the time that the machine has slept.

import { uptime } from "node:os";

/** How long a look at the machine's uptime is good for: the look costs some microseconds. */
const LOOK_EVERY_MS = 20;
/** What two clocks of a machine that is awake may seem to differ by. */
const SLEPT_MS_MIN = 250;

export class Clock {
  readonly #upMs: () => number;
  #sleptMs = 0;
  #lookedMs = performance.now();
  #apartMs: number;

  /** @param upMs how long the machine has been up, its sleep included. */
  constructor(upMs = () => uptime() * 1_000) {
    this.#upMs = upMs;
    this.#apartMs = upMs() - this.#lookedMs;
  }

  /**
   * Milliseconds since some instant. `performance.now()` stands still while a machine is suspended, on Linux for one, but
   * leases go on: what the machine's uptime has gone ahead of it is added.
   */
  now(): number {
    const awakeMs = performance.now();
    if (awakeMs - this.#lookedMs >= LOOK_EVERY_MS) {
      this.#lookedMs = awakeMs;
      const apartMs = this.#upMs() - awakeMs;
      const sleptMs = apartMs - this.#apartMs;
      if (sleptMs >= SLEPT_MS_MIN) this.#sleptMs += sleptMs;
      if (sleptMs >= SLEPT_MS_MIN || sleptMs < 0) this.#apartMs = apartMs;
    }
    return awakeMs + this.#sleptMs;
  }
}
