// The locks whose rows a server knows because it wrote them last. A lock is known with all of its holders and the head of
// its queue, or without claims. Waiters further back do not matter to a decision until their turn comes; then the next
// part of the queue is read. Only a server's own heartbeats change a claim without its guard row, and they only extend a
// place. So a place that seems to have run out must be read from the database. Another server may have written the lock
// since. Its write changes the revision of the guard row, so a store with several servers asserts the known revision in
// its transaction. A decision changes the rows that it gets, so it gets copies.

import { DUE_MAX, FORCE_RELEASE_MAX, POOL_QUEUE_READ } from "../core/bounds.ts";
import {
  addByLock,
  type Claim,
  type ClaimKey,
  type ClaimRef,
  HELD_PLACE,
  isEntering,
  isServerMade,
  placeOf,
} from "../core/claim.ts";
import type { Clock } from "../core/database-clock.ts";
import type { Lock } from "../core/lock.ts";
import { type Linked, RecentList } from "../core/recent-map.ts";
import type { GroupRead, PoolRows, Queue } from "../core/rows.ts";
import { type CachedShares, knownAfter, liveShares, sharesFor } from "./cached-shares.ts";
import {
  ALONE_AFTER_OTHERS,
  CACHED_CLAIMS_OF_LOCK,
  CACHED_FRONT_READ,
  CACHED_HOLDERS_MAX,
  CACHED_LOCKS_DEFAULT,
  CACHED_QUEUE_MAX,
  POOL_QUEUE_KNOWN_MIN,
} from "./storage-bounds.ts";
import type { Loaded, LoadPlan, Writes } from "./store.ts";

interface CachedRows extends Pick<Loaded, "locks" | "claims" | "queues" | "groups" | "pools"> {
  readonly before: Before;
  /** Request ids of clients in the plan that no known claim of their commands' locks has. */
  readonly newRequestIds: readonly string[];
}

interface Seen {
  readonly loaded: Pick<Loaded, "claims" | "queues" | "groups">;
  readonly before: Pick<Before, "lock">;
}

class CachedLock implements Linked<CachedLock> {
  lock: Lock;
  /** null: not all of its holders are known. */
  claims: LiveClaims | null = null;
  /** Of a pool: the first of those who wait there; null: unknown. */
  pool: Omit<PoolRows, "lock"> | null = null;
  /**
   * Whether this server has requested the claims since another server last wrote the lock. "not yet": the lock was
   * doubted, so a read must first show whether another one has written.
   */
  asked: "yes" | "no" | "not yet" = "no";
  /** How often in a row this server has found its own last write unchanged, since another server's was seen. */
  alone = ALONE_AFTER_OTHERS;
  older: CachedLock | undefined;
  newer: CachedLock | undefined;

  constructor(lock: Lock) {
    this.lock = lock;
  }
}

export class CachedLocks {
  readonly #locks = new Map<bigint, CachedLock>();
  readonly #inOrder = new RecentList<CachedLock>();
  #claims = 0;
  readonly #locksMax: number;

  constructor(locksMax = CACHED_LOCKS_DEFAULT) {
    this.#locksMax = locksMax;
  }

  /** Returns the plan, extended by what must be read so that its locks can be cached afterwards. */
  widened(plan: LoadPlan): LoadPlan {
    const unknown: bigint[] = [];
    const locks = plan.locks.map((lock) => {
      const known = this.#locks.get(lock.id);
      if (!known || isShared(known)) return lock;
      const isMissing = known.claims ? isUsedUp(known.claims, lock.heads) : isWorthAsking(known);
      // A claim that joins such a queue needs its own group alone. What lets others go on needs the next ones, again and again.
      const hasNext = hasLongShares(known.lock) && (plan.joining?.(known.lock) ?? []).length === 0;
      if (!isMissing && !hasNext) return lock;
      if (!known.claims) {
        known.asked = "yes";
        unknown.push(lock.id);
      }
      const wide = hasLongShares(known.lock) ? CACHED_FRONT_READ : CACHED_QUEUE_MAX;
      return { ...lock, heads: Math.max(lock.heads, wide) };
    });
    return { ...plan, locks, holdersOf: [...new Set([...plan.holdersOf, ...unknown])] };
  }

