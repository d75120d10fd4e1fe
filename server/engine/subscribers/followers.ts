// Who on this replica hears of which claim: open streams and blocked calls follow waiting claims, traced calls show how long
// their claims wait, and sessions hear of the end of the leases that they hold. Keeps nothing that must survive: after a
// crash, clients return with their ticket or request ids.

import { type Claim, type ClaimKey, type ClaimRef, keyText } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import type { BatchEvent } from "../../core/decide-batch.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Lock } from "../../core/lock.ts";
import type { Span } from "../../core/span.ts";
import type { Follower } from "../answers.ts";
import { OWN_GRANT_AWAITED_MS, QUEUE_SPANS_MAX } from "../engine-bounds.ts";

/** The limit rules of one decision. */
export type Rules = readonly LimitRule[];

export interface FollowedClaim {
  /** The claim when its first follower came. Of one for several locks the lead, whose grant or end is that of all. */
  readonly claim: Claim;
  readonly followers: Set<Follower>;
  /** Number of the last addition of a follower to this claim. */
  lastAddition: number;
  /** By lock, its places as far as they were read since then. Only of a claim for several locks. */
  readonly places: Map<bigint, Place> | null;
}

interface FollowedLock {
  /** By ticket numbers. One for several locks is at each of them: whatever moves there concerns it. */
  readonly claims: Map<bigint, FollowedClaim>;
  wantingPlaces: number;
  /** Guard row revision up to which this replica has seen everything. */
  seenRevision: bigint;
  /** The lock's name, and the limit rules of this replica's last decision about the lock; null: none yet. */
  decidedBy: { readonly name: string; readonly rules: Rules } | null;
  /** Number of the last addition of a claim here. */
  lastAddition: number;
}

/** The keys of the claim's rows, one at each of its locks. */
export function rowsOf(claim: ClaimKey & { readonly members?: Claim["members"] }): readonly ClaimKey[] {
  return claim.members ?? [claim];
}

/** The guard rows of a transaction, as it has left them. */
type WrittenLocks = ReadonlyMap<bigint, { readonly lock: Pick<Lock, "revision"> }>;

type DecidedLock = Pick<Lock, "id" | "name" | "revision">;

export class Followers {
  /** The waits of traced calls, with followers here or without. */
  readonly queueSpans = new QueueSpans();
  readonly #locks = new Map<bigint, FollowedLock>();
  /** Number of followed claims. */
  count = 0;
  /** Additions of followers so far, to compare with `lastAddition` of a claim. */
  additions = 0;

  /** `revision`: of the guard row when the claim was seen waiting. `written`: the same of its other locks; otherwise a poll looks. */
  add(claim: Claim, follower: Follower, revision: bigint, written?: WrittenLocks): void {
    const rows = rowsOf(claim);
    for (const key of rows) {
      const before = this.claim(key);
      if (before && before.secret !== claim.secret) this.settled({ ...claim, ...key }, claim.requestedAtUs);
    }
    let followed = this.#locks.get(claim.lockId)?.claims.get(claim.ticketNumber);
    const isNew = !followed;
    followed ??= { claim, followers: new Set(), lastAddition: 0, places: claim.members ? new Map() : null };
    if (isNew) this.count += 1;
    for (const { lockId, ticketNumber } of rows) {
      const seen = lockId === claim.lockId ? revision : (written?.get(lockId)?.lock.revision ?? 0n);
      const lock = this.#lock(lockId, seen);
      if (!isNew) continue;
      lock.claims.set(ticketNumber, followed);
      lock.lastAddition = this.additions + 1;
    }
    if (followed.followers.has(follower)) return;
    followed.followers.add(follower);
    followed.places?.clear();
    followed.lastAddition = ++this.additions;
    if (follower.placed) this.#countWanting(followed, 1);
  }

