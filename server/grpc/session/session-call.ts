// One open call of a session, as the methods see it: they know no difference from a call of its own. Ends early by the
// client's Cancel, by its timeout, or with the session.

import type { AnyCall } from "../handler.ts";

export class SessionCall implements AnyCall {
  /** Whether nobody waits for its answer any more. */
  cancelled = false;
  /** Set before it is cancelled by a Cancel. */
  isGivenUp = false;
  readonly number: bigint;
  readonly method: string;
  /** Whether it waits in a queue, as far as its request says. */
  readonly isWait: boolean;
  readonly startedMs = performance.now();
  readonly #peer: string;
  #onCancelled: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(number: bigint, method: string, isWait: boolean, peer: string) {
    this.number = number;
    this.method = method;
    this.isWait = isWait;
    this.#peer = peer;
  }

  getPeer(): string {
    return this.#peer;
  }

  once(_event: "cancelled", listener: () => void): void {
    this.#onCancelled = listener;
  }

  off(): void {
    this.#onCancelled = undefined;
  }

  /** Calls `over` unless the call has ended by then. */
  limitTo(timeoutMs: number, over: () => void): void {
    this.#timer = setTimeout(over, timeoutMs);
  }

  /** Its method has answered, and no timeout ends it any more. */
  finish(): void {
    clearTimeout(this.#timer);
  }

  /** Nobody waits for its answer any more. */
  cancel(): void {
    this.finish();
    this.cancelled = true;
    this.#onCancelled?.();
  }
}
