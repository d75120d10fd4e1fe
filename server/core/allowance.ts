// A bound on a rate: what one span of time allows may be taken at once, and comes back evenly over such a span. Pure: the
// caller passes the time, and the bound, which may change in between.

export interface Rate {
  readonly most: number;
  readonly spanMs: number;
}

export class Allowance {
  #taken = 0;
  #atMs = 0;
  #rate: Rate = { most: 0, spanMs: 1 };

  /** Takes up to `wanted`. Returns how many were taken. */
  take(wanted: number, rate: Rate, nowMs: number): number {
    this.#giveBack(nowMs);
    this.#rate = rate;
    const given = Math.max(0, Math.min(wanted, Math.floor(rate.most - this.#taken)));
    this.#taken += given;
    return given;
  }

  /** After a `take` that got nothing: time until one can be taken. */
  get waitMs(): number {
    const { most, spanMs } = this.#rate;
    return most === 0 ? spanMs : Math.ceil(((this.#taken + 1 - most) * spanMs) / most);
  }

  /** How much of it is taken and has not come back. */
  taken(nowMs: number): number {
    this.#giveBack(nowMs);
    return this.#taken;
  }

  /** Whether nothing of it is taken. */
  isWhole(nowMs: number): boolean {
    return this.taken(nowMs) === 0;
  }

  #giveBack(nowMs: number): void {
    const { most, spanMs } = this.#rate;
    this.#taken = Math.max(0, this.#taken - ((nowMs - this.#atMs) * most) / spanMs);
    this.#atMs = nowMs;
  }
}
