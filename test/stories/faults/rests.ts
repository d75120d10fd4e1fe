// Checks that a lock remembers the wait that an ended lease imposed: the grants after it come later by what the lease
// asked for. All times are the database's, so the check is exact to the microsecond, however late anyone was told.

import type { Claim } from "../../../server/core/claim.ts";

/** Until then, nothing with a higher token may be granted. */
interface Rest {
  readonly after: Claim;
  readonly untilUs: number;
}

export class Rests {
  readonly #rests = new Map<bigint, Rest[]>();
  readonly #grants = new Map<bigint, Map<bigint, Claim>>();
  /** Each breach of a promise, in words. */
  readonly breaches: string[];

  constructor(breaches: string[]) {
    this.breaches = breaches;
  }

  granted(claim: Claim): void {
    const grants = this.#grants.get(claim.lockId) ?? new Map();
    this.#grants.set(claim.lockId, grants);
    grants.set(claim.fencingToken, claim);
    for (const rest of this.#rests.get(claim.lockId) ?? []) this.#compare(rest, claim);
  }

  /** Records that the release was answered: the interval counts from the grant. */
  released(claim: Claim): void {
    this.#rest(claim, claim.terms?.minIntervalUs, claim.grantedAtUs);
  }

  /**
   * Records that nobody will renew or release the lease any more: the delay counts from its end, which is not before
   * the last deadline told.
   */
  forgotten(claim: Claim): void {
    this.#rest(claim, claim.terms?.lockDelayUs, claim.deadlineUs);
  }

  #rest(after: Claim, lengthUs: number | null | undefined, fromUs: number | null): void {
    if (!lengthUs || fromUs === null) return;
    const rest = { after, untilUs: fromUs + lengthUs };
    const rests = this.#rests.get(after.lockId) ?? [];
    this.#rests.set(after.lockId, rests);
    rests.push(rest);
    // A later grant may have been reported before this release.
    for (const claim of this.#grants.get(after.lockId)?.values() ?? []) this.#compare(rest, claim);
  }

  #compare({ after, untilUs }: Rest, claim: Claim): void {
    const earlyUs = untilUs - (claim.grantedAtUs as number);
    if (claim.fencingToken <= after.fencingToken || earlyUs <= 0) return;
    this.breaches.push(`${tokenOf(claim)} was granted ${earlyUs} us too early after ${tokenOf(after)}`);
  }
}

function tokenOf({ lockId, fencingToken }: Claim): string {
  return `token ${lockId}/${fencingToken}`;
}
