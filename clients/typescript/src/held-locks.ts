// The locks that the user of this client holds: it releases them, hands them over, and gives back claims that nobody
// wants.

import type { HeldLease } from "./leases/held-lease.ts";
import type { LeaseKeeper } from "./leases/lease-keeper.ts";
import type { LeftBehind } from "./leases/left-behind.ts";
import { Lock } from "./lock.ts";
import type { Forever } from "./options.ts";
import type { RecordOptions, ReleaseOptions } from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";
import type { Released, Verbs } from "./verbs.ts";

type Asked = RecordOptions & { readonly ttl?: number | Forever; readonly requestId?: string };

/** Node may call a timer so much before its time. */
const TIMER_EARLY_MS = 2;

export class HeldLocks {
  readonly #keeper: LeaseKeeper;
  readonly #verbs: Verbs;
  readonly #leftBehind: LeftBehind;
  readonly #onReleased: (leaseId: string, requestId: string) => void;
  readonly #locks = new Map<HeldLease, Lock>();
  readonly #hadEnded = new WeakSet<Lock>();
  readonly #ifRefused = new WeakMap<Lock, ReleaseOptions>();

  /** `onReleased` gets each lease that is released and that a caller has got by a request id of its own. */
  constructor(
    keeper: LeaseKeeper,
    verbs: Verbs,
    leftBehind: LeftBehind,
    onReleased: (leaseId: string, requestId: string) => void,
  ) {
    this.#keeper = keeper;
    this.#verbs = verbs;
    this.#leftBehind = leftBehind;
    this.#onReleased = onReleased;
  }

  /** Returns the lock of a lease; the same one if two calls with one request id got the same lease. */
  add(lease: HeldLease, asked: Asked): Lock {
    const known = this.#locks.get(lease);
    if (known) return known;
    const lock: Lock = new Lock(lease, {
      release: async (held, options) => {
        let hadEnded = false;
        try {
          const released = await this.#release(held, asked, options, this.#ifRefused.get(lock));
          hadEnded = released.hadEnded;
          return released.released;
        } catch (error) {
          hadEnded = held.isPastDeadline;
          throw error;
        } finally {
          if (hadEnded) this.#hadEnded.add(lock);
        }
      },
      handOver: (held, ttlMs) => this.#handOver(held, ttlMs),
    });
    this.#locks.set(lease, lock);
    return lock;
  }

  find(leaseId: string): Lock | undefined {
    const lease = this.#keeper.find(leaseId);
    return lease && this.#locks.get(lease);
  }

  /** Whether the lease had ended before a server confirmed the lock's release, unnoticed by this client. */
  hadEnded(lock: Lock): boolean {
    return this.#hadEnded.has(lock);
  }

  /** If the server refuses what a release of the lock says, the lock is given back with these options. */
  ifRefused(lock: Lock, options: ReleaseOptions): void {
    this.#ifRefused.set(lock, options);
  }

  releaseAll(): void {
    for (const lock of [...this.#locks.values()]) lock.release().catch(() => {});
  }

  /** Gives back a claim that nobody wants any more, unless another call holds it. */
  giveBack(id: string, asked: Asked): void {
    if (!this.#keeper.find(id)) this.#unused(id, asked).catch((error) => this.#unheard(id, asked, error));
  }

  /** Takes a failed release: if it is in doubt, a lease without end is left behind; any other ends by itself. */
  #unheard(id: string, { ttl }: Asked, error: unknown): void {
    const isInDoubt = error instanceof RowlockError && error.leavesInDoubt;
    if (ttl === "forever" && isInDoubt) this.#leftBehind.addClaim(id);
  }

  /** Gives back a lease that is held, but that no caller received. */
  letGo(lease: HeldLease, asked: Asked): void {
    this.#forget(lease);
    this.giveBack(lease.id, asked);
  }

  /**
   * Releases a claim that nobody used, in no trace, as no caller asks for it. A lease must not start the `minInterval`
   * of a run, so its cool-down is 0.
   */
  async #unused(id: string, { minInterval }: Asked): Promise<void> {
    const release = (options: ReleaseOptions) => this.#verbs.release(id, options, undefined, "");
    try {
      await release(minInterval === undefined ? {} : { coolDown: 0 });
    } catch (error) {
      // A ticket can only leave the queue without changes to the lock's record.
      if (!(error instanceof RowlockError) || error.reason !== "NOT_GRANTED_YET") throw error;
      await release({});
    }
  }

  async #release(
    lease: HeldLease,
    asked: Asked,
    options: ReleaseOptions,
    ifRefused?: ReleaseOptions,
  ): Promise<Released> {
    lease.look();
    const isHeld = !lease.isLost;
    // After so long the lock counts as lost.
    const withinMs = lease.remainingMs + TIMER_EARLY_MS;
    this.#forget(lease);
    if (asked.requestId !== undefined) this.#onReleased(lease.id, asked.requestId);
    if (isHeld) {
      try {
        return await this.#verbs.release(lease.id, options, withinMs, undefined, ifRefused);
      } catch (error) {
        this.#unheard(lease.id, asked, error);
        throw error;
      }
    }
    // Perhaps only this client counts it as lost, and the server still keeps it. If the lock's record is to remember
    // the loss, the lease has to end by itself.
    const { statusIfLost, lockDelay, minInterval, backoff } = asked;
    if ([statusIfLost, lockDelay, minInterval, backoff].every((each) => each === undefined))
      this.giveBack(lease.id, asked);
    return { released: false, hadEnded: false };
  }

  async #handOver(lease: HeldLease, ttlMs?: number): Promise<void> {
    await this.#verbs.renew(lease.id, ttlMs);
    this.#forget(lease);
  }

  #forget(lease: HeldLease): void {
    this.#locks.delete(lease);
    this.#keeper.drop(lease);
    lease.giveBack();
  }
}
