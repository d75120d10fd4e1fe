// Who follows which claim on this replica: open streams and blocked calls. Holds nothing that matters: what is lost
// with the process, clients get back by their ticket or request ids.

import type { Claim, ClaimKey, ClaimRef } from "../../core/claim.ts";
import type { Lock } from "../../core/lock.ts";
import type { Follower } from "../lock-engine.ts";
import type { RuleChanges, Rules } from "./rule-changes.ts";

interface FollowedClaim {
  /** As it was when it was first followed. */
  readonly claim: Claim;
  readonly followers: Set<Follower>;
  /** The number of the last addition of a follower to it. */
  lastAddition: number;
}

interface FollowedLock {
  readonly claims: Map<bigint, FollowedClaim>;
  /** Followers that want to be told their places. */
  watchers: number;
  /** The guard row's revision up to which this replica has seen everything. */
  seenRevision: bigint;
  /** The limit rules by which this replica has decided about it last, and its name; null: it has not yet. */
  decidedBy: { readonly name: string; readonly rules: Rules } | null;
  /** The number of the last addition of a claim here. */
  lastAddition: number;
}

type DecidedLock = Pick<Lock, "id" | "name" | "revision">;

export class Followers {
  readonly #locks = new Map<bigint, FollowedLock>();
  #count = 0;
  /** Of followers, over all locks of this replica. */
  #additions = 0;

  /** Claims that are followed. */
  get count(): number {
    return this.#count;
  }

  /** `revision`: of the guard row, when the claim was seen waiting. */
  add(claim: Claim, follower: Follower, revision: bigint): void {
    const before = this.#locks.get(claim.lockId)?.claims.get(claim.ticketNumber);
    if (before && before.claim.secret !== claim.secret) this.tell(claim, claim.requestedAtUs);
    let lock = this.#locks.get(claim.lockId);
    if (!lock) {
      lock = { claims: new Map(), watchers: 0, seenRevision: revision, decidedBy: null, lastAddition: 0 };
      this.#locks.set(claim.lockId, lock);
    }
    // A poll may have been ahead of this answer: what it saw then did not include this claim.
    if (revision < lock.seenRevision) lock.seenRevision = revision;
    let followed = lock.claims.get(claim.ticketNumber);
    if (!followed) {
      followed = { claim, followers: new Set(), lastAddition: 0 };
      lock.claims.set(claim.ticketNumber, followed);
      lock.lastAddition = this.#additions + 1;
      this.#count += 1;
    }
    if (followed.followers.has(follower)) return;
    followed.followers.add(follower);
    followed.lastAddition = ++this.#additions;
    if (follower.placed) lock.watchers += 1;
  }

  /** Whether others here still follow the claim once this one is gone. */
  remove(key: ClaimKey, follower: Follower): boolean {
    const lock = this.#locks.get(key.lockId);
    const followed = lock?.claims.get(key.ticketNumber);
    if (lock && followed?.followers.delete(follower) && follower.placed) lock.watchers -= 1;
    if (followed && followed.followers.size > 0) return true;
    this.#forget(key);
    return false;
  }

  /** Tells those who follow the claim that it was granted or has ended, and forgets them. */
  tell(claim: Claim, nowUs: number): void {
    const followed = this.#forget(claim);
    if (!followed) return;
    const now = followed.claim.secret === claim.secret ? claim : gone(followed.claim, nowUs);
    for (const follower of followed.followers) follower.told(now, nowUs);
  }

  /** Whether anybody here wants to be told places at the lock. */
  watches(lockId: bigint): boolean {
    return (this.#locks.get(lockId)?.watchers ?? 0) > 0;
  }

  follows(lockId: bigint): boolean {
    return this.#locks.has(lockId);
  }

  followsClaim(key: ClaimKey): boolean {
    return this.#locks.get(key.lockId)?.claims.has(key.ticketNumber) ?? false;
  }

  /** The claim, if it is followed here. */
  claim(key: ClaimKey): Claim | undefined {
    return this.#locks.get(key.lockId)?.claims.get(key.ticketNumber)?.claim;
  }

  /** Those who follow claims of a lock. */
  *of(lockId: bigint): Generator<FollowedClaim> {
    yield* this.#locks.get(lockId)?.claims.values() ?? [];
  }

  lockIds(): bigint[] {
    return [...this.#locks.keys()];
  }

  *claims(): Generator<ClaimRef> {
    for (const lock of this.#locks.values()) for (const { claim } of lock.claims.values()) yield claim;
  }

  /** Whether somebody changed the lock since this replica last saw it. */
  isStale(lockId: bigint, revision: bigint): boolean {
    const lock = this.#locks.get(lockId);
    return lock !== undefined && lock.seenRevision !== revision;
  }

  /**
   * This replica has decided about the lock, by these rules. It made the revision itself, so it has seen everything, unless
   * others wrote after `revisionBefore`.
   */
  decided({ id, name, revision }: DecidedLock, revisionBefore: bigint, rules: Rules): void {
    const lock = this.#locks.get(id);
    if (!lock) return;
    if (lock.seenRevision === revisionBefore) lock.seenRevision = revision;
    lock.decidedBy = { name, rules };
  }

  /** Whether the lock is to be decided about again, as rules that concern it are others now. */
  hasOldRules(lockId: bigint, changes: Pick<RuleChanges, "rules" | "concerns">): boolean {
    const lock = this.#locks.get(lockId);
    if (!lock?.decidedBy || lock.decidedBy.rules === changes.rules) return false;
    const { name, rules } = lock.decidedBy;
    if (changes.concerns(name, rules)) return true;
    lock.decidedBy = { name, rules: changes.rules };
    return false;
  }

  /** Additions of followers up to now, to be compared with those of a claim. */
  get additions(): number {
    return this.#additions;
  }

  /** Ask for it before claims are read, and give it to `saw` afterwards. */
  lastAddition(lockId: bigint): number {
    return this.#locks.get(lockId)?.lastAddition ?? 0;
  }

  /** All claims that were followed at the time of `lastAddition` were read at the revision or later. */
  saw(lockId: bigint, revision: bigint, lastAddition: number): void {
    const lock = this.#locks.get(lockId);
    // A claim that was added meanwhile was not among those read: the next poll has to look again.
    if (lock?.lastAddition === lastAddition) lock.seenRevision = revision;
  }

  #forget(key: ClaimKey): FollowedClaim | undefined {
    const lock = this.#locks.get(key.lockId);
    const followed = lock?.claims.get(key.ticketNumber);
    if (!lock || !followed) return undefined;
    lock.claims.delete(key.ticketNumber);
    for (const follower of followed.followers) if (follower.placed) lock.watchers -= 1;
    this.#count -= 1;
    if (lock.claims.size === 0) this.#locks.delete(key.lockId);
    return followed;
  }
}

/**
 * A claim whose row is not there any more, or is that of another claim. It had ended longer ago than the retention time,
 * and this replica was cut off for that long; or the rows were set back to what they were before it came.
 */
export function gone(claim: Claim, nowUs: number): Claim {
  return { ...claim, state: "ended", endReason: "lapsed", endedAtUs: nowUs };
}
