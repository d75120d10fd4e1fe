// Which locks a server knows well enough to decide about them without a read, and for which it reads more. Without a
// database: the test tells the cache about other servers' writes as a read would.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../../server/core/claim.ts";
import type { DatabaseClock } from "../../../../server/core/database-clock.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import { LockCache } from "../../../../server/storage/mysql/lock-cache.ts";
import {
  ALONE_AFTER_OTHERS,
  CACHED_CLAIMS_OF_LOCK,
  CACHED_HOLDERS_MAX,
  CACHED_LOCKS_DEFAULT,
  CACHED_QUEUE_MAX,
  CLOCK_UNSURE_US_MAX,
  UPDATE_ROWS_MAX,
} from "../../../../server/storage/storage-bounds.ts";
import type { LoadPlan } from "../../../../server/storage/store.ts";
import { NO_CHANGES, NO_PLAN, planned } from "../../../support/store-fixture.ts";
import { ended, held, LOCK, numbers, waiting } from "./lock-fixture.ts";

const SERVER = "this server of the database";
const CLOCK = { nowUs: 1_000, atLeastUs: 900, jumpedAtUs: null, skippedUs: 0, backAtUs: null };
const FAIL_OVER = { epoch: 3n, atUs: 10, grantsFromUs: 20 };

/** A cache, and what its server's transactions would tell it. */
class Known {
  clock: typeof CLOCK | null = CLOCK;
  readonly unsureUsMax: number[] = [];
  readonly cache = new LockCache({
    estimate: (_: number, unsureUsMax: number) => {
      this.unsureUsMax.push(unsureUsMax);
      return this.clock;
    },
  } as unknown as DatabaseClock);
  readonly #rows = new Map<bigint, Lock>();

  /** This server writes locks, after reading them with these claims. */
  write(
    locks: readonly Partial<Lock>[],
    {
      claims = [],
      added = [],
      changed = [],
      isWhole = true,
      failOver = FAIL_OVER,
      rulesRevision = 7n,
    }: {
      claims?: readonly Claim[];
      added?: readonly Claim[];
      changed?: readonly Claim[];
      isWhole?: boolean;
      failOver?: typeof FAIL_OVER;
      rulesRevision?: bigint;
    } = {},
  ): Lock[] {
    const before = new Map<bigint, Lock>();
    const after = locks.map((lock) => {
      const id = lock.id ?? LOCK.id;
      const row = this.#rows.get(id) ?? { ...LOCK, id };
      before.set(id, row);
      const next = { ...row, ...lock, revision: row.revision + 1n };
      this.#rows.set(id, next);
      return { ...next };
    });
    const queued = claims.filter(({ state }) => state === "waiting");
    const queues = new Map(
      [...Map.groupBy(queued, ({ lockId }) => lockId)].map(([id, head]) => [id, { head, complete: isWhole }]),
    );
    const holders = claims.filter(({ state }) => state === "held");
    const read = {
      ...CLOCK,
      failOver,
      isSuccessor: false,
      rulesRevision,
      levelMin: 0,
      limitRules: [],
      queues,
    };
    this.cache.learn(
      {
        loaded: { ...read, locks: before, claims: holders },
        before: { lock: (id) => before.get(id), claim: () => undefined },
      },
      { ...NO_CHANGES, locks: after, added, changed },
    );
    return after;
  }

  /** Another server writes locks. */
  writeElsewhere(...ids: bigint[]): void {
    for (const id of ids) {
      const row = this.#rows.get(id) as Lock;
      this.#rows.set(id, { ...row, revision: row.revision + 1_000n });
    }
  }

  /** Makes the cache know the whole lock. */
  learn(lock: Partial<Lock> = {}, ...claims: Claim[]): void {
    const holders = claims.filter(({ state }) => state === "held").length;
    const inQueue = claims.filter(({ state }) => state === "waiting").length;
    const counted = { holders, waiting: inQueue, ...lock };
    this.write([counted]);
    this.write([counted], { claims });
  }

  read(plan: Partial<LoadPlan> = {}, server: string | null = SERVER) {
    return this.cache.assume({ ...NO_PLAN, locks: planned(1n), ...plan }, server);
  }

  widened(plan: Partial<LoadPlan> = {}): LoadPlan {
    return this.cache.widened({ ...NO_PLAN, locks: planned(1n), ...plan });
  }

  get isKnown(): boolean {
    return this.read() !== null;
  }