  #lock(lockId: bigint, revision: bigint): FollowedLock {
    const known = this.#locks.get(lockId);
    if (known) {
      // A poll may have been ahead of this answer, and what it saw did not include this claim.
      if (revision < known.seenRevision) known.seenRevision = revision;
      return known;
    }
    const lock: FollowedLock = {
      claims: new Map(),
      wantingPlaces: 0,
      seenRevision: revision,
      decidedBy: null,
      lastAddition: 0,
    };
    this.#locks.set(lockId, lock);
    return lock;
  }

  #countWanting({ claim }: FollowedClaim, by: 1 | -1): void {
    for (const { lockId } of rowsOf(claim)) {
      const lock = this.#locks.get(lockId);
      if (lock) lock.wantingPlaces += by;
    }
  }

  /** Removes the follower. Returns whether the claim has other followers here. */
  remove(key: ClaimKey, follower: Follower): boolean {
    const followed = this.#locks.get(key.lockId)?.claims.get(key.ticketNumber);
    if (followed?.followers.delete(follower) && follower.placed) this.#countWanting(followed, -1);
    if (followed && followed.followers.size > 0) return true;
    this.#forget(key);
    return false;
  }

  /**
   * Notifies the claim's followers that it was granted or has ended, forgets them, and ends its queue span. Of a claim for several
   * locks, only the lead may be reported.
   */
  settled(claim: Claim, nowUs: number): void {
    this.queueSpans.settled(claim);
    const followed = this.#forget(claim);
    if (!followed) return;
    const now = followed.claim.secret === claim.secret ? claim : gone(followed.claim, nowUs);
    for (const follower of followed.followers) follower.settled(now, nowUs);
  }

  wantsPlaces(lockId: bigint): boolean {
    return (this.#locks.get(lockId)?.wantingPlaces ?? 0) > 0;
  }

  /** Locks whose followers want places, by their names as of the last decision here. */
  *wantingPlaces(): Generator<[lockId: bigint, name: string]> {
    for (const [lockId, { wantingPlaces, decidedBy }] of this.#locks)
      if (wantingPlaces > 0 && decidedBy) yield [lockId, decidedBy.name];
  }

  follows(lockId: bigint): boolean {
    return this.#locks.has(lockId);
  }

  claim(key: ClaimKey): Claim | undefined {
    return this.#locks.get(key.lockId)?.claims.get(key.ticketNumber)?.claim;
  }

  *of(lockId: bigint): Generator<FollowedClaim> {
    yield* this.#locks.get(lockId)?.claims.values() ?? [];
  }

  lockIds(): bigint[] {
    return [...this.#locks.keys()];
  }

  /** Each once. */
  *claims(): Generator<ClaimRef> {
    for (const [lockId, lock] of this.#locks)
      for (const { claim } of lock.claims.values()) if (claim.lockId === lockId) yield claim;
  }

  /** Whether the lock has changed since this replica last saw it. */
  isStale(lockId: bigint, revision: bigint): boolean {
    const lock = this.#locks.get(lockId);
    return lock !== undefined && lock.seenRevision !== revision;
  }

  /**
   * Records that this replica has decided about the lock by these rules. The replica made the revision itself, so it
   * has seen everything, unless another one wrote after `revisionBefore`.
   */
  decided({ id, name, revision }: DecidedLock, revisionBefore: bigint, rules: Rules): void {
    const lock = this.#locks.get(id);
    if (!lock) return;
    if (lock.seenRevision === revisionBefore) lock.seenRevision = revision;
    lock.decidedBy = { name, rules };
  }

  /** Whether the lock needs a new decision, because rules that concern it have changed. */
  hasOldRules(
    lockId: bigint,
    changes: { readonly rules: Rules; concerns(name: string, before: Rules): boolean },
  ): boolean {
    const lock = this.#locks.get(lockId);
    if (!lock?.decidedBy || lock.decidedBy.rules === changes.rules) return false;
    const { name, rules } = lock.decidedBy;
    if (changes.concerns(name, rules)) return true;
    lock.decidedBy = { name, rules: changes.rules };
    return false;
  }

  /** Records that all claims followed after so many `additions` were read at this revision or later. */
  saw(lockId: bigint, revision: bigint, additions: number): void {
    const lock = this.#locks.get(lockId);
    // A claim that was added meanwhile was not read: the next poll must look again.
    if (lock && lock.lastAddition <= additions) lock.seenRevision = revision;
  }

  #forget(key: ClaimKey): FollowedClaim | undefined {
    const followed = this.#locks.get(key.lockId)?.claims.get(key.ticketNumber);
    if (!followed) return undefined;
    for (const follower of followed.followers) if (follower.placed) this.#countWanting(followed, -1);
    this.count -= 1;
    for (const { lockId, ticketNumber } of rowsOf(followed.claim)) {
      const lock = this.#locks.get(lockId);
      lock?.claims.delete(ticketNumber);
      if (lock?.claims.size === 0) this.#locks.delete(lockId);
    }
    return followed;
  }
}

/**
 * Ends a claim whose row is gone or belongs to another claim. Either the claim ended longer ago than the retention
 * time, and this replica was cut off for that long; or the rows were set back to a time before the claim.
 */
export function gone(claim: Claim, nowUs: number): Claim {
  return { ...claim, state: "ended", endReason: "lapsed", endedAtUs: nowUs };
}

type EndListener = (ended: Claim) => void;

/** Listeners for the end of leases. The next Renew finds what another replica has ended. */
export class HeldLeases {
  /** By the lease's secret, which no other lease has. */
  readonly #listeners = new Map<string, EndListener[]>();

  get count(): number {
    return this.#listeners.size;
  }

  /** Calls `listener` at most once, synchronously; it must not throw. Returns a function that removes the listener. */
  add({ secret }: Pick<ClaimRef, "secret">, listener: EndListener): () => void {
    const listeners = this.#listeners.get(secret);
    if (listeners) listeners.push(listener);
    else this.#listeners.set(secret, [listener]);
    return () => this.#remove(secret, listener);
  }

  ended(claim: Claim): void {
    if (this.#listeners.size === 0) return;
    const listeners = this.#listeners.get(claim.secret);
    if (!listeners) return;
    this.#listeners.delete(claim.secret);
    for (const listener of listeners) listener(claim);
  }

  #remove(secret: string, listener: EndListener): void {
    const listeners = this.#listeners.get(secret);
    const index = listeners?.indexOf(listener) ?? -1;
    if (!listeners || index < 0) return;
    if (listeners.length === 1) this.#listeners.delete(secret);
    else listeners.splice(index, 1);
  }
}

interface OpenSpan {
  readonly span: Span;
  /** A read has shown that the claim no longer waits. */
  seen?: { readonly claim: Claim; readonly atMs: number; readonly timer: NodeJS.Timeout };
}

/** The waits of traced calls, from the answer `waiting` until this replica learns of the grant or the end. */
export class QueueSpans {
  /** By the claim's key; the one that has waited longest comes first. */
  readonly #open = new Map<string, OpenSpan>();

  /** The claim waits on behalf of this call. Calls that come back to a claim share its first span. */
  begin(claim: ClaimKey, call: Span, lockName: string): void {
    const key = keyText(claim);
    if (this.#open.has(key)) return;
    this.#open.set(key, { span: call.part("queue", { "rowlock.lock": lockName }) });
    if (this.#open.size <= QUEUE_SPANS_MAX) return;
    const [oldest] = this.#open.keys();
    if (oldest !== undefined) this.#end(oldest);
  }

  get count(): number {
    return this.#open.size;
  }

  /** This replica has committed these events, in order. Ends the waits that are over, with a link to who made room. */
  committed(events: readonly BatchEvent[]): void {
    let madeRoom: Span | undefined;
    let lockName = "";
    for (const { event, lockName: name } of events) {
      if (name !== lockName) madeRoom = undefined;
      lockName = name;
      if (event.kind === "granted") this.#end(keyText(event.claim), event.claim, madeRoom);
      if (event.kind === "ended") this.#end(keyText(event.claim), event.claim);
      if (event.kind === "granted" || event.kind === "enqueued") continue;
      // A waiter that ends because it never fits has only come to its turn: who made room is the call before.
      if (event.caller || (event.kind === "ended" && event.was === "held")) madeRoom = event.caller?.span;
    }
  }

  /** Waits a moment for the link: this replica may hear of its own commit only after a read. */
  settled(claim: Claim): void {
    if (this.#open.size === 0) return;
    const key = keyText(claim);
    const waiting = this.#open.get(key);
    if (!waiting || waiting.seen) return;
    const timer = setTimeout(() => this.#end(key), OWN_GRANT_AWAITED_MS).unref();
    waiting.seen = { claim, atMs: performance.now(), timer };
  }

  /** This replica stops, and learns of nothing any more. */
  stop(): void {
    for (const key of this.#open.keys()) this.#end(key);
  }

  /** Without a claim and a read that has shown one, nobody here knows how the wait went on. */
  #end(key: string, ended?: Claim, madeRoom?: Span): void {
    const waiting = this.#open.get(key);
    if (!waiting) return;
    this.#open.delete(key);
    const { span, seen } = waiting;
    clearTimeout(seen?.timer);
    if (madeRoom) span.link(madeRoom);
    const { state = "unknown", endReason = null } = ended ?? seen?.claim ?? {};
    const attributes = {
      "rowlock.outcome": state,
      ...(endReason !== null && { "rowlock.reason": endReason }),
    };
    span.end(attributes, undefined, seen?.atMs);
  }
}
