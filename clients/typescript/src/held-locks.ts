// The locks that this client has handed to its user: what becomes of them when they are released, handed over, or the client
// is closed.

import type { HeldLease } from "./leases/held-lease.ts";
import type { LeaseKeeper } from "./leases/lease-keeper.ts";
import type { LeftBehind } from "./leases/left-behind.ts";
import { Lock } from "./lock.ts";
import type { Forever } from "./options.ts";
import type { RecordOptions, ReleaseOptions } from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";
import type { Released, Verbs } from "./verbs.ts";

type Asked = RecordOptions & { readonly ttl?: number | Forever };

export class HeldLocks {
  readonly #keeper: LeaseKeeper;
  readonly #verbs: Verbs;
  readonly #leftBehind: LeftBehind;
  readonly #locks = new Map<HeldLease, Lock>();
  readonly #hadEnded = new WeakSet<Lock>();

  constructor(keeper: LeaseKeeper, verbs: Verbs, leftBehind: LeftBehind) {
    this.#keeper = keeper;
    this.#verbs = verbs;
    this.#leftBehind = leftBehind;
  }

  /** The same for the same lease, which may have been asked for twice under one request id. */
  add(lease: HeldLease, asked: Asked): Lock {
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

  releaseAll(): void {
    for (const lock of [...this.#locks.values()]) lock.release().catch(() => {});
  }

  /** Of what nobody wants any more, unless another call has it. */
  giveBack(id: string, asked: Asked): void {
    if (!this.#keeper.find(id)) this.#unused(id, asked).catch((error) => this.#unheard(id, asked, error));
  }

  /** A release that does not arrive: a lease ends by itself then, unless it has no end. */
  #unheard(id: string, { ttl }: Asked, error: unknown): void {
    const isInDoubt = error instanceof RowlockError && (error.isTransient || error.reason === "CLOSED");
    if (ttl === "forever" && isInDoubt) this.#leftBehind.addClaim(id);
  }

  /** Of a lease that was kept and that nobody was told of. */
  letGo(lease: HeldLease, asked: Asked): void {
    this.#forget(lease);
    this.giveBack(lease.id, asked);
  }

  /** What was never used does not count as a run, after which the next one is not due yet. */
  async #unused(id: string, { minInterval }: Asked): Promise<void> {
    try {
      await this.#verbs.release(id, minInterval === undefined ? {} : { coolDown: 0 });
    } catch (error) {
      // A ticket leaves the queue without a word about the lock.
      if (!(error instanceof RowlockError) || error.reason !== "NOT_GRANTED_YET") throw error;
      await this.#verbs.release(id);
    }
  }

  async #release(lease: HeldLease, asked: Asked, options: ReleaseOptions): Promise<Released> {
    const isHeld = lease.state !== "lost";
    // By then it has ended by itself.
    const withinMs = lease.remainingMs + lease.marginMs;
    this.#forget(lease);
    if (isHeld) {
      try {
        return await this.#verbs.release(lease.id, options, withinMs);
      } catch (error) {
        this.#unheard(lease.id, asked, error);
        throw error;
      }
    }
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
