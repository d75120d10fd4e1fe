// One lease that this client holds: its state, its deadline, and the signal of its end.
//
//   held ── no answer to its renewals ──> uncertain ── an answer ──> held
//     └──────────────┴── its deadline passes, or the server reports its end ──> lost
//
// Lost is final. A lease that is given back while it is held becomes `released`: the signal is aborted, too, and nothing
// renews the lease.

import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import { tokensOf } from "../also.ts";
import type { Clock } from "../clock.ts";
import { type Mode, modeOf } from "../mode.ts";
import { RowlockError } from "../rowlock-error.ts";
import { msOf } from "../times.ts";

/** uncertain: still held, but a renewal is overdue or the connection was lost. */
export type LockState = "held" | "uncertain" | "lost" | "released";

/** Shares of the time to live: a renewal is overdue after the first one, and starts after the second one. */
const OVERDUE_SHARE = 2 / 3;
const RENEWED_SHARE = 1 / 3;
/** If a smaller share is left when a lease arrives, there is too little time for its renewals. */
const SHARE_TO_BEGIN = 1 / 3;
/** An unconfirmed lease that lasts less than so many margins is renewed before anybody relies on it. */
const MARGINS_TO_BEGIN = 4;

export class HeldLease {
  readonly id: string;
  readonly lockName: string;
  readonly token: bigint;
  /** The fencing tokens of all its locks by name, the first one first. */
  readonly tokens: ReadonlyMap<string, bigint>;
  readonly mode: Mode;
  readonly permits: number;
  readonly marginMs: number;
  /** When the client received it, before it acknowledged it. */
  readonly toldMs: number;
  isRenewing = false;
  /** When the next renewal is due. */
  renewAtMs = Number.POSITIVE_INFINITY;
  isProvisional = false;
  /** Whether its present renewal was found to be overdue. */
  isLate = false;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #listeners: ((state: LockState) => void)[] = [];
  /** The state at the last check of the clock. */
  #state: LockState = "held";
  #isOrphan = false;
  /** The ttl in the last answer, in milliseconds. It counts from `#basisMs`. */
  #ttl = Number.POSITIVE_INFINITY;
  #basisMs = 0;

  /** Whether it has terms: its end leaves a mark in the lock's record only if the lease was confirmed. */
  readonly #hasTerms: boolean;

  constructor(lease: Lease, basisMs: number, marginMs: number, clock: Clock, hasTerms = false) {
    this.#hasTerms = hasTerms;
    this.id = lease.leaseId;
    this.lockName = lease.lockName;
    this.token = lease.fencingToken;
    this.tokens = tokensOf(lease);
    this.mode = modeOf(lease.mode);
    this.permits = lease.permits;
    this.marginMs = marginMs;
    this.#clock = clock;
    this.toldMs = clock.now();
    this.prolonged(lease, basisMs);
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** When the client counts it as lost, by the client's clock; the work must have stopped `marginMs` later. */
  get deadlineMs(): number {
    return this.#basisMs + this.#ttl - this.marginMs;
  }

  /**
   * Whether the client must renew it before anybody relies on it: the grant took long to arrive, or the lease is not
   * confirmed yet and leaves too little time or has terms.
   */
  get isTooEarly(): boolean {
    const isLate = this.remainingMs < this.#ttl * SHARE_TO_BEGIN;
    const isBrief = this.#ttl < this.marginMs * MARGINS_TO_BEGIN;
    return isLate || (this.isProvisional && (isBrief || this.#hasTerms));
  }

  /** Half of the way to its next renewal: from then on it may be renewed together with others. */
  get mayRenewAtMs(): number {
    return (this.#basisMs + this.renewAtMs) / 2;
  }

  get state(): LockState {
    this.look();
    return this.#state;
  }

  /** When its renewal is overdue, by the client's clock. */
  get overdueAtMs(): number {
    return this.#basisMs + this.#ttl * OVERDUE_SHARE;
  }

  /** Whether its holder must not rely on it any more. */
  get isLost(): boolean {
    return this.#over.signal.aborted;
  }

  /** Whether its deadline has passed, even if it was given back. */
  get isPastDeadline(): boolean {
    return this.#clock.now() >= this.deadlineMs;
  }

  /** The time until the deadline; 0 if it is lost. */
  get remainingMs(): number {
    return this.isLost ? 0 : Math.max(0, this.deadlineMs - this.#clock.now());
  }

  /** Takes the server's new ttl, which counts from `basisMs`. */
  prolonged({ ttl, provisional }: Lease, basisMs: number): void {
    this.#ttl = ttl ? msOf(ttl) : Number.POSITIVE_INFINITY;
    this.#basisMs = basisMs;
    this.isProvisional = provisional;
    this.#isOrphan = false;
    this.isLate = false;
    this.renewAtMs = basisMs + this.#ttl * RENEWED_SHARE;
    this.look();
  }

  /** Notes that the connection that brought the last answer about it is gone. */
  orphaned(): void {
    this.#isOrphan = true;
    this.look();
  }

  /** Calls `listener` with each new state, in a microtask, but not when the lease is given back. */
  listen(listener: (state: LockState) => void): void {
    this.#listeners.push(listener);
    if (this.#state !== "held") this.#notify(listener);
  }

  #become(state: LockState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) this.#notify(listener);
  }

  /** Calls a listener in a microtask, so that its exceptions do not reach the code that checked the state. */
  #notify(listener: (state: LockState) => void): void {
    const state = this.#state;
    queueMicrotask(() => listener(state));
  }

  /** Checks the clock: updates the state, and loses the lease if its deadline has passed. */
  look(): void {
    if (this.isLost) return;
    const nowMs = this.#clock.now();
    if (nowMs < this.deadlineMs) {
      this.#become(this.#isOrphan || nowMs >= this.overdueAtMs ? "uncertain" : "held");
      return;
    }
    this.lose(
      new RowlockError(
        "LEASE_LOST",
        "FAILED_PRECONDITION",
        `The lease on "${this.lockName}" was not renewed in time, so others may hold the lock.`,
        { end: { reason: "EXPIRED" } },
      ),
    );
  }

  lose(why: RowlockError): void {
    if (this.isLost) return;
    this.#over.abort(why);
    this.#become("lost");
  }

  giveBack(): void {
    this.#listeners.length = 0;
    if (this.isLost) return;
    const message = `The lock "${this.lockName}" was released by this client.`;
    this.#state = "released";
    this.#over.abort(new RowlockError("RELEASED", "CANCELLED", message));
  }
}
