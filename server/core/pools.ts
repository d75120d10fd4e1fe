// Pools: a pattern whose limit counts all names under it together. A pool is one more level of a queue, and its guard row is a
// `Lock` of the servers' own: `heldPermits` are those given, `waiting` those who wait here, `nextTicket` the next rank, and
// `wakesAtUs` when somebody here may go on. proof/pools/README.md has the design, and explores it.
//
// A claim lists its levels, so it alone says what its end gives back. It takes its own lock first, then one pool after the
// other, narrow to wide, and waits at the first one without room.

import { type Claim, type ClaimKey, isLead, type Level, type Member, roomOf } from "./claim.ts";
import type { Clock } from "./database-clock.ts";
import { type EffectiveLimit, type EffectiveRate, isUnder, type LimitRule, patternOf } from "./limit.ts";
import { type Lock, OWN_NAMES_PREFIX } from "./lock.ts";
import { allowedFromUs, correctedUntilUs, exceedsBurst, isAllowed } from "./rate.ts";
import type { PoolRows, PoolWaiter } from "./rows.ts";

/** Begins the names of the guard rows of pools; the prefix of the pattern follows. */
const POOL_NAMES_PREFIX = `${OWN_NAMES_PREFIX}pool/`;

export function poolName(prefix: string): string {
  return POOL_NAMES_PREFIX + prefix;
}

/** The prefix of the pool with this guard row; null: it is not the name of a pool's guard row. */
export function poolPrefix(name: string): string | null {
  return name.startsWith(POOL_NAMES_PREFIX) ? name.slice(POOL_NAMES_PREFIX.length) : null;
}

const NONE: readonly bigint[] = [];

/** The pools over this name by these rules, narrow to wide. */
export function poolsOver(name: string, rules: readonly LimitRule[]): readonly bigint[] {
  let over: LimitRule[] | null = null;
  for (const rule of rules) {
    if (!rule.poolId || !isUnder(name, rule)) continue;
    over ??= [];
    over.push(rule);
  }
  if (!over) return NONE;
  over.sort((a, b) => b.prefix.length - a.prefix.length);
  return over.map(({ poolId }) => poolId as bigint);
}

/** What a claim, or a request, takes of a pool. */
type Asked = Pick<PoolWaiter, "room" | "permits">;

/** One who asks for a permit of a pool, with one lock or several. */
interface Asking extends Pick<Claim, "permits" | "ttlUs"> {
  readonly members?: readonly Pick<Member, "name" | "permits">[] | null;
}

/** A pool during a decision. */
export class Pool {
  readonly lock: Lock;
  /** How many characters its prefix has. The more, the narrower is the pool. */
  readonly width: number;
  /** The first of those who wait here, by their ranks. */
  readonly queue: PoolWaiter[];
  /** Whether that is the whole queue. */
  readonly isComplete: boolean;
  readonly #prefix: string;
  readonly #clock: Clock;

  constructor({ lock, queue, complete }: PoolRows, clock: Clock) {
    this.lock = lock;
    this.#prefix = poolPrefix(lock.name) ?? "";
    this.width = this.#prefix.length;
    this.queue = [...queue];
    this.isComplete = complete;
    this.#clock = clock;
    if (lock.rate) lock.rateUntilUs = correctedUntilUs(lock.rate, lock.rateUntilUs, clock);
  }

  get id(): bigint {
    return this.lock.id;
  }

