// The optimistic loader: rows of locks as this server has written them last itself. As long as nobody else has written
// since, which the guard row's revision tells, a decision can go by them: the statement that takes the guard rows then
// proves it, and the transaction needs one trip in place of two.
//
// A lock is known with all of its live claims or not at all. Only a server's own heartbeats change a claim without the
// guard row, and they only make a place last longer; so a place that seems to have run out is a reason to ask.

import { DUE_MAX, FORCE_RELEASE_MAX, QUEUE_HEAD_MAX } from "../../../core/bounds.ts";
import type { Claim, ClaimKey, ClaimRef } from "../../../core/claim.ts";
import type { DatabaseClock } from "../../../core/database-clock.ts";
import type { Lock } from "../../../core/lock.ts";
import type { Clock } from "../../../core/rows.ts";
import { monotonicUs } from "../../monotonic.ts";
import {
  ALONE_AFTER_OTHERS,
  CACHED_CLAIMS_MAX,
  CACHED_CLAIMS_PER_LOCK_MAX,
  CACHED_LOCKS_MAX,
  CLOCK_UNSURE_US_MAX,
  UPDATE_ROWS_MAX,
} from "../../storage-bounds.ts";
import type { Changes, LoadPlan } from "../../store.ts";
import type { Before, Read } from "./read.ts";

interface CachedLock {
  readonly lock: Lock;
  /** All live claims in order of ticket numbers; null: not all of them are known. */
  readonly claims: Map<bigint, Claim> | null;
  /**
   * Whether all of them were asked for since somebody else wrote last. Not yet, where something has failed: first it is to
   * be seen whether somebody else has written.
   */
  readonly asked: "yes" | "no" | "not yet";
  /** How often this server has written it since it saw that somebody else had; null: it never saw that. */
  readonly alone: number | null;
}

export class LockCache {
  readonly #clock: DatabaseClock;
  /** Those written last at the end. */
  readonly #locks = new Map<bigint, CachedLock>();
  /** Live claims of all of them. */
  #claims = 0;
  #facts: Pick<Read, "rulesRevision"> & Pick<Read["loaded"], "limitRules" | "failOver"> = {
    rulesRevision: "",
    limitRules: [],
    failOver: { epoch: 0n, atUs: 0, grantsFromUs: 0 },
  };

  constructor(clock: DatabaseClock) {
    this.#clock = clock;
  }

  /** The plan, with what has to be read in addition so that its locks are known afterwards. */
  widened(plan: LoadPlan): LoadPlan {
    const unknown = new Set<bigint>();
    for (const { id } of plan.locks) {
      const known = this.#locks.get(id);
      if (!known || known.claims || known.asked !== "no" || isShared(known)) continue;
      const live = known.lock.holders + known.lock.waiting;
      if (live === 0 || live > CACHED_CLAIMS_PER_LOCK_MAX) continue;
      this.#locks.set(id, { ...known, asked: "yes" });
      unknown.add(id);
    }
    if (unknown.size === 0) return plan;
    const locks = plan.locks.map((lock) =>
      unknown.has(lock.id) ? { ...lock, heads: QUEUE_HEAD_MAX } : lock,
    );
    return { ...plan, locks, holdersOf: [...new Set([...plan.holdersOf, ...unknown])] };
  }

  /** What a load of the plan would read, if nobody else has written since; null: not all of it is known. */
  read(plan: LoadPlan, serverIdentity: string | null): Read | null {
    const clock = this.#clock.estimate(monotonicUs());
    const { length } = plan.locks;
    if (serverIdentity === null || !clock) return null;
    if (clock.nowUs - clock.atLeastUs > CLOCK_UNSURE_US_MAX) return null;
    if (plan.rule || length === 0 || length > UPDATE_ROWS_MAX) return null;
    if (clock.atLeastUs < this.#facts.failOver.grantsFromUs) return null;
    const copies = new Copies(clock);
    for (const { id, heads } of plan.locks) {
      const known = this.#locks.get(id);
      if (!known?.claims || !copies.take(known, heads)) return null;
      if (plan.holdersOf.includes(id)) copies.takeHolders(known.claims);
    }
    for (const { lockId, ticketNumber } of plan.claims) {
      const claim = this.#locks.get(lockId)?.claims?.get(ticketNumber);
      if (!claim || !copies.locks.has(lockId)) return null;
      copies.ask(claim);
    }
    const newRequestIds = plan.requestIds.filter((requestId) => !this.#findRequest(plan, requestId, copies));
    const { rulesRevision, limitRules, failOver } = this.#facts;
    const { locks, queues } = copies;
    const claims = [...copies.asked];
    const loaded = { ...clock, failOver, isSuccessor: false, limitRules, locks, claims, queues };
    return { loaded, before: copies, rulesRevision, assumptions: { newRequestIds, serverIdentity } };
  }

  /** To be told after the commit of what was read and written. */
  learn({ loaded, before, rulesRevision }: Read, changes: Changes): void {
    const { limitRules, failOver } = loaded;
    this.#facts = { rulesRevision, limitRules, failOver };
    const heads = [...loaded.queues.values()].flatMap(({ head }) => head);
    const read = Map.groupBy([...loaded.claims, ...heads], ({ lockId }) => lockId);
    const written = Map.groupBy([...changes.changed, ...changes.added], ({ lockId }) => lockId);
    for (const lock of changes.locks) {
      const known = this.#locks.get(lock.id);
      this.#remove(lock.id);
      const own = known !== undefined && known.lock.revision === before.lock(lock.id)?.revision;
      const alone = aloneAfter(known, own);
      const seen = [...(read.get(lock.id) ?? []), ...(written.get(lock.id) ?? [])];
      const claims = own && !isShared({ alone }) ? liveClaims(lock, known.claims ?? new Map(), seen) : null;
      const asked = own && known.asked === "yes" ? "yes" : "no";
      this.#locks.set(lock.id, { lock: { ...lock }, claims, asked, alone });
      this.#claims += claims?.size ?? 0;
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
      this.#claims -= known.claims?.size ?? 0;
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
      const claim = this.#locks.get(lockId)?.claims?.get(ticketNumber);
      if (claim?.state !== "waiting" || claim.secret !== secret) continue;
      claim.deadlineUs = Math.min(untilUs, claim.waitUntilUs ?? Number.POSITIVE_INFINITY);
      claim.replica = replica;
    }
  }

  #remove(id: bigint): void {
    this.#claims -= this.#locks.get(id)?.claims?.size ?? 0;
    this.#locks.delete(id);
  }

  #findRequest(plan: LoadPlan, requestId: string, copies: Copies): boolean {
    for (const { id } of plan.locks) {
      for (const claim of this.#locks.get(id)?.claims?.values() ?? []) {
        if (claim.requestId !== requestId) continue;
        copies.ask(claim);
        return true;
      }
    }
    return false;
  }
}

