// Copies of cached rows, in the form of a load. A decision gets copies because it changes what it is given.

import { DUE_MAX, FORCE_RELEASE_MAX } from "../../core/bounds.ts";
import type { Claim, ClaimKey } from "../../core/claim.ts";
import type { Clock } from "../../core/database-clock.ts";
import type { Lock } from "../../core/lock.ts";
import { inState, type LiveClaims } from "./live-claims.ts";

/** The original rows. The decision changes the loaded ones, so a comparison with these shows what to write. */
export interface Before {
  lock(id: bigint): Lock | undefined;
  /** Undefined: the claim was not read. */
  claim(key: ClaimKey): Claim | undefined;
}

export interface KnownLock {
  readonly lock: Lock;
  readonly claims: LiveClaims;
}

/** Contains each claim once. */
export class Copies implements Before {
  readonly locks = new Map<bigint, Lock>();
  readonly asked = new Set<Claim>();
  readonly queues = new Map<bigint, { readonly head: readonly Claim[]; readonly complete: boolean }>();
  readonly #clock: Clock;
  readonly #originals = new Map<bigint, KnownLock>();
  readonly #claims = new Map<Claim, Claim>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  lock(id: bigint): Lock | undefined {
    return this.#originals.get(id)?.lock;
  }

  claim({ lockId, ticketNumber }: ClaimKey): Claim | undefined {
    return this.#originals.get(lockId)?.claims.all.get(ticketNumber);
  }

  /**
   * Adds the lock, its due claims and the head of its queue. Returns false if the database must be read: too little of
   * the queue is cached, a place seems to have run out, or the uncertain clock leaves open whether a lease has ended or
   * the lock is due.
   */
  take(known: KnownLock, heads: number): boolean {
    const { lock, claims } = known;
    this.locks.set(lock.id, { ...lock });
    this.#originals.set(lock.id, known);
    const { nowUs, atLeastUs } = this.#clock;
    const notBeforeUs = lock.record?.notBeforeUs ?? 0;
    if (notBeforeUs > atLeastUs && notBeforeUs <= nowUs) return false;
    const head: Claim[] = [];
    let due = 0;
    for (const claim of claims.all.values()) {
      const deadlineUs = claim.deadlineUs ?? Number.POSITIVE_INFINITY;
      const isDue = deadlineUs <= atLeastUs;
      if (deadlineUs <= nowUs && (claim.state === "waiting" || !isDue)) return false;
      if (claim.state === "waiting") {
        if (head.length < heads) head.push(this.#copy(claim));
      } else if (isDue && ++due <= DUE_MAX) this.ask(claim);
    }
    const complete = head.length === lock.waiting;
    if (lock.waiting > 0) this.queues.set(lock.id, { head, complete });
    return complete || head.length === heads;
  }

  takeHolders({ all }: LiveClaims): void {
    for (const claim of inState(all, "held").slice(0, FORCE_RELEASE_MAX)) this.ask(claim);
  }

  ask(claim: Claim): void {
    this.asked.add(this.#copy(claim));
  }

  #copy(claim: Claim): Claim {
    const taken = this.#claims.get(claim);
    if (taken) return taken;
    const copy = { ...claim };
    this.#claims.set(claim, copy);
    return copy;
  }
}