  /** Returns what a load of the plan would read if no other server has written since; null: not all of it is known. */
  read(plan: LoadPlan, clock: Clock): CachedRows | null {
    if (plan.rule || plan.locks.length === 0) return null;
    const copies = new Copies(clock);
    const pools = this.#pools(plan, copies);
    if (!pools) return null;
    for (const { id, heads, anywhereInQueue } of plan.locks) {
      const known = this.#locks.get(id);
      if (!known?.claims) return null;
      const { lock, claims } = known;
      const isWhole = claims.queueTo === null && claims.shares === null;
      if (anywhereInQueue && !isWhole) return null;
      const hasShares = lock.sharedBy && lock.waiting > 0;
      const max = hasShares ? lock.waiting : heads;
      const isTaken = claims.shares
        ? copies.takeShares({ lock, claims }, claims.shares, heads, plan)
        : copies.take({ lock, claims }, max);
      if (!isTaken) return null;
      if (hasShares || plan.holdersOf.includes(id)) copies.takeHolders(claims);
    }
    for (const key of plan.claims) {
      const claim = copies.claim(key);
      if (!claim) return null;
      copies.ask(claim);
    }
    const newRequestIds = this.#askByRequest(plan, copies);
    const { locks, queues, groups } = copies;
    return { locks, pools, claims: [...copies.asked], queues, groups, before: copies, newRequestIds };
  }

