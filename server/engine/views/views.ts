// Locks and limits as people and tools see them; nothing here decides anything. Reads any number of locks in small
// steps. Each step has its own tick of the event loop: an embedded database answers without a pause, and calls that keep
// leases must run in between. Reads no more than is taken: when the caller stops, the reading stops.

import { setImmediate as anotherTick } from "node:timers/promises";
import { partsOf, SHOWN_BY_GET_MAX, SHOWN_BY_LIST_MAX } from "../../core/bounds.ts";
import type { Caller } from "../../core/command.ts";
import {
  effectiveLimit,
  effectiveQueueRules,
  effectiveRate,
  type LimitRule,
  patternOf,
} from "../../core/limit.ts";
import type { GuardRow, Lock } from "../../core/lock.ts";
import { availableNow } from "../../core/rate.ts";
import type { LockQuery, LockView, RecordPosition, Store, WaitedLock } from "../../storage/store.ts";
import type { LimitSetting, LimitsQuery, LocksQuery, PoolView, ViewedLock } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { FairGate } from "../fair-gate.ts";
import { asFault, withoutRepeating } from "../faults.ts";
import { poolPatterns, poolRowsOver, poolView } from "./pool-views.ts";

type Source = Pick<Store, "byStatus" | "view" | "list" | "views" | "waitedLocks" | "limitRules">;

/** The turns of listings: only a few read at once, so that the database stays free for decisions. Throws Faults. */
export class ListingTurns extends FairGate {
  /** `readers`: how many reads for display the store allows at once. */
  constructor(readers: number) {
    const atOnce = Math.min(bounds.LISTINGS_AT_ONCE_MAX, readers);
    super({ atOnce, queuedMax: bounds.LISTINGS_QUEUED_MAX, bound: "listings_queued" });
  }

  /** Holds a turn from the first item to the last one taken. `isOver`: whether nobody wants any item by then. */
  async *each<Item>(
    caller: Caller | undefined,
    read: () => AsyncIterable<Item>,
    isOver?: () => boolean,
  ): AsyncGenerator<Item, void, void> {
    if (!(await this.begin(caller, isOver))) return;
    try {
      yield* read();
    } catch (error) {
      throw asFault(error);
    } finally {
      this.end();
    }
  }

  override run<Answer>(read: () => Promise<Answer>, caller?: Caller): Promise<Answer> {
    return super.run(() => withoutRepeating(read), caller);
  }
}

/** Throws Faults. */
export class Views {
  readonly #store: Source;
  readonly #turns: ListingTurns;
  readonly #nowUs: () => number;

  /** `nowUs`: the latest time that the database's clock may show. */
  constructor(store: Source, turns: ListingTurns, nowUs: () => number) {
    this.#store = store;
    this.#turns = turns;
    this.#nowUs = nowUs;
  }

  /** Shows an unused name as it would be, without making a row. */
  view(name: string, caller?: Caller): Promise<ViewedLock> {
    const store = this.#store;
    return this.#turns.run(async () => {
      const rules = await inOwnTick(() => store.limitRules());
      const view = await inOwnTick(() => viewOrUnused(store, name, SHOWN_BY_GET_MAX));
      const pools = await inOwnTick(() => poolRowsOver([name], rules, store));
      const nowUs = this.#nowUs();
      return { ...described(view, rules, nowUs), pools: pools.map((pool) => poolView(pool, nowUs)) };
    }, caller);
  }

  /** `isOver`: whether nobody wants more; the reading then stops. */
  views(query: LocksQuery, caller?: Caller, isOver = () => false): AsyncIterable<ViewedLock> {
    const nowUs = this.#nowUs;
    const { records = null, isSeen = null } = query;
    const read = async function* (store: Source, rules: readonly LimitRule[]) {
      const found = records ? ofStatus(store, query, records) : ofNames(store, query, isOver);
      for await (const { view, at } of found)
        if (isSeen?.(view.lock.name) ?? true)
          yield at ? { ...described(view, rules, nowUs()), at } : described(view, rules, nowUs());
    };
    return this.#inTurn(caller, read, isOver);
  }

  /** Those of the given locks that exist. */
  viewsOf(locks: readonly WaitedLock[]): AsyncIterable<ViewedLock> {
    const nowUs = this.#nowUs;
    return this.#inTurn(undefined, async function* (store, rules) {
      for await (const view of viewSteps(store, locks)) yield described(view, rules, nowUs());
    });
  }

  limits(query: LimitsQuery, caller?: Caller): AsyncIterable<LimitSetting> {
    return this.#inTurn(caller, (store, rules) => limitSettings(store, rules, query, this.#nowUs));
  }

  #inTurn<Item>(
    caller: Caller | undefined,
    read: (store: Source, rules: readonly LimitRule[]) => AsyncIterable<Item>,
    isOver = () => false,
  ): AsyncGenerator<Item, void, void> {
    const store = this.#store;
    const readAll = async function* () {
      const rules = await inOwnTick(async () => (isOver() ? null : await store.limitRules()));
      if (rules && !isOver()) yield* read(store, rules);
    };
    return this.#turns.each(caller, readAll, isOver);
  }
}

