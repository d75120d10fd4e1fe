// The claims of known locks: which of them are kept after a lock was written, and what a decision gets of them in the
// form of a load. A decision changes the rows that it gets, so it gets copies. Pure.

import { DUE_MAX, FORCE_RELEASE_MAX } from "../../core/bounds.ts";
import { type Claim, type ClaimKey, HELD_PLACE, placeOf } from "../../core/claim.ts";
import type { Clock } from "../../core/database-clock.ts";
import type { Lock } from "../../core/lock.ts";
import { CACHED_HOLDERS_MAX, CACHED_QUEUE_MAX } from "../storage-bounds.ts";

/** Where a claim stands among those of its lock: by its place, and then by its ticket number. */
export interface QueuePosition {
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
}

/** The claims in this state, in order. */
export function inState(all: ReadonlyMap<bigint, Claim>, wanted: Claim["state"]): Claim[] {
  return [...all.values()].filter(({ state }) => state === wanted);
}

/** Up to where a read of the head saw the queue; null: all of it. */
export function seenTo(
  lock: Lock | undefined,
  queue: { readonly head: readonly Claim[]; readonly complete: boolean } | undefined,
): QueuePosition | null {
  if (queue ? queue.complete : lock?.waiting === 0) return null;
  const last = queue?.head.at(-1);
  return last ? positionOf(last) : BEFORE_QUEUE;
}

/**
 * The cached claims of a lock after it was written; null if not all of its holders are known, or there are too many.
 */
export function liveClaims(
  lock: Lock,
  known: LiveClaims | null,
  seen: readonly Claim[],
  readTo: QueuePosition | null,
): LiveClaims | null {
  const all = known?.all ?? new Map<bigint, Claim>();
  let queueTo = known ? furtherOf(known.queueTo, readTo) : readTo;
  for (const claim of seen) all.set(claim.ticketNumber, claim);
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
    if (state === "held") holders += 1;
    else waiting += 1;
    areInOrder &&= place === latestPlace ? number > latestNumber : place > latestPlace;
    latestPlace = place;
    latestNumber = number;
  }
  if (holders !== lock.holders || holders > CACHED_HOLDERS_MAX) return null;
  if (queueTo === null && waiting !== lock.waiting) return null;
  const ordered = areInOrder ? all : inPlaces(all);
  if (waiting > CACHED_QUEUE_MAX) queueTo = cutQueue(ordered);
  return { all: ordered, queueTo };
}

function inPlaces(all: ReadonlyMap<bigint, Claim>): Map<bigint, Claim> {
  const claims = [...all.values()].sort((a, b) =>
    isBehind(placeOf(a), a.ticketNumber, positionOf(b)) ? 1 : -1,
  );
  return new Map(claims.map((claim) => [claim.ticketNumber, claim]));
}

/** Drops the end of the queue, which is read again when its turn comes. Returns up to where the rest is known. */
function cutQueue(all: Map<bigint, Claim>): QueuePosition {
  const queue = inState(all, "waiting");
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

export interface LockWithClaims {
  readonly lock: Lock;
  readonly claims: LiveClaims;
}

/** Contains each claim once. */
export class Copies implements Before {
  readonly locks = new Map<bigint, Lock>();
  readonly asked = new Set<Claim>();
  readonly queues = new Map<bigint, { readonly head: readonly Claim[]; readonly complete: boolean }>();
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

  /**
   * Adds the lock, its sole holder, its due claims and the head of its queue. Returns false if the database must be
   * read: too little of the queue is cached, a place seems to have run out, or the uncertain clock leaves open whether a
   * lease has ended or the lock is due.
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
      if (claim.state === "waiting") {
        if (head.length < heads) head.push(this.#copy(claim));
      } else if (lock.holders === 1 || (isDue && ++due <= DUE_MAX)) this.ask(claim);
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
