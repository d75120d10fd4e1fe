// One open call of a session. To the methods, it is like a call outside sessions. Ends early by the client's Cancel, by
// its timeout, or with the session.

import type { Claim, ClaimRef } from "../../core/claim.ts";
import type { AnyCall } from "../handler.ts";
import type { SessionLease, SessionLeases } from "./session-leases.ts";

/** What all calls of a session share. */
export interface CallSource {
  readonly peer: string;
  readonly leases: Pick<SessionLeases, "decided" | "keptUnheard" | "answered" | "endOf" | "toldEnded">;
}

export class SessionCall implements AnyCall {
  /** Nobody waits for the answer any more. */
  cancelled = false;
  /** Set before a Cancel cancels the call. */
  isGivenUp = false;
  readonly number: bigint;
  readonly method: string;
  /** Whether its request counts as a wait. */
  readonly isWait: boolean;
  readonly startedMs = performance.now();
  readonly source: CallSource;
  /** Leases that its answer is to report. */
  #decided: SessionLease[] | undefined;
  #isOver = false;
  #onCancelled: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(number: bigint, method: string, isWait: boolean, source: CallSource) {
    this.number = number;
    this.method = method;
    this.isWait = isWait;
    this.source = source;
  }

  getPeer(): string {
    return this.source.peer;
  }

  holds(lease: Claim): void {
    if (this.#isOver) this.source.leases.keptUnheard(lease);
    const decided = this.#isOver ? undefined : this.source.leases.decided(lease);
    if (!decided) return;
    if (this.#decided) this.#decided.push(decided);
    else this.#decided = [decided];
  }

  endOf(lease: ClaimRef): Claim | undefined {
    return this.source.leases.endOf(lease);
  }

  tellsEnd(lease: ClaimRef, how?: Claim): void {
    this.source.leases.toldEnded(lease, how);
  }

  once(_event: "cancelled", listener: () => void): void {
    this.#onCancelled = listener;
  }

  off(): void {
    this.#onCancelled = undefined;
  }

  /** Calls `over` after the timeout, unless the call has ended by then. */
  limitTo(timeoutMs: number, over: () => void): void {
    this.#timer = setTimeout(over, timeoutMs);
  }

  /** Its method has finished. By now the client has been sent the answer, or will never be. */
  workIsOver(): void {
    this.#isOver = true;
    if (this.#decided) this.source.leases.answered(this.#decided);
    this.#decided = undefined;
  }

  /** The call has ended, so its timeout is cleared. */
  finish(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the call early and notifies its method: nobody waits for the answer any more. */
  cancel(): void {
    this.finish();
    this.cancelled = true;
    this.#onCancelled?.();
  }
}