/** The limits that were set: those of patterns, of pools, and of names, each in byte order. */
async function* limitSettings(
  store: Pick<Store, "list" | "views">,
  rules: readonly LimitRule[],
  { prefix, after, max, isSeen }: LimitsQuery,
  nowUs: () => number,
): AsyncGenerator<LimitSetting, void, void> {
  const isWanted = ({ target }: Pick<LimitSetting, "target">) => isSeen?.(target) ?? true;
  if (after === null || after.kind === "pattern")
    yield* patterns(rules, prefix, after?.target ?? null).filter(isWanted);
  if (after?.kind !== "name") {
    const rest = rulesAfter(rules, prefix, after?.kind === "pool" ? after.target : null);
    const ids = rest.flatMap(({ poolId }) => poolId ?? []);
    for (const part of partsOf(ids, bounds.POOLS_READ_MAX)) {
      const found = await inOwnTick(() => store.views(part, 0));
      yield* found.map(({ lock }) => poolSetting(poolView(lock, nowUs()))).filter(isWanted);
    }
  }
  const afterName = after?.kind === "name" ? after.target : null;
  for await (const locks of lockSteps(store, { prefix, afterName, max, which: "limited" }, isSeen)) {
    for (const { name, limit, rate, queueRules, limitVersion: version, limitReason: reason } of locks)
      yield { kind: "name", target: name, limit, rate, queueRules, version, reason };
  }
}

/** In the order of the bytes before the star. */
function rulesAfter(rules: readonly LimitRule[], prefix: string, after: string | null): LimitRule[] {
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return rules
    .filter((rule) => patternOf(rule).startsWith(prefix))
    .filter((rule) => after === null || compare(rule.prefix, after.slice(0, -1)) > 0)
    .sort((a, b) => compare(a.prefix, b.prefix));
}

function patterns(rules: readonly LimitRule[], prefix: string, after: string | null): LimitSetting[] {
  return rulesAfter(rules, prefix, after).flatMap((rule) => {
    const { limit, rate, queueRules, version, reason } = rule;
    if (limit === null && rate === null && queueRules === null) return [];
    return [{ kind: "pattern", target: patternOf(rule), limit, rate, queueRules, version, reason }];
  });
}

function poolSetting({ limit, rate, use }: PoolView): LimitSetting {
  const { pattern, version, reason } = limit;
  const ofLimit = Number.isFinite(limit.limit) ? limit.limit : null;
  return { kind: "pool", target: pattern, limit: ofLimit, rate, queueRules: null, version, reason, use };
}

/** A lock that was found; `at`: where it stood in a listing by status. */
interface Found {
  readonly view: LockView;
  readonly at?: RecordPosition | undefined;
}

async function* ofNames(
  store: Source,
  query: LocksQuery,
  isOver: () => boolean,
): AsyncGenerator<Found, void, void> {
  for await (const locks of listed(store, query)) {
    if (isOver()) return;
    for await (const view of viewSteps(store, locks)) yield { view };
  }
}

/** Leaves out locks that have got another status since they were found, and goes on for as long as somebody wants more. */
async function* ofStatus(
  store: Source,
  { prefix, max, afterRecord = null }: LocksQuery,
  wanted: NonNullable<LocksQuery["records"]>,
): AsyncGenerator<Found, void, void> {
  let after = afterRecord;
  do {
    const from = after;
    const { locks, next } = await inOwnTick(() => store.byStatus({ prefix, ...wanted }, from, max));
    const at = new Map(locks.map((lock) => [lock.id, lock.at]));
    // Those that are not free may have claims to show.
    const found = locks.map(({ id, at: { dueAtUs } }) => ({
      id,
      holders: dueAtUs === null ? 1 : 0,
      waiting: 0,
    }));
    for await (const view of viewSteps(store, found))
      if (isOfRecord(view.lock, wanted)) yield { view, at: at.get(view.lock.id) };
    after = next;
  } while (after !== null);
}

async function* listed(store: Source, query: LocksQuery) {
  const { prefix, afterName, max, busyOnly, order, isSeen } = query;
  if (order === "name")
    yield* lockSteps(store, { prefix, afterName, max, which: busyOnly ? "busy" : "all" }, isSeen);
  // Only their views show the names, so any of them may be one that is seen.
  else yield await inOwnTick(() => store.waitedLocks(prefix, order, isSeen ? bounds.WAITED_LOCKS_MAX : max));
}