  /** The plan's pools, as known; null: not all of them are, or too few of those who wait there. */
  #pools({ pools = [] }: LoadPlan, copies: Copies): Map<bigint, PoolRows> | null {
    const rows = new Map<bigint, PoolRows>();
    for (const id of pools) {
      const known = this.#locks.get(id);
      if (!known?.pool || isShared(known)) return null;
      const { queue, complete } = known.pool;
      if (!complete && queue.length < POOL_QUEUE_KNOWN_MIN) return null;
      rows.set(id, { lock: copies.takePool(known.lock), queue, complete });
    }
    return rows;
  }

  /** Call after the commit of a transaction, with what it read and wrote. Keeps these rows: nobody may change them. */
  learn({ loaded, before }: Seen, writes: Writes): void {
    // The last written version of a claim comes last.
    const seen = new Map<bigint, Claim[]>();
    addByLock(seen, loaded.claims);
    for (const { head } of loaded.queues.values()) addByLock(seen, head);
    for (const groups of loaded.groups?.values() ?? [])
      for (const { waiters } of groups.values()) addByLock(seen, waiters);
    addByLock(seen, writes.changed);
    addByLock(seen, writes.added);
    for (const pool of writes.pools ?? []) this.#learnPool(pool, before);
    for (const lock of writes.locks) {
      const known = this.#locks.get(lock.id);
      if (!known) {
        this.#add(lock);
        continue;
      }
      const lockRead = before.lock(lock.id);
      const own = known.lock.revision === lockRead?.revision;
      known.alone = own ? known.alone + 1 : 0;
      const readTo = seenTo(lockRead, loaded.queues.get(lock.id));
      this.#claims -= known.claims?.all.size ?? 0;
      if (!own || isShared(known) || lockRead?.sharedBy !== lock.sharedBy) known.claims = null;
      else if (hasLongShares(lock)) {
        // What was known whole says nothing of the parts.
        const shares = known.claims?.shares ?? null;
        const now = knownAfter(shares, loaded.queues.get(lock.id), loaded.groups?.get(lock.id));
        known.claims = now && partsAfter(lock, known.claims, seen.get(lock.id), now);
      } else {
        const whole = known.claims?.shares ? null : known.claims;
        known.claims = liveClaims(lock, whole, seen.get(lock.id), readTo);
        // A part of such a queue in order of arrival is of no use.
        if (lock.sharedBy && known.claims && known.claims.queueTo !== null) known.claims = null;
      }
      this.#claims += known.claims?.all.size ?? 0;
      known.asked = own && known.asked === "yes" ? "yes" : "no";
      known.lock = lock;
      this.#inOrder.use(known);
    }
    const claimsMax = CACHED_CLAIMS_OF_LOCK * this.#locksMax;
    while (this.#locks.size > this.#locksMax || this.#claims > claimsMax) {
      const { oldest } = this.#inOrder;
      if (!oldest) break;
      this.forget(oldest.lock.id);
    }
  }

  #add(lock: Lock): CachedLock {
    const added = new CachedLock(lock);
    this.#locks.set(lock.id, added);
    this.#inOrder.add(added);
    return added;
  }

  #learnPool({ lock, queue, complete }: PoolRows, before: Pick<Before, "lock">): void {
    const known = this.#locks.get(lock.id) ?? this.#add(lock);
    const own = known.lock === lock || known.lock.revision === before.lock(lock.id)?.revision;
    known.alone = own ? known.alone + 1 : 0;
    known.lock = lock;
    known.pool = {
      queue: queue.slice(0, POOL_QUEUE_READ),
      complete: complete && queue.length <= POOL_QUEUE_READ,
    };
    this.#inOrder.use(known);
  }

  /**
   * Forgets the claims of these locks, so that the next decision about them reads the database. Call it after a
   * failure, after a decision in several rounds, and after a change of a rule.
   */
  doubt(ids: Iterable<bigint>): void {
    for (const id of ids) {
      const known = this.#locks.get(id);
      if (!known) continue;
      this.#claims -= known.claims?.all.size ?? 0;
      known.claims = null;
      known.pool = null;
      known.asked = "not yet";
    }
  }

  forget(id: bigint): void {
    const known = this.#locks.get(id);
    if (!known) return;
    this.#claims -= known.claims?.all.size ?? 0;
    this.#locks.delete(id);
    this.#inOrder.remove(known);
  }

  /** Call when the database may have become another one or may have been set back. */
  forgetAll(): void {
    this.#locks.clear();
    this.#inOrder.clear();
    this.#claims = 0;
  }

  /** Call after this server has extended places, with a time until which they are valid at least. */
  prolonged(replica: bigint, claims: readonly ClaimRef[], untilUs: number): void {
    for (const { lockId, ticketNumber, secret } of claims) {
      const claim = this.#locks.get(lockId)?.claims?.all.get(ticketNumber);
      if (claim?.state !== "waiting" || claim.secret !== secret) continue;
      claim.deadlineUs = Math.min(untilUs, claim.waitUntilUs ?? Number.POSITIVE_INFINITY);
      claim.replica = replica;
    }
  }

  /**
   * Adds the claims that have the plan's request ids, each at the lock that its command is for. Returns the clients'
   * request ids without a claim: no claim of another lock has one that the server made.
   */
  #askByRequest({ locks, requestIds }: LoadPlan, copies: Copies): string[] {
    if (requestIds.length === 0) return [];
    const found: string[] = [];
    for (const { id, byRequest } of locks) {
      if (!byRequest) continue;
      for (const claim of this.#locks.get(id)?.claims?.all.values() ?? []) {
        if (!requestIds.includes(claim.requestId)) continue;
        copies.ask(claim);
        found.push(claim.requestId);
      }
    }
    return requestIds.filter((requestId) => !isServerMade(requestId) && !found.includes(requestId));
  }
}

/** All guard rows of a plan. */
export function idsOf({ locks, pools = [] }: LoadPlan): bigint[] {
  return [...locks.map(({ id }) => id), ...pools];
}

/** Whether other servers write the lock too, as far as can be seen: caching its claims would be useless. */
function isShared({ alone }: Pick<CachedLock, "alone">): boolean {
  return alone < ALONE_AFTER_OTHERS;
}

/** Whether shares are fair, and more wait than are cached: parts of the queue are known. */
function hasLongShares({ sharedBy, waiting }: Lock): boolean {
  return Boolean(sharedBy) && waiting > CACHED_QUEUE_MAX;
}

