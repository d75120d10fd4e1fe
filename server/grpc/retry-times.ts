// Says whether a client's calls wait for too long, and when those that are refused for that are to come back: one after
// the other, at half the rate at which the client is served. So they do not all return at once, and however many callers
// a client has, the server spends little on refusing the same calls again.

import { LATE_MS, RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS, RETRY_AFTER_STEP_MS } from "./grpc-bounds.ts";

export class RetryTimes {
  /** When the call that was refused last is to come back. */
  #lastMs = Number.NEGATIVE_INFINITY;

  /**
   * undefined: another call would not wait for too long. Otherwise, after how many milliseconds it is to come back; each
   * such answer takes the next time.
   *
   * @param sinceMs when the first of the calls that wait now began to wait.
   * @param calls how many wait now.
   */
  ifLate(nowMs: number, sinceMs: number, calls: number): number | undefined {
    const firstMs = nowMs - sinceMs;
    if (firstMs <= LATE_MS) return undefined;
    // The calls that wait now came while the first of them waited. About as many were served in that time.
    const servedEachMs = firstMs / calls;
    const soonestMs = Math.max(this.#lastMs, nowMs + RETRY_AFTER_MIN_MS);
    this.#lastMs = Math.min(soonestMs + 2 * servedEachMs, nowMs + RETRY_AFTER_MAX_MS);
    return Math.ceil((this.#lastMs - nowMs) / RETRY_AFTER_STEP_MS) * RETRY_AFTER_STEP_MS;
  }
}
