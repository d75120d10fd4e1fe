// A held lock, as its user sees it.

import { checkOptions, RELEASE } from "./checked-options.ts";
import type { HeldLease, LockState } from "./leases/held-lease.ts";
import type { Mode } from "./mode.ts";
import type { ReleaseOptions } from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";

export interface LockVerbs {
  /** Ends the lease; resolves with whether this call ended it. */
  readonly release: (lease: HeldLease, options: ReleaseOptions) => Promise<boolean>;
  /** Renews the lease once more, and stops renewing it. */
  readonly handOver: (lease: HeldLease, ttlMs?: number) => Promise<void>;
}

/** A lease that now belongs to the process that has its id. */
export interface HandedOver {
  /** A secret: anybody who knows it can renew and release the lease. */
  readonly leaseId: string;
  readonly token: bigint;
  /** The fencing tokens of all its locks by name. */
  readonly tokens: ReadonlyMap<string, bigint>;
}

/** A held lock, or several that one claim holds together. The client renews its lease until it is released or lost. */
export class Lock implements AsyncDisposable {
  /** Of several, the first. */
  readonly name: string;
  /** The fencing token, higher with each grant of a lock. Send it with every write to what the lock protects. */
  readonly token: bigint;
  /** The fencing tokens of all its locks by name, the first one first. */
  readonly tokens: ReadonlyMap<string, bigint>;
  /** The id of the lease. It is a secret: anybody who knows it can renew and release the lease. */
  readonly leaseId: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly #lease: HeldLease;
  readonly #verbs: LockVerbs;
  #released: Promise<boolean> | undefined;

  constructor(lease: HeldLease, verbs: LockVerbs) {
    this.name = lease.lockName;
    this.token = lease.token;
    this.tokens = lease.tokens;
    this.leaseId = lease.id;
    this.mode = lease.mode;
    this.permits = lease.permits;
    this.#lease = lease;
    this.#verbs = verbs;
  }

  /** Returns the fencing token of one of its locks. Throws a RangeError for a name that the claim has not. */
  tokenOf(name: string): bigint {
    const token = this.tokens.get(name);
    if (token !== undefined) return token;
    const names = [...this.tokens.keys()].map((each) => JSON.stringify(each)).join(", ");
    throw new RangeError(`This claim has no lock ${JSON.stringify(name)}: it has ${names}.`);
  }

  /**
   * Aborted when the lease is or may be lost, before others can have the lock, and when the lock is released. Its
   * reason is a RowlockError with LEASE_LOST or RELEASED. Reading it checks the clock.
   */
  get signal(): AbortSignal {
    this.#lease.look();
    return this.#lease.signal;
  }

  /**
   * `held`; `uncertain`: still held, but a renewal is overdue or the connection was lost; `lost`: its deadline has
   * passed, or the server reports that it has ended; `released`: this client released it or handed it over. Reading it
   * checks the clock.
   */
  get state(): LockState {
    return this.#lease.state;
  }

  /** Calls `call` with each new state, but not when the lock is released. */
  onState(call: (state: LockState) => void): void {
    this.#lease.listen(call);
  }

  /** Milliseconds for which the holder may rely on the lock without a further renewal; Infinity: without end. */
  get remainingMs(): number {
    return this.#lease.remainingMs;
  }

  /**
   * Releases the lock, so that the server can grant it to the next waiter at once. Resolves with whether it was held
   * until then; a second call returns the result of the first. Rejects with a RowlockError if no server answers: the
   * lease then ends by itself, and one without end is released as soon as a server answers. The `options` of the first
   * call set what the lock remembers.
   */
  async release(options: ReleaseOptions = {}): Promise<boolean> {
    checkOptions(options, RELEASE);
    this.#released ??= this.#verbs.release(this.#lease, options);
    return await this.#released;
  }

  /**
   * Renews the lease once more, with a new `ttl` in milliseconds if given, and stops renewing it. From then on it
   * belongs to the process that has its `leaseId`, and this lock counts as released.
   */
  async handOver(ttl?: number): Promise<HandedOver> {
    await this.#verbs.handOver(this.#lease, ttl);
    this.#released = Promise.resolve(false);
    return { leaseId: this.leaseId, token: this.token, tokens: this.tokens };
  }

  /** Releases the lock. It does not reject if no server answers, as the lease then ends by itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      if (!(error instanceof RowlockError) || error.code !== "UNAVAILABLE") throw error;
    }
  }
}
