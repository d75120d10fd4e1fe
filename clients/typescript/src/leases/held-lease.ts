// One lease that this client holds: until when its holder may count on it, and the signal that says that it is over.
//
//   held ── no answer to its renewals ──> uncertain ── an answer ──> held
//     └──────────────┴── its time is over, or the server says that it has ended ──> lost
//
// Lost is final. So is given back: then the signal is aborted, too, and nothing renews it.

import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { Clock } from "../clock.ts";
import { type Mode, modeOf } from "../modes.ts";
import { RowlockError } from "../rowlock-error.ts";
import { msOf } from "../times.ts";

/** uncertain: a renewal is overdue, but there is time left. */
export type LockState = "held" | "uncertain" | "lost";

/** A renewal that has not succeeded by this share of the time to live is overdue; the first one begins at half of it. */
const OVERDUE_SHARE = 2 / 3;
const RENEWED_SHARE = 1 / 3;
/** Of one that was longer on its way, too little is left for its renewals. */
const SHARE_TO_BEGIN = 1 / 3;
/** A lease that waits for its confirmation must last for so many margins, or it is renewed before anybody relies on it. */
const MARGINS_TO_BEGIN = 4;

export class HeldLease {
  readonly id: string;
  readonly lockName: string;
  readonly token: bigint;
  readonly mode: Mode;
  readonly permits: number;
  readonly marginMs: number;
  /** When this client was told of it, and had not acknowledged it yet. */
  readonly toldMs: number;
  isRenewing = false;
  /** When the next renewal is due. */
  renewAtMs = Number.POSITIVE_INFINITY;
  isProvisional = false;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #listeners: ((state: LockState) => void)[] = [];
  /** As of the last look. */
  #state: LockState = "held";
  #isOrphan = false;
  /** In milliseconds, as of the last answer. */
  #ttl = Number.POSITIVE_INFINITY;
  #basisMs = 0;

  /** Its end leaves a mark in the lock's record only where the server knows that somebody came for it. */
  readonly #hasTerms: boolean;

  constructor(lease: Lease, basisMs: number, marginMs: number, clock: Clock, hasTerms = false) {
    this.#hasTerms = hasTerms;
    this.id = lease.leaseId;
    this.lockName = lease.lockName;
    this.token = lease.fencingToken;
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

  /** By the client's clock: the work must have stopped `marginMs` later at the latest. */
  get deadlineMs(): number {
    return this.#basisMs + this.#ttl - this.marginMs;
  }

  /**
   * Whether it has to be renewed before anybody relies on it: a grant that was long on its way, or one that is not confirmed yet
   * and that leaves too little time to begin with, or has terms.
   */
  get isTooEarly(): boolean {
    const isLate = this.remainingMs < this.#ttl * SHARE_TO_BEGIN;
    const isBrief = this.#ttl < this.marginMs * MARGINS_TO_BEGIN;
    return isLate || (this.isProvisional && (isBrief || this.#hasTerms));
  }

  /** Half of the time until its renewal would be due has passed: it may come along with others. */
  get mayRenewAtMs(): number {
    return (this.#basisMs + this.renewAtMs) / 2;
  }

  get state(): LockState {
    this.look();
    return this.#state;
  }

  /** By the client's clock: its renewal is overdue. */
  get overdueAtMs(): number {
    return this.#basisMs + this.#ttl * OVERDUE_SHARE;
  }

  /** Whether its holder must not count on it any more. */
  get isLost(): boolean {
    return this.#over.signal.aborted;
  }

  /** Time left, as far as its holder may count on it. */
  get remainingMs(): number {
    return this.isLost ? 0 : Math.max(0, this.deadlineMs - this.#clock.now());
  }

  /** The server has said how long it lasts, in an answer of `basisMs` or later. */
  prolonged({ ttl, provisional }: Lease, basisMs: number): void {
    this.#ttl = ttl ? msOf(ttl) : Number.POSITIVE_INFINITY;
    this.#basisMs = basisMs;
    this.isProvisional = provisional;
    this.#isOrphan = false;
    this.renewAtMs = basisMs + this.#ttl * RENEWED_SHARE;
    this.look();
  }

  /** The session in which it was last heard of is gone. */
  orphaned(): void {
    this.#isOrphan = true;
    this.look();
  }

  /** Calls it with each new state, not in this turn; not when it is given back. */
  listen(listener: (state: LockState) => void): void {
    this.#listeners.push(listener);
    if (this.#state !== "held") this.#tell(listener);
  }

  #become(state: LockState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) this.#tell(listener);
  }

  /** What it throws is not for whoever has looked. */
  #tell(listener: (state: LockState) => void): void {
    const state = this.#state;
    queueMicrotask(() => listener(state));
  }

  /** Lost if its time is over. */
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
        { metadata: { end_reason: "EXPIRED" } },
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
    this.lose(
      new RowlockError("RELEASED", "CANCELLED", `The lock "${this.lockName}" was released by this client.`),
    );
  }
}