function isOfRecord(
  { record }: Lock,
  { statuses, isExhausted }: NonNullable<LocksQuery["records"]>,
): boolean {
  if (!record || (isExhausted && record.attemptsLeft !== 0)) return false;
  return statuses.length === 0 || statuses.includes(record.status);
}

function described(view: LockView, rules: readonly LimitRule[], nowUs: number): ViewedLock {
  const { lock } = view;
  const rate = effectiveRate(lock, rules);
  const available = rate && availableNow(rate, lock.rateUntilUs, nowUs);
  return {
    ...view,
    limit: effectiveLimit(lock, rules),
    rate: rate && { ...rate, available: available ?? 0 },
    queueRules: effectiveQueueRules(lock, rules),
    ...(lock.entering > 0 && { poolPatterns: poolPatterns(rules) }),
  };
}

/** The lock, or what the first user of the name would find. Throws StoreErrors. */
export async function viewOrUnused(
  store: Pick<Store, "view">,
  name: string,
  claimsMax: number,
): Promise<LockView> {
  return (await store.view(name, claimsMax)) ?? { lock: unused(name), holders: [], waiters: [] };
}

function unused(name: string): Lock {
  return {
    id: 0n,
    name,
    limit: null,
    rate: null,
    queueRules: null,
    sharedBy: null,
    orderKeyUs: 0,
    limitVersion: 0n,
    limitReason: "",
    rateUntilUs: 0,
    wakesAtUs: null,
    nextTicket: 1n,
    lastToken: 0n,
    heldPermits: 0,
    sharedHolders: 0,
    exclusiveHolders: 0,
    holders: 0,
    waiting: 0,
    waitingPermits: 0,
    entering: 0,
    enteringPermits: 0,
    counting: null,
    changeMark: 0n,
    recordFloor: 0n,
    firstHolder: null,
    record: null,
    revision: 0n,
  };
}

/** Runs one step of a longer read. */
export async function inOwnTick<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  await anotherTick();
  return await read();
}

/** At most `max` guard rows, in the byte order of their names; those that are not seen do not count. Throws StoreErrors. */
export async function* lockSteps(
  store: Pick<Store, "list">,
  query: LockQuery,
  isSeen: LocksQuery["isSeen"] = null,
): AsyncGenerator<readonly GuardRow[], void, void> {
  let { afterName, max } = query;
  do {
    const atOnce = isSeen ? Math.max(max, bounds.SEARCHED_PER_STEP) : max;
    const { locks, next } = await inOwnTick(() => store.list({ ...query, afterName, max: atOnce }));
    const seen = isSeen ? locks.filter(({ name }) => isSeen(name)).slice(0, max) : locks;
    yield seen;
    max -= seen.length;
    afterName = next;
  } while (afterName !== null && max > 0);
}

/** The locks, in this order, with their first claims; leaves out locks that are gone by then. Throws StoreErrors. */
export async function* viewSteps(
  store: Pick<Store, "views">,
  locks: readonly (GuardRow | WaitedLock)[],
): AsyncGenerator<LockView, void, void> {
  for (const part of stepsOf(locks)) {
    const ids = part.filter((lock) => !isIdle(lock)).map(({ id }) => id);
    const read = ids.length === 0 ? [] : await inOwnTick(() => store.views(ids, SHOWN_BY_LIST_MAX));
    const views = new Map(read.map((view) => [view.lock.id, view]));
    for (const lock of part) {
      const view = isIdle(lock) ? viewOfIdle(lock) : views.get(lock.id);
      if (view) yield view;
    }
  }
}

/** Most locks of a long listing are idle and have no record: the guard row is all there is to read. */
function isIdle(lock: GuardRow | WaitedLock): lock is GuardRow {
  return lock.holders + lock.waiting === 0 && "name" in lock && !lock.hasRecord;
}

function viewOfIdle({ hasRecord: _none, ...counters }: GuardRow): LockView {
  return { lock: { ...counters, record: null }, holders: [], waiters: [] };
}

/** Parts of as many locks as have no more claims to show than one step reads, but at least one lock. */
function* stepsOf<Counted extends WaitedLock>(locks: readonly Counted[]): Generator<Counted[], void, void> {
  let part: Counted[] = [];
  let claims = 0;
  for (const lock of locks) {
    const own = Math.min(lock.holders, SHOWN_BY_LIST_MAX) + Math.min(lock.waiting, SHOWN_BY_LIST_MAX);
    if (claims + own > bounds.CLAIMS_PER_STEP_MAX) {
      yield part;
      part = [];
      claims = 0;
    }
    part.push(lock);
    claims += own;
  }
  yield part;
}
