// The locks that this client has handed to its user: what becomes of them when they are released, handed over, or the client
// is closed.

import type { HeldLease } from "./leases/held-lease.ts";
import type { LeaseKeeper } from "./leases/lease-keeper.ts";
import { Lock } from "./lock.ts";
import type { RecordOptions, ReleaseOptions } from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";
import type { Released, Verbs } from "./verbs.ts";

export class HeldLocks {
  readonly #keeper: LeaseKeeper;
  readonly #verbs: Verbs;
  readonly #locks = new Map<HeldLease, Lock>();
  readonly #hadEnded = new WeakSet<Lock>();

  constructor(keeper: LeaseKeeper, verbs: Verbs) {
    this.#keeper = keeper;
    this.#verbs = verbs;
  }

  /** The same for the same lease, which may have been asked for twice under one request id. */
  add(lease: HeldLease, asked: RecordOptions): Lock {
    const known = this.#locks.get(lease);
    if (known) return known;
    const lock: Lock = new Lock(lease, {
      release: async (held, options) => {
        const { released, hadEnded } = await this.#release(held, asked, options);
        if (hadEnded) this.#hadEnded.add(lock);
        return released;
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

  /** Whether its release has found that its lease had ended before, which nobody knew. */
  hadEnded(lock: Lock): boolean {
    return this.#hadEnded.has(lock);
  }

  /** Who cannot be told now ends by itself, with its time to live. */
  releaseAll(): void {
    for (const lock of [...this.#locks.values()]) lock.release().catch(() => {});
  }

  /** Of what nobody wants any more, unless another call has it. If it does not arrive, it ends by itself. */
  giveBack(id: string, asked: RecordOptions): void {
    if (!this.#keeper.find(id)) this.#unused(id, asked).catch(() => {});
  }

  /** Of a lease that was kept and that nobody was told of. */
  letGo(lease: HeldLease, asked: RecordOptions): void {
    this.#forget(lease);
    this.giveBack(lease.id, asked);
  }

  /** What was never used does not count as a run, after which the next one is not due yet. */
  async #unused(id: string, { minInterval }: RecordOptions): Promise<void> {
    try {
      await this.#verbs.release(id, minInterval === undefined ? {} : { coolDown: 0 });
    } catch (error) {
      // A ticket leaves the queue without a word about the lock.
      if (!(error instanceof RowlockError) || error.reason !== "NOT_GRANTED_YET") throw error;
      await this.#verbs.release(id);
    }
  }

  async #release(lease: HeldLease, asked: RecordOptions, options: ReleaseOptions): Promise<Released> {
    const isHeld = lease.state !== "lost";
    // By then it has ended by itself.
    const withinMs = lease.remainingMs + lease.marginMs;
    this.#forget(lease);
    if (isHeld) return await this.#verbs.release(lease.id, options, withinMs);
    // It was lost by this client's own count, perhaps, and the server keeps it still. Where the lock shall remember that it
    // was lost, it has to end by itself.
    if (asked.statusIfLost === undefined && asked.lockDelay === undefined && asked.minInterval === undefined)
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