  get pattern(): string {
    return patternOf({ prefix: this.#prefix });
  }

  /** It was removed: nobody takes a permit of it, and nobody waits for one. */
  get isLeaving(): boolean {
    return this.lock.limit === null && this.lock.rate === null;
  }

  get limit(): EffectiveLimit {
    const { limit, limitVersion: version, limitReason: reason } = this.lock;
    return {
      limit: limit ?? Number.POSITIVE_INFINITY,
      source: "pool",
      pattern: this.pattern,
      version,
      reason,
    };
  }

  /** null: there is none. */
  get rate(): EffectiveRate | null {
    const { rate, limitVersion: version, limitReason: reason } = this.lock;
    return rate && { ...rate, source: "pool", pattern: this.pattern, version, reason };
  }

  /** Whether more is given than the limit allows. */
  get isOverLimit(): boolean {
    return this.lock.limit !== null && this.lock.heldPermits > this.lock.limit;
  }

  /** The sum of those of its locks that are under the pool. */
  takenBy(asking: Asking): Asked {
    const { members } = asking;
    if (!members) return { room: roomOf(asking), permits: asking.permits };
    let permits = 0;
    for (const member of members)
      if (isUnder(member.name, { prefix: this.#prefix })) permits += member.permits;
    return { room: permits, permits };
  }

  neverFits({ room, permits }: Asked): boolean {
    const { limit, rate } = this.lock;
    return (limit !== null && limit > 0 && room > limit) || exceedsBurst(rate, permits);
  }

  isRateReady({ permits }: Pick<Asked, "permits">): boolean {
    return isAllowed(this.lock.rate, this.lock.rateUntilUs, permits, this.#clock);
  }

  /** When the rate allows so many permits. */
  allowedFromUs({ permits }: Pick<Asked, "permits">): number {
    const { rate, rateUntilUs } = this.lock;
    return rate ? allowedFromUs(rate, rateUntilUs, permits) : 0;
  }

  /** Whether there is room beside those given and those who wait already. */
  hasRoomFor({ room }: Asked): boolean {
    const { limit, heldPermits, waitingPermits } = this.lock;
    if (limit === null) return true;
    return limit > 0 && heldPermits + waitingPermits + room <= limit;
  }

  /**
   * Those who may go on by the limit: the first ones of the queue whose permits all fit into what is not given. So nobody takes
   * what somebody before needs, and they may go on in any order. One that never fits is the last of them: its look ends it.
   */
  *mayGoOn(): Generator<PoolWaiter> {
    const { limit, heldPermits } = this.lock;
    if (limit === 0) return;
    let left = limit === null ? Number.POSITIVE_INFINITY : limit - heldPermits;
    for (const waiter of this.queue) {
      if (this.neverFits(waiter)) {
        yield waiter;
        return;
      }
      left -= waiter.room;
      if (left < 0) return;
      yield waiter;
    }
  }

  /** Whether the claim, which waits here, may go on now. */
  letsGoOn({ lockId, ticketNumber }: Claim): boolean {
    return this.toLookAt().now.some(
      (waiter) => waiter.ticketNumber === ticketNumber && waiter.lockId === lockId,
    );
  }

  /**
   * Those who may go on now, and from when on somebody may; null: not before another claim ends. Whom the rate does not allow yet
   * keeps those behind it waiting, however few permits they ask for.
   */
  toLookAt(): { readonly now: readonly PoolWaiter[]; readonly fromUs: number | null } {
    const now: PoolWaiter[] = [];
    let fromUs: number | null = null;
    const { atLeastUs } = this.#clock;
    for (const waiter of this.mayGoOn()) {
      const allowedUs = this.neverFits(waiter) ? atLeastUs : Math.max(atLeastUs, this.allowedFromUs(waiter));
      fromUs ??= allowedUs;
      if (allowedUs > atLeastUs) break;
      now.push(waiter);
    }
    return { now, fromUs };
  }

  /** Waits at the end of the queue, or at a rank that it had. */
  add(claim: Claim, rank: bigint): void {
    const { lockId, ticketNumber } = claim;
    const { room, permits } = this.takenBy(claim);
    this.lock.waiting += 1;
    this.lock.waitingPermits += room;
    const at = this.queue.findIndex((other) => other.rank > rank);
    // Behind those that were not read, it is not part of the known queue.
    if (at < 0 && !this.isComplete) return;
    this.queue.splice(at < 0 ? this.queue.length : at, 0, { lockId, ticketNumber, rank, room, permits });
  }

  remove(claim: Claim): void {
    const { lockId, ticketNumber } = claim;
    this.lock.waiting -= 1;
    this.lock.waitingPermits -= this.takenBy(claim).room;
    const at = this.queue.findIndex(
      (waiter) => waiter.ticketNumber === ticketNumber && waiter.lockId === lockId,
    );
    if (at >= 0) this.queue.splice(at, 1);
  }

  give(claim: Claim, by: 1 | -1): void {
    this.lock.holders += by;
    this.lock.heldPermits += by * this.takenBy(claim).room;
  }
}

/** Thrown out of a decision that needs rows which were not read: it begins anew, with these. */
export class RowsNeeded extends Error {
  /** Pools. */
  readonly pools: readonly bigint[];
  /** The rows of claims for several locks, with these locks. */
  readonly sets: readonly (readonly ClaimKey[])[];
  /** Locks whose order changes, or of which too many of one group leave: all of their queues. */
  readonly wholeQueues: readonly bigint[];

  constructor({
    pools = [],
    sets = [],
    wholeQueues = [],
  }: Partial<Pick<RowsNeeded, "pools" | "sets" | "wholeQueues">>) {
    super("The decision needs rows that were not read.");
    this.pools = pools;
    this.sets = sets;
    this.wholeQueues = wholeQueues;
  }
}

/** The pools of one transaction. All of its locks share them. */
export class Pools {
  readonly #pools = new Map<bigint, Pool | null>();

  constructor(rows: ReadonlyMap<bigint, PoolRows | null> | undefined, clock: Clock) {
    rows?.forEach((row, id) => {
      this.#pools.set(id, row && new Pool(row, clock));
    });
  }

  /** Those of them that exist. Throws RowsNeeded if they were not read. */
  of(ids: readonly bigint[]): Pool[] {
    if (!ids.every((id) => this.#pools.has(id))) throw new RowsNeeded({ pools: ids });
    return ids.flatMap((id) => this.#pools.get(id) ?? []);
  }

  /** null: it exists no more, and so is no level. */
  get(id: bigint): Pool | null {
    const pool = this.#pools.get(id);
    if (pool === undefined) throw new RowsNeeded({ pools: [id] });
    return pool;
  }

  *all(): Generator<Pool> {
    for (const pool of this.#pools.values()) if (pool) yield pool;
  }
}

export function levelAt({ levels }: Claim, poolId: bigint): Level | undefined {
  return levels?.find((level) => level.poolId === poolId);
}

/** Replaces the level, or adds it. Copies of the claim share the old list. */
export function setLevel(claim: Claim, level: Level): void {
  const { levels } = claim;
  if (!levelAt(claim, level.poolId)) claim.levels = [...(levels ?? []), level];
  else claim.levels = levels?.map((other) => (other.poolId === level.poolId ? level : other)) ?? null;
}

export function waitsAt({ levels }: Pick<Claim, "levels">): bigint | null {
  return levels?.find(({ state }) => state === "waits")?.poolId ?? null;
}

/** The claim waits at no pool any more. */
export function leaveQueue(pools: Pools, claim: Claim): void {
  const at = waitsAt(claim);
  if (at === null) return;
  const level = levelAt(claim, at) as Level;
  setLevel(claim, { ...level, state: "left" });
  pools.get(at)?.remove(claim);
}

export function giveBack(pools: Pools, claim: Claim, level: Level): void {
  if (level.state !== "has") return;
  pools.get(level.poolId)?.give(claim, -1);
  setLevel(claim, { ...level, state: "left" });
}

/** The claim ends: it gives back all that it lists. Of the rows of a claim for several locks, the lead does. */
export function giveAllBack(pools: Pools, claim: Claim): void {
  const { levels } = claim;
  if (!levels) return;
  if (!isLead(claim)) {
    claim.levels = null;
    return;
  }
  pools.of(levels.map(({ poolId }) => poolId));
  leaveQueue(pools, claim);
  for (const level of levels) giveBack(pools, claim, level);
  claim.levels = null;
}