/** Whether fewer than `heads` waiters are cached although more wait. */
function isUsedUp({ all, queueTo }: LiveClaims, heads: number): boolean {
  return queueTo !== null && queueIn(all).length < heads;
}

/** Whether the lock has claims, but not too many holders, and they have not been requested. */
function isWorthAsking({ lock: { holders, waiting }, asked }: CachedLock): boolean {
  return asked === "no" && holders + waiting > 0 && holders <= CACHED_HOLDERS_MAX;
}

/** Where a claim stands among those of its lock: by its place, and then by its ticket number. */
interface QueuePosition {
  readonly place: bigint;
  readonly ticketNumber: bigint;
}

const BEFORE_QUEUE: QueuePosition = { place: HELD_PLACE, ticketNumber: 0n };

function positionOf(claim: Claim): QueuePosition {
  return { place: placeOf(claim), ticketNumber: claim.ticketNumber };
}

function isBehind(place: bigint, ticketNumber: bigint, other: QueuePosition): boolean {
  return place === other.place ? ticketNumber > other.ticketNumber : place > other.place;
}

/** All holders by ticket number, and then the first waiters, as they stand in the queue. */
export interface LiveClaims {
  readonly all: Map<bigint, Claim>;
  /** All waiters up to this one are known; null: the whole queue is known. */
  readonly queueTo: QueuePosition | null;
  /** What is known of a long queue whose shares are fair, instead; null: it is none. */
  readonly shares: CachedShares | null;
}

/** The cached claims of a lock with long shares after it was written; null: not all holders are known, or it is too much. */
function partsAfter(
  lock: Lock,
  known: LiveClaims | null,
  seen: readonly Claim[] | undefined,
  shares: CachedShares,
): LiveClaims | null {
  const claims = known?.all ?? new Map<bigint, Claim>();
  for (const claim of seen ?? []) claims.set(claim.ticketNumber, claim);
  const all = liveShares(lock, claims.values(), shares);
  return all && { all, queueTo: null, shares };
}

/** The waiters of the lock's own queue, in order. */
function queueIn(all: ReadonlyMap<bigint, Claim>): Claim[] {
  return [...all.values()].filter((claim) => claim.state === "waiting" && !isEntering(claim));
}

/** Up to where a read of the head saw the queue; null: all of it. */
function seenTo(lock: Lock | undefined, queue: Queue | undefined): QueuePosition | null {
  if (queue ? queue.complete : lock?.waiting === 0) return null;
  const last = queue?.head.at(-1);
  return last ? positionOf(last) : BEFORE_QUEUE;
}

/** The cached claims of a lock after it was written; null if not all holders are known, or there are too many. */
export function liveClaims(
  lock: Lock,
  known: LiveClaims | null,
  seen: readonly Claim[] | undefined,
  readTo: QueuePosition | null,
): LiveClaims | null {
  const all = known?.all ?? new Map<bigint, Claim>();
  let queueTo = known ? furtherOf(known.queueTo, readTo) : readTo;
  for (const claim of seen ?? []) all.set(claim.ticketNumber, claim);
  let holders = 0;
  let waiting = 0;
  let latestPlace = BEFORE_QUEUE.place;
  let latestNumber = BEFORE_QUEUE.ticketNumber;
  let areInOrder = true;
  for (const [number, claim] of all) {
    const { state } = claim;
    const place = placeOf(claim);
    if (state === "ended" || (state === "waiting" && queueTo !== null && isBehind(place, number, queueTo))) {
      all.delete(number);
      continue;
    }
    if (state === "held" || isEntering(claim)) holders += 1;
    else waiting += 1;
    areInOrder &&= place === latestPlace ? number > latestNumber : place > latestPlace;
    latestPlace = place;
    latestNumber = number;
  }
  if (holders !== lock.holders || holders > CACHED_HOLDERS_MAX) return null;
  if (queueTo === null && waiting !== lock.waiting) return null;
  const ordered = areInOrder ? all : inPlaces(all);
  if (waiting > CACHED_QUEUE_MAX) queueTo = cutQueue(ordered);
  return { all: ordered, queueTo, shares: null };
}

