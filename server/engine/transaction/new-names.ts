// Bounds how many new names of locks this server creates per second: each one leaves a row in the database for days,
// and an entry in the server's caches. Names that exist already do not count.

import { NEW_NAMES_BURST_S } from "../engine-bounds.ts";

export class NewNames {
  readonly #perSecond: number;
  readonly #nowMs: () => number;
  #left: number;
  #atMs: number;

  constructor(perSecond: number, nowMs: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#nowMs = nowMs;
    this.#left = perSecond * NEW_NAMES_BURST_S;
    this.#atMs = nowMs();
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** Returns how many of `wanted` new names may be created now, and counts these as created. */
  take(wanted: number): number {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return wanted;
    const nowMs = this.#nowMs();
    const earned = ((nowMs - this.#atMs) / 1_000) * this.#perSecond;
    this.#left = Math.min(this.#perSecond * NEW_NAMES_BURST_S, this.#left + earned);
    this.#atMs = nowMs;
    const taken = Math.min(wanted, Math.floor(this.#left));
    this.#left -= taken;
    return taken;
  }
}
