// One open call of a session, as the methods see it: they know no difference from a call of its own. Ends early by the
// client's Cancel, by its timeout, or with the session.

import type { Claim, ClaimRef } from "../../core/claim.ts";
import type { AnyCall } from "../handler.ts";
import type { SessionLease, SessionLeases } from "./session-leases.ts";

/** What all calls of a session have in common. */
export interface CallSource {
  readonly peer: string;
  readonly leases: Pick<SessionLeases, "decided" | "keptUnheard" | "answered" | "endOf" | "toldEnded">;
}

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
  readonly source: CallSource;
  /** Leases of which its answer is to tell. */
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

  /** Calls `over` unless the call has ended by then. */
  limitTo(timeoutMs: number, over: () => void): void {
    this.#timer = setTimeout(over, timeoutMs);
  }

  /** Its method has nothing more to do. Whether anybody was told is settled by then. */
  workIsOver(): void {
    this.#isOver = true;
    if (this.#decided) this.source.leases.answered(this.#decided);
    this.#decided = undefined;
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