/** After one more write, before which nobody else has written since the one before, or somebody has. */
function aloneAfter(known: CachedLock | undefined, own: boolean): number | null {
  if (!known) return null;
  if (!own) return 0;
  return known.alone === null ? null : known.alone + 1;
}

/** Whether others write the lock as well, as far as can be seen: what is known of it would be known in vain. */
function isShared({ alone }: Pick<CachedLock, "alone">): boolean {
  return alone !== null && alone < ALONE_AFTER_OTHERS;
}

/** Copies of known rows, each claim once, in the form of a load. */
class Copies implements Before {
  readonly locks = new Map<bigint, Lock>();
  readonly asked = new Set<Claim>();
  readonly queues = new Map<bigint, { readonly head: readonly Claim[]; readonly complete: boolean }>();
  readonly #clock: Clock;
  readonly #originals = new Map<bigint, CachedLock>();
  readonly #claims = new Map<Claim, Claim>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  lock(id: bigint): Lock | undefined {
    return this.#originals.get(id)?.lock;
  }

  claim({ lockId, ticketNumber }: ClaimKey): Claim | undefined {
    return this.#originals.get(lockId)?.claims?.get(ticketNumber);
  }

  /**
   * Takes the lock, what is due and the head of the queue. False: not all of it is known, a place seems to have run out, or
   * a lease may have ended or not, or the lock may be due or not.
   */
  take(known: CachedLock, heads: number): boolean {
    const { lock, claims } = known;
    if (!claims) return false;
    this.locks.set(lock.id, { ...lock });
    this.#originals.set(lock.id, known);
    const { nowUs, atLeastUs } = this.#clock;
    const notBeforeUs = lock.record?.notBeforeUs ?? 0;
    if (notBeforeUs > atLeastUs && notBeforeUs <= nowUs) return false;
    const head: Claim[] = [];
    let due = 0;
    for (const claim of claims.values()) {
      const deadlineUs = claim.deadlineUs ?? Number.POSITIVE_INFINITY;
      const isDue = deadlineUs <= atLeastUs;
      if (deadlineUs <= nowUs && (claim.state === "waiting" || !isDue)) return false;
      if (claim.state === "waiting") {
        if (head.length < heads) head.push(this.#copy(claim));
      } else if (isDue && ++due <= DUE_MAX) this.ask(claim);
    }
    if (lock.waiting > 0) this.queues.set(lock.id, { head, complete: head.length === lock.waiting });
    return true;
  }

  takeHolders(claims: ReadonlyMap<bigint, Claim>): void {
    const held = [...claims.values()].filter(({ state }) => state === "held");
    for (const claim of held.slice(0, FORCE_RELEASE_MAX)) this.ask(claim);
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

function inOrder(claims: readonly Claim[]): Map<bigint, Claim> {
  return new Map(claims.toSorted(byTicket).map((claim) => [claim.ticketNumber, { ...claim }]));
}

function byTicket(a: Claim, b: Claim): number {
  return a.ticketNumber < b.ticketNumber ? -1 : 1;
}

/** The live claims of a lock after it was written; null if not all of them are known, or they are too many. */
function liveClaims(
  lock: Lock,
  claims: Map<bigint, Claim>,
  seen: readonly Claim[],
): Map<bigint, Claim> | null {
  if (lock.holders + lock.waiting > CACHED_CLAIMS_PER_LOCK_MAX) return null;
  for (const claim of seen) claims.set(claim.ticketNumber, { ...claim });
  let holders = 0;
  let waiting = 0;
  let latest = 0n;
  let areInOrder = true;
  for (const [number, { state }] of claims) {
    if (state === "ended") claims.delete(number);
    else if (state === "held") holders += 1;
    else waiting += 1;
    areInOrder &&= number > latest;
    latest = number;
  }
  if (holders !== lock.holders || waiting !== lock.waiting) return null;
  return areInOrder ? claims : inOrder([...claims.values()]);
}