function inPlaces(all: ReadonlyMap<bigint, Claim>): Map<bigint, Claim> {
  const claims = [...all.values()].sort((a, b) =>
    isBehind(placeOf(a), a.ticketNumber, positionOf(b)) ? 1 : -1,
  );
  return new Map(claims.map((claim) => [claim.ticketNumber, claim]));
}

/** Drops the end of the queue, which is read again when its turn comes. Returns up to where the rest is known. */
function cutQueue(all: Map<bigint, Claim>): QueuePosition {
  const queue = queueIn(all);
  for (const { ticketNumber } of queue.slice(CACHED_QUEUE_MAX)) all.delete(ticketNumber);
  return positionOf(queue[CACHED_QUEUE_MAX - 1] as Claim);
}

/** Of two known parts of the same queue, the end of the longer one. */
function furtherOf(a: QueuePosition | null, b: QueuePosition | null): QueuePosition | null {
  if (a === null || b === null) return null;
  return isBehind(a.place, a.ticketNumber, b) ? a : b;
}

/** The original rows. The decision changes the loaded ones, so a comparison with these shows what to write. */
export interface Before {
  lock(id: bigint): Lock | undefined;
  /** Undefined: the claim was not read. */
  claim(key: ClaimKey): Claim | undefined;
}

const NO_CLAIMS: LiveClaims = { all: new Map(), queueTo: null, shares: null };

interface LockWithClaims {
  readonly lock: Lock;
  readonly claims: LiveClaims;
}

export class Copies implements Before {
  readonly locks = new Map<bigint, Lock>();
  readonly asked = new Set<Claim>();
  readonly queues = new Map<bigint, Queue>();
  /** undefined: no lock that was taken has groups that are known in parts. */
  groups: Map<bigint, ReadonlyMap<string, GroupRead>> | undefined;
  readonly #clock: Clock;
  readonly #originals = new Map<bigint, LockWithClaims>();
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

  /** Adds a pool, which has no claims of its own. */
  takePool(lock: Lock): Lock {
    this.#originals.set(lock.id, { lock, claims: NO_CLAIMS });
    return { ...lock };
  }

  /**
   * Adds the lock, its sole holder, its due claims and the head of its queue. Returns false if the database must be
   * read: too little of the queue is cached, a place seems to have run out, or the uncertain clock leaves open whether
   * a lease has ended or the lock is due.
   */
  take(known: LockWithClaims, heads: number): boolean {
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
      if (isEntering(claim)) continue;
      if (claim.state === "waiting") {
        if (head.length < heads) head.push(this.#copy(claim));
      } else if (lock.holders === 1 || (isDue && ++due <= DUE_MAX)) this.ask(claim);
    }
    const complete = head.length === lock.waiting;
    if (lock.waiting > 0) this.queues.set(lock.id, { head, complete });
    return complete || head.length === heads;
  }

  /** As `take`, of a queue that is known in parts. */
  takeShares(known: LockWithClaims, shares: CachedShares, heads: number, plan: LoadPlan): boolean {
    const { lock, claims } = known;
    const asked = plan.claims.flatMap((key) =>
      key.lockId === lock.id ? (claims.all.get(key.ticketNumber) ?? []) : [],
    );
    const joining = plan.joining?.(lock) ?? [];
    const found = sharesFor({ lock, all: claims.all, shares, heads, asked, joining });
    if (!found || !this.take(known, 0)) return false;
    const copied = (waiters: readonly Claim[]) => waiters.map((claim) => this.#copy(claim));
    this.queues.set(lock.id, { ...found.queue, head: copied(found.queue.head) });
    const groups = [...found.groups].map(([group, read]): [string, GroupRead] => [
      group,
      { ...read, waiters: copied(read.waiters) },
    ]);
    this.groups = (this.groups ?? new Map()).set(lock.id, new Map(groups));
    return true;
  }

  takeHolders({ all }: LiveClaims): void {
    const holders = [...all.values()].filter((claim) => placeOf(claim) === HELD_PLACE);
    for (const claim of holders.slice(0, FORCE_RELEASE_MAX)) this.ask(claim);
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
