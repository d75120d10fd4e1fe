// The client's monotonic clock, in milliseconds. It includes the time that the machine was suspended.

import { uptime } from "node:os";

/** How long a reading of the machine's uptime is reused, as a reading costs some microseconds. */
const LOOK_EVERY_MS = 20;
/** The two clocks may seem to differ by less than this while the machine is awake. */
const SLEPT_MS_MIN = 250;

export class Clock {
  readonly #upMs: () => number;
  readonly #awakeMs: () => number;
  #sleptMs = 0;
  #lookedMs: number;
  #apartMs: number;

  /**
   * @param upMs how long the machine has been up, suspension included.
   * @param awakeMs a monotonic clock that stops while the machine is suspended.
   */
  constructor(upMs = () => uptime() * 1_000, awakeMs = () => performance.now()) {
    this.#upMs = upMs;
    this.#awakeMs = awakeMs;
    this.#lookedMs = awakeMs();
    this.#apartMs = upMs() - this.#lookedMs;
  }

  /**
   * Milliseconds since some instant. `performance.now()` stops while the machine is suspended, for example on Linux,
   * but leases run on. So the clock adds the time by which the machine's uptime has gone ahead of it.
   */
  now(): number {
    const awakeMs = this.#awakeMs();
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