  /** Whether the next load reads everything needed to know the lock. */
  get isAsked(): boolean {
    return this.widened().holdersOf.includes(1n);
  }
}

describe("a lock", () => {
  test("has the values of the last write, with everything read, added and changed", () => {
    const known = new Known();
    known.learn({ waiting: 1, holders: 1 }, held(1), waiting(2));
    const [lock] = known.write([{ holders: 1, waiting: 1, lastToken: 9n }], {
      changed: [ended(1), held(2, { fencingToken: 9n })],
      added: [waiting(3)],
    });
    const read = known.read({ holdersOf: [1n], locks: [{ id: 1n, heads: 2, likelyQueue: true }] });
    expect(read?.loaded.locks.get(1n)).toEqual(lock);
    expect(read?.loaded.claims).toEqual([held(2, { fencingToken: 9n })]);
    expect(read?.loaded.queues.get(1n)).toEqual({ head: [waiting(3)], complete: true });
    expect(read?.loaded).toMatchObject({
      ...CLOCK,
      failOver: FAIL_OVER,
      rulesRevision: 7n,
      isSuccessor: false,
    });
    expect(read?.before.lock(1n)).toEqual(lock);
  });

  test("that was doubted, or is in a database that may be another one, is unknown", () => {
    for (const forget of [
      (cache: LockCache) => cache.doubt([2n, 1n]),
      (cache: LockCache) => cache.forgetAll(),
    ]) {
      const known = new Known();
      known.learn({}, held(1));
      known.cache.doubt([2n]);
      expect(known.isKnown).toBe(true);
      forget(known.cache);
      expect(known.isKnown).toBe(false);
    }
  });

  test("in doubt can be doubted again, and its places extended and queried", () => {
    const known = new Known();
    known.learn({}, waiting(1));
    known.learn({ id: 2n }, held(1, { lockId: 2n }));
    known.cache.doubt([1n]);
    known.cache.doubt([1n]);
    known.cache.prolonged(5n, [waiting(1)], 9_000);
    expect(known.read({ locks: planned(2n), claims: [waiting(1)] })).toBeNull();
    expect(known.isKnown).toBe(false);
  });
});

describe("more of a lock is read", () => {
  test("once, as soon as this server has written it", () => {
    const known = new Known();
    expect(known.isAsked).toBe(false);
    known.write([{ holders: 1 }]);
    expect(known.widened({ holdersOf: [1n, 5n] })).toEqual({
      ...NO_PLAN,
      locks: [{ id: 1n, heads: CACHED_QUEUE_MAX, likelyQueue: false }],
      holdersOf: [1n, 5n],
    });
    expect(known.isAsked).toBe(false);
    // The read did not return all holders, and they are not read again.
    known.write([{ holders: 2 }], { claims: [held(1)] });
    expect(known.isAsked).toBe(false);
  });

  test("if it has waiters, too, and not if it has neither holders nor waiters", () => {
    const waited = new Known();
    waited.write([{ waiting: 1 }]);
    expect(waited.isAsked).toBe(true);
    const idle = new Known();
    idle.write([{}]);
    expect(idle.widened().locks).toEqual(planned(1n));
    expect(idle.isAsked).toBe(false);
  });

  test("not if it has more holders than the cache keeps", () => {
    for (const [holders, isAsked] of [
      [CACHED_HOLDERS_MAX, true],
      [CACHED_HOLDERS_MAX + 1, false],
    ] as const) {
      const known = new Known();
      known.write([{ holders }]);
      expect(known.isAsked).toBe(isAsked);
    }
  });

  test("not while it is known, and no less of its queue than the plan wants", () => {
    const known = new Known();
    known.learn({}, held(1), waiting(2));
    const locks = [{ id: 1n, heads: 5, likelyQueue: true }];
    expect(known.widened({ locks })).toEqual({ ...NO_PLAN, locks });
    const other = new Known();
    other.write([{ holders: 1 }]);
    const many = [{ id: 1n, heads: CACHED_QUEUE_MAX + 50, likelyQueue: true }];
    expect(other.widened({ locks: many }).locks).toEqual(many);
  });

  test("only of its queue if the known part is used up", () => {
    const known = new Known();
    known.write([{ waiting: 9 }]);
    known.write([{ waiting: 9 }], { claims: [waiting(1), waiting(2)], isWhole: false });
    const plan = (heads: number) => ({ locks: [{ id: 1n, heads, likelyQueue: true }] });
    expect(known.widened(plan(2))).toEqual({ ...NO_PLAN, ...plan(2) });
    expect(known.widened(plan(3))).toEqual({ ...NO_PLAN, ...plan(CACHED_QUEUE_MAX) });
    expect(known.read(plan(2))).not.toBeNull();
    expect(known.read(plan(3))).toBeNull();
  });
});

