// The optimistic loader: rows of locks as this server has written them last itself. As long as nobody else has written
// since, which the guard row's revision tells, a decision can go by them: the statement that takes the guard rows then
// proves it, and the transaction needs one trip in place of two.
//
// A lock is known with all of its holders and the first of its queue, or not at all. Who waits behind them is of no
// matter to a decision until its turn comes: then the next part of the queue is read. Only a server's own heartbeats
// change a claim without the guard row, and they only make a place last longer; so a place that seems to have run out is
// a reason to ask.

import type { ClaimRef } from "../../../core/claim.ts";
import type { DatabaseClock } from "../../../core/database-clock.ts";
import type { Lock } from "../../../core/lock.ts";
import { monotonicUs } from "../../monotonic.ts";
import {
  ALONE_AFTER_OTHERS,
  CACHED_CLAIMS_MAX,
  CACHED_HOLDERS_MAX,
  CACHED_LOCKS_MAX,
  CACHED_QUEUE_MAX,
  CLOCK_UNSURE_US_MAX,
  UPDATE_ROWS_MAX,
} from "../../storage-bounds.ts";
import type { Changes, LoadPlan } from "../../store.ts";
import { Copies } from "./copies.ts";
import { inState, type LiveClaims, liveClaims, seenTo } from "./live-claims.ts";
import type { Read } from "./read.ts";

interface CachedLock {
  readonly lock: Lock;
  /** null: not enough of them are known. */
  readonly claims: LiveClaims | null;
  /**
   * Whether they were asked for since somebody else wrote last. Not yet, where something has failed: first it is to
   * be seen whether somebody else has written.
   */
  readonly asked: "yes" | "no" | "not yet";
  /** How often this server has found it as it had left it, since it saw that somebody else had written it, if it ever did. */
  readonly alone: number;
}

