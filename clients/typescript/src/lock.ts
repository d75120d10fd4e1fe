// A lock that is held, as its user sees it.

import type { HeldLease, LockState } from "./leases/held-lease.ts";
import type { Mode } from "./modes.ts";
import type { ReleaseOptions } from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";

export interface LockVerbs {
  /** Ends the lease; whether it was this call that ended it. */
  readonly release: (lease: HeldLease, options: ReleaseOptions) => Promise<boolean>;
  /** Renews it once more, and then no more. */
  readonly handOver: (lease: HeldLease, ttlMs?: number) => Promise<void>;
}

export class Lock implements AsyncDisposable {
  readonly name: string;
  /** The fencing token: strictly rising for each lock. Send it with every write to what the lock protects. */
  readonly token: bigint;
  /** Secret: whoever knows it can renew and release the lease. */
  readonly leaseId: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly #lease: HeldLease;
  readonly #verbs: LockVerbs;
  #released: Promise<boolean> | undefined;

  constructor(lease: HeldLease, verbs: LockVerbs) {
    this.name = lease.lockName;
    this.token = lease.token;
    this.leaseId = lease.id;
    this.mode = lease.mode;
    this.permits = lease.permits;
    this.#lease = lease;
    this.#verbs = verbs;
  }

  /** Aborted when the lease is or may be lost, before others can have it, and when it is released. Looks at the clock. */
  get signal(): AbortSignal {
    this.#lease.look();
    return this.#lease.signal;
  }

  /**
   * `held`; `uncertain`: still held, but its renewals are not getting through; `lost`: its time is over, or the server says
   * that it has ended, or it was released. Looks at the clock.
   */
  get state(): LockState {
    return this.#lease.state;
  }

  /** Has `call` called with each new state; not when it is released. */
  onState(call: (state: LockState) => void): void {
    this.#lease.listen(call);
  }

  /** Milliseconds for which it can be counted on if nothing is heard of a server any more. */
  get remainingMs(): number {
    return this.#lease.remainingMs;
  }

  /**
   * Gives it back: the next in the queue has it at once. Resolves with whether it was held until then. Can be called twice.
   * Rejects if no server answers: the lease then ends by itself; one without end is released as soon as a server answers.
   * `options` say what the lock remembers, the first time.
   */
  release(options: ReleaseOptions = {}): Promise<boolean> {
    this.#released ??= this.#verbs.release(this.#lease, options);
    return this.#released;
  }

  /**
   * Renews it once more, to `ttl` milliseconds where that is given, and leaves it at that: from now on it belongs to whoever
   * has its `leaseId`.
   */
  async handOver(ttl?: number): Promise<{ readonly leaseId: string; readonly token: bigint }> {
    await this.#verbs.handOver(this.#lease, ttl);
    this.#released = Promise.resolve(false);
    return { leaseId: this.leaseId, token: this.token };
  }

  /** Releases it. Where no server answers it ends by itself, so that is no error here. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      if (!(error instanceof RowlockError) || error.code !== "UNAVAILABLE") throw error;
    }
  }
}