describe("a lock that others write as well", () => {
  test("is unknown and not read further, until this server has found it unchanged for a while", () => {
    const known = new Known();
    known.learn({}, held(1));
    known.writeElsewhere(1n);
    known.write([{ holders: 1 }], { claims: [held(1)] });
    for (let alone = 1; alone <= ALONE_AFTER_OTHERS; alone++) {
      expect([known.isKnown, known.isAsked]).toEqual([false, false]);
      known.write([{ holders: 1 }]);
    }
    expect(known.isAsked).toBe(true);
    known.write([{ holders: 1 }], { claims: [held(1)] });
    expect(known.isKnown).toBe(true);
  });
});

describe("a decision uses the cache", () => {
  const withHolder = (): Known => {
    const known = new Known();
    known.learn({}, held(1), waiting(2));
    return known;
  };

  test("only for locks, as many as one statement writes, and for no rule", () => {
    const known = new Known();
    const ids = numbers(1, UPDATE_ROWS_MAX + 1).map(BigInt);
    const locks = ids.map((id) => ({ id }));
    known.write(locks);
    known.write(locks);
    expect(known.read({ locks: [] })).toBeNull();
    expect(known.read({ locks: planned(...ids) })).toBeNull();
    expect(known.read({ locks: planned(...ids.slice(1)) })).not.toBeNull();
    expect(known.read({ rule: { prefix: "a", afterLockId: 0n } })).toBeNull();
    expect(known.read({ locks: planned(1n, 999n) })).toBeNull();
  });

  test("only if the server of the database and its clock are known", () => {
    const known = withHolder();
    expect(known.read({}, null)).toBeNull();
    expect(known.read({})?.assumptions).toEqual({ newRequestIds: [], serverIdentity: SERVER });
    expect(new Set(known.unsureUsMax)).toEqual(new Set([CLOCK_UNSURE_US_MAX]));
    known.clock = null;
    expect(known.read({})).toBeNull();
  });

  test("not while grants are paused after a fail-over", () => {
    const known = withHolder();
    const pause = (grantsFromUs: number) =>
      known.write([{ holders: 1, waiting: 1 }], { failOver: { ...FAIL_OVER, grantsFromUs } });
    pause(CLOCK.atLeastUs);
    expect(known.isKnown).toBe(true);
    pause(CLOCK.atLeastUs + 1);
    expect(known.isKnown).toBe(false);
  });

  test("if it has the requested claims of the planned locks", () => {
    const known = withHolder();
    expect(known.read({ claims: [held(1)] })?.loaded.claims).toEqual([held(1)]);
    expect(known.read({ claims: [held(9)] })).toBeNull();
    known.learn({ id: 2n }, held(1, { lockId: 2n }));
    expect(known.read({ locks: planned(1n, 2n), claims: [held(1, { lockId: 2n })] })).not.toBeNull();
    expect(known.read({ claims: [held(1, { lockId: 2n })] })).toBeNull();
    expect(known.read({ claims: [held(1, { lockId: 3n })] })).toBeNull();
  });

  test("with its sole holder, and with several holders only on request", () => {
    expect(withHolder().read({ holdersOf: [] })?.loaded.claims).toEqual([held(1)]);
    const known = new Known();
    known.learn({}, held(1), held(2));
    expect(known.read({ holdersOf: [] })?.loaded.claims).toEqual([]);
    expect(known.read({ holdersOf: [1n] })?.loaded.claims).toEqual([held(1), held(2)]);
  });

  test("and asserts that unknown request ids are new", () => {
    const known = withHolder();
    const requestIds = ["never seen", waiting(2).requestId];
    const read = known.read({ requestIds });
    expect(read?.assumptions?.newRequestIds).toEqual(["never seen"]);
    expect(read?.loaded.claims).toEqual([held(1), waiting(2)]);
  });

  test("and asserts nothing of request ids that servers made, which only its locks could have", () => {
    const serverMade = "\0made by a server";
    const read = withHolder().read({ requestIds: [serverMade, "\0\0of a Capture\x000"] });
    expect(read?.assumptions?.newRequestIds).toEqual(["\0\0of a Capture\x000"]);
    const known = new Known();
    known.learn({}, waiting(2, { requestId: serverMade }));
    expect(known.read({ requestIds: [serverMade] })?.loaded.claims).toMatchObject([{ ticketNumber: 2n }]);
  });

  test("for a whole queue only if all of it is known", () => {
    const known = new Known();
    known.write([{ waiting: 9 }]);
    known.write([{ waiting: 9 }], { claims: [waiting(1), waiting(2)], isWhole: false });
    const locks = (anywhereInQueue: boolean) => [{ id: 1n, heads: 1, likelyQueue: true, anywhereInQueue }];
    expect(known.read({ locks: locks(false) })).not.toBeNull();
    expect(known.read({ locks: locks(true) })).toBeNull();
    const whole = withHolder();
    expect(whole.read({ locks: locks(true) })).not.toBeNull();
  });
});