export class LockCache {
  readonly #clock: DatabaseClock;
  /** Those written last at the end. */
  readonly #locks = new Map<bigint, CachedLock>();
  /** Live claims of all of them. */
  #claims = 0;
  #facts: Pick<Read["loaded"], "rulesRevision" | "limitRules" | "failOver"> = {
    rulesRevision: -1n,
    limitRules: [],
    failOver: { epoch: 0n, atUs: 0, grantsFromUs: 0 },
  };

  constructor(clock: DatabaseClock) {
    this.#clock = clock;
  }

  /** The plan, with what has to be read in addition so that its locks are known afterwards. */
  widened(plan: LoadPlan): LoadPlan {
    const unknown: bigint[] = [];
    const locks = plan.locks.map((lock) => {
      const known = this.#locks.get(lock.id);
      if (!known || isShared(known)) return lock;
      const isMissing = known.claims ? isUsedUp(known.claims, lock.heads) : isWorthAsking(known);
      if (!isMissing) return lock;
      if (!known.claims) {
        this.#locks.set(lock.id, { ...known, asked: "yes" });
        unknown.push(lock.id);
      }
      return { ...lock, heads: Math.max(lock.heads, CACHED_QUEUE_MAX) };
    });
    return { ...plan, locks, holdersOf: [...new Set([...plan.holdersOf, ...unknown])] };
  }

  /** What a load of the plan would read, if nobody else has written since; null: not all of it is known. */
  read(plan: LoadPlan, serverIdentity: string | null): Read | null {
    const clock = this.#clock.estimate(monotonicUs(), CLOCK_UNSURE_US_MAX);
    const { length } = plan.locks;
    if (serverIdentity === null || !clock) return null;
    if (plan.rule || length === 0 || length > UPDATE_ROWS_MAX) return null;
    if (clock.atLeastUs < this.#facts.failOver.grantsFromUs) return null;
    const copies = new Copies(clock);
    for (const { id, heads, anywhereInQueue } of plan.locks) {
      const known = this.#locks.get(id);
      if (!known?.claims) return null;
      const { lock, claims } = known;
      if (anywhereInQueue && claims.queueTo !== null) return null;
      if (!copies.take({ lock, claims }, heads)) return null;
      if (plan.holdersOf.includes(id)) copies.takeHolders(claims);
    }
    for (const { lockId, ticketNumber } of plan.claims) {
      const claim = this.#locks.get(lockId)?.claims?.all.get(ticketNumber);
      if (!claim || !copies.locks.has(lockId)) return null;
      copies.ask(claim);
    }
    const newRequestIds = plan.requestIds.filter((requestId) => !this.#findRequest(plan, requestId, copies));
    const { rulesRevision, limitRules, failOver } = this.#facts;
    const { locks, queues } = copies;
    const claims = [...copies.asked];
    const facts = { failOver, isSuccessor: false, rulesRevision, limitRules };
    const loaded = { ...clock, ...facts, locks, claims, queues };
    return { loaded, before: copies, assumptions: { newRequestIds, serverIdentity } };
  }

  /** To be told after the commit of what was read and written. */
  learn({ loaded, before }: Read, changes: Changes): void {
    const { rulesRevision, limitRules, failOver } = loaded;
    this.#facts = { rulesRevision, limitRules, failOver };
    const heads = [...loaded.queues.values()].flatMap(({ head }) => head);
    const read = Map.groupBy([...loaded.claims, ...heads], ({ lockId }) => lockId);
    const written = Map.groupBy([...changes.changed, ...changes.added], ({ lockId }) => lockId);
    for (const lock of changes.locks) {
      const known = this.#locks.get(lock.id);
      this.#remove(lock.id);
      const lockRead = before.lock(lock.id);
      const own = known !== undefined && known.lock.revision === lockRead?.revision;
      const alone = aloneAfter(known, own);
      const seen = [...(read.get(lock.id) ?? []), ...(written.get(lock.id) ?? [])];
      const readTo = seenTo(lockRead, loaded.queues.get(lock.id));
      const claims = own && !isShared({ alone }) ? liveClaims(lock, known.claims, seen, readTo) : null;
      const asked = own && known.asked === "yes" ? "yes" : "no";
      this.#locks.set(lock.id, { lock: { ...lock }, claims, asked, alone });
      this.#claims += claims?.all.size ?? 0;
    }
    for (const id of this.#locks.keys()) {
      if (this.#locks.size <= CACHED_LOCKS_MAX && this.#claims <= CACHED_CLAIMS_MAX) break;
      this.#remove(id);
    }
  }

  /** To be told of locks about which anything has failed: they have to be read. */
  doubt(ids: Iterable<bigint>): void {
    for (const id of ids) {
      const known = this.#locks.get(id);
      if (!known) continue;
      this.#claims -= known.claims?.all.size ?? 0;
      this.#locks.set(id, { ...known, claims: null, asked: "not yet" });
    }
  }

  /** To be told when the database may have become another one, or have been set back. */
  forgetAll(): void {
    this.#locks.clear();
    this.#claims = 0;
  }

  /** To be told of the signs of life that this server has written, and until when at least they count. */
  prolonged(replica: bigint, claims: readonly ClaimRef[], untilUs: number): void {
    for (const { lockId, ticketNumber, secret } of claims) {
      const claim = this.#locks.get(lockId)?.claims?.all.get(ticketNumber);
      if (claim?.state !== "waiting" || claim.secret !== secret) continue;
      claim.deadlineUs = Math.min(untilUs, claim.waitUntilUs ?? Number.POSITIVE_INFINITY);
      claim.replica = replica;
    }
  }

  #remove(id: bigint): void {
    this.#claims -= this.#locks.get(id)?.claims?.all.size ?? 0;
    this.#locks.delete(id);
  }

  #findRequest(plan: LoadPlan, requestId: string, copies: Copies): boolean {
    for (const { id } of plan.locks) {
      for (const claim of this.#locks.get(id)?.claims?.all.values() ?? []) {
        if (claim.requestId !== requestId) continue;
        copies.ask(claim);
        return true;
      }
    }
    return false;
  }
}

/** After one more write, before which nobody else has written since the one before, or somebody has. */
function aloneAfter(known: CachedLock | undefined, own: boolean): number {
  if (!known) return ALONE_AFTER_OTHERS;
  return own ? known.alone + 1 : 0;
}

/** Whether others write the lock as well, as far as can be seen: what is known of it would be known in vain. */
function isShared({ alone }: Pick<CachedLock, "alone">): boolean {
  return alone < ALONE_AFTER_OTHERS;
}

/** Whether so many at the head of the queue are no longer known, and more of them wait. */
function isUsedUp({ all, queueTo }: LiveClaims, heads: number): boolean {
  return queueTo !== null && inState(all, "waiting").length < heads;
}

/** Whether there is anything to know of a lock, and not too much. */
function isWorthAsking({ lock: { holders, waiting }, asked }: CachedLock): boolean {
  return asked === "no" && holders + waiting > 0 && holders <= CACHED_HOLDERS_MAX;
}
