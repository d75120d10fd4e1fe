// Bounds the renewals and releases of each client by the leases that it holds and their time to live. A renewal at a pace
// that an honest client may have costs nothing, so holders of many leases may send many; one that comes much sooner, or
// that finds no lease, or one of a lock that its client may not use, takes from a small allowance. A client is the same as
// in admission.ts.

import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import type { ClaimRef } from "../core/claim.ts";
import { RecentMap } from "../core/recent-map.ts";
import * as bounds from "./grpc-bounds.ts";
import { tooManyRenewals } from "./messages/call-error.ts";

export interface RenewalBound {
  /**
   * Counts a call for a lease. Returns a function to call once, with what it cost, when it is over; null: the database
   * could not answer. Throws OVERLOADED while nothing is left of the allowance.
   */
  begin(lease: Pick<ClaimRef, "secret">): (cost: number | null) => void;
  /** Throws OVERLOADED while nothing is left of the allowance. */
  check(): void;
  /** Counts a call for the lease or ticket of a lock that its client may not use: it may have cost a read. */
  denied(): void;
}

/** What a renewal costs that keeps a lease of this ttl, which has run for so long; null: it was not renewed before. */
export function costOfRenewal(ttlUs: number | null, ranUs: number | null): number {
  if (ranUs === null) return 0;
  if (ttlUs === null) return 1;
  return Math.min(1, Math.max(0, 1 - (bounds.RENEWALS_PER_TTL * ranUs) / ttlUs));
}

/** The bounds of all clients. Keeps a bounded number: a client that is forgotten begins anew. */
export class RenewalBounds {
  readonly #ofClients = new RecentMap<unknown, OwnBound>(bounds.RENEWALS_BOUNDED_MAX);

  /** `client`: the name of the principal, the address of the connection, or an object that stands for the session. */
  of(client: unknown): RenewalBound {
    const known = this.#ofClients.get(client);
    const bound = known ?? new OwnBound();
    // Also for a known one: those that are used stay.
    this.#ofClients.set(client, bound);
    return bound;
  }

  get bound(): BoundUse {
    const clients = [...this.#ofClients.keys()];
    const used = clients.map((client) => this.#ofClients.get(client)?.used ?? 0);
    return mostUsed("client_renewals", used, bounds.RENEWALS_SPARE);
  }
}

class OwnBound implements RenewalBound {
  /** Secrets of leases with a call under way: each is unique, and a call without the right one finds no lease. */
  readonly #underWay = new Set<string>();
  /** What is left of the allowance; below 0 while calls that were under way together have cost more than was left. */
  #left = bounds.RENEWALS_SPARE;
  /** Calls of about the last RENEWALS_PROVEN_MS that cost nothing: who holds many leases has made many. */
  #proven = 0;
  #atMs = performance.now();

  get used(): number {
    this.#giveBack();
    return Math.max(0, bounds.RENEWALS_SPARE - this.#left);
  }

  check(): void {
    this.#giveBack();
    if (this.#left < 1) throw tooManyRenewals(((1 - this.#left) * 1_000) / bounds.RENEWALS_PER_SECOND);
  }

  denied(): void {
    this.#giveBack();
    this.#take(1);
  }

  begin(lease: Pick<ClaimRef, "secret">): (cost: number | null) => void {
    this.check();
    const { secret } = lease;
    const isFirst = !this.#underWay.has(secret);
    // A second call for a lease keeps nothing that the first one does not, so it pays in advance.
    if (isFirst) this.#underWay.add(secret);
    else this.#left -= 1;
    return (cost) => {
      if (isFirst) this.#underWay.delete(secret);
      this.#giveBack();
      if (cost === 0) this.#proven += 1;
      const earned = cost === 0 ? 1 : 0;
      this.#take((cost ?? 0) - earned - (isFirst ? 0 : 1));
    };
  }

  #giveBack(): void {
    const nowMs = performance.now();
    const passedMs = nowMs - this.#atMs;
    this.#atMs = nowMs;
    this.#proven *= Math.exp(-passedMs / bounds.RENEWALS_PROVEN_MS);
    this.#take((-passedMs * bounds.RENEWALS_PER_SECOND) / 1_000);
  }

  #take(cost: number): void {
    this.#left = Math.max(
      -bounds.RENEWALS_DEBT_MAX,
      Math.min(bounds.RENEWALS_SPARE + this.#proven, this.#left - cost),
    );
  }
}