describe("a place that this server prolongs", () => {
  const prolonged = (waiter: Claim, untilUs: number, ref: Claim = waiter) => {
    const known = new Known();
    known.learn({}, waiter);
    known.cache.prolonged(5n, [ref], untilUs);
    const { loaded } = known.read({ holdersOf: [1n] }) ?? {};
    return loaded?.queues.get(1n)?.head[0] ?? loaded?.claims[0];
  };
  const PLACE = waiting(1, { deadlineUs: 2_000 });

  test("lasts, but no longer than its wait", () => {
    expect(prolonged(PLACE, 9_000)).toEqual({ ...PLACE, deadlineUs: 9_000, replica: 5n });
    const bounded = { ...PLACE, waitUntilUs: 4_000 };
    expect(prolonged(bounded, 9_000)).toEqual({ ...bounded, deadlineUs: 4_000, replica: 5n });
  });

  test("is exactly that place: no lease, no other claim, no claim of an unknown lock", () => {
    const lease = held(1, { deadlineUs: 2_000 });
    expect(prolonged(lease, 9_000)).toEqual(lease);
    expect(prolonged(PLACE, 9_000, { ...PLACE, secret: "of another claim" })).toEqual(PLACE);
    expect(prolonged(PLACE, 9_000, { ...PLACE, ticketNumber: 8n })).toEqual(PLACE);
    expect(prolonged(PLACE, 9_000, { ...PLACE, lockId: 8n })).toEqual(PLACE);
  });
});

describe("the cache keeps no more", () => {
  const isKnown = (known: Known, id: bigint) => known.read({ locks: planned(id) }) !== null;

  test("than a bounded number of locks: those written longest ago are forgotten", () => {
    const known = new Known();
    const locks = numbers(1, CACHED_LOCKS_DEFAULT).map((id) => ({ id: BigInt(id) }));
    known.write(locks);
    known.write(locks);
    known.write([{ id: 1n }]);
    expect([1n, 2n, 3n].map((id) => isKnown(known, id))).toEqual([true, true, true]);
    known.write([{ id: BigInt(CACHED_LOCKS_DEFAULT) + 1n }]);
    expect([1n, 2n, 3n].map((id) => isKnown(known, id))).toEqual([true, false, true]);
  });

  test("than a bounded number of claims, without counting forgotten ones", () => {
    const known = new Known();
    const lockWith = (id: bigint, holders = CACHED_HOLDERS_MAX) =>
      known.learn({ id }, ...numbers(1, holders).map((number) => held(number, { lockId: id })));
    const full = BigInt((CACHED_CLAIMS_OF_LOCK * CACHED_LOCKS_DEFAULT) / CACHED_HOLDERS_MAX);
    for (let id = 1n; id <= full; id++) lockWith(id);
    // A lock written twice counts once.
    lockWith(2n);
    expect(isKnown(known, 1n)).toBe(true);
    // A doubted lock makes room for another one.
    known.cache.doubt([3n]);
    lockWith(full + 1n);
    expect([1n, 2n, 3n, 4n].map((id) => isKnown(known, id))).toEqual([true, true, false, true]);
    lockWith(full + 2n, 1);
    expect([1n, 2n, 4n, full + 1n].map((id) => isKnown(known, id))).toEqual([false, true, true, true]);
    // All of them fit again after everything was forgotten.
    known.cache.forgetAll();
    for (let id = 1n; id <= full; id++) lockWith(id + 1_000n);
    expect(isKnown(known, 1_001n)).toBe(true);
  });
});
