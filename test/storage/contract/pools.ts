// Contract: the guard rows of pools, which a transaction locks after all others, and the claims that wait at them.

import { describe, expect, test } from "vitest";
import { POOL_QUEUE_READ } from "../../../server/core/bounds.ts";
import type { Claim, Level } from "../../../server/core/claim.ts";
import { countEntering, countHolder } from "../../../server/core/lock.ts";
import { poolName } from "../../../server/core/pools.ts";
import type { Loaded, LoadPlan, Store } from "../../../server/storage/store.ts";
import { CLAIM } from "../../support/claims.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { lockId, NO_CHANGES, planned, raised, readClaim, transact } from "../../support/store-fixture.ts";

export function contractOfPools(fresh: () => FreshStore): void {
  /** What a transaction reads. Writes all guard rows, as every transaction must. */
  const read = async (store: Store, plan: Partial<LoadPlan>): Promise<Loaded> => {
    let found: Loaded | undefined;
    await transact(store, plan, (loaded) => {
      found = structuredClone(loaded);
      return { ...NO_CHANGES, locks: raised(loaded), pools: raisedPools(loaded) };
    });
    return found as Loaded;
  };

  /** A claim of each new lock that waits at the pool, in this order. */
  const enter = async (store: Store, poolId: bigint, count: number, permits = 1): Promise<Claim[]> => {
    const entered: Claim[] = [];
    for (let index = 0; index < count; index++) {
      const id = await lockId(store, `p/${index}`);
      await transact(store, { locks: planned(id), pools: [poolId] }, (loaded) => {
        const [lock] = loaded.locks.values();
        const pool = loaded.pools?.get(poolId);
        if (!lock || !pool) throw new Error("The rows are missing.");
        const level: Level = { poolId, rank: pool.lock.nextTicket, state: "waits" };
        const times = { requestedAtUs: loaded.nowUs, deadlineUs: loaded.nowUs + 60_000_000 };
        const added: Claim = {
          ...{ ...CLAIM, lockId: id, ticketNumber: lock.nextTicket, requestId: `enters ${index}`, ...times },
          ...{ permits, state: "waiting", levels: [level], secret: `secret of claim ${index}`.padEnd(22) },
          ...{ fencingToken: 0n, grantedAtUs: null, endedAtUs: null, endReason: null },
        };
        lock.nextTicket += 1n;
        countHolder(lock, added);
        countEntering(lock, added);
        pool.lock.nextTicket += 1n;
        pool.lock.waiting += 1;
        pool.lock.waitingPermits += permits;
        entered.push(structuredClone(added));
        return { ...NO_CHANGES, locks: raised(loaded), pools: raisedPools(loaded), added: [added] };
      });
    }
    return entered;
  };

  describe("pools", () => {
    test("come with those who wait there, by their ranks, and one that does not exist as null", async () => {
      const { store, other } = fresh();
      const pool = await lockId(store, poolName("p/"));
      const claims = await enter(store, pool, 3, 2);
      for (const each of [store, other ?? store]) {
        const { pools, locks } = await read(each, {
          locks: planned(claims[1]?.lockId as bigint),
          pools: [pool, pool + 1_000n],
        });
        expect(pools?.get(pool + 1_000n)).toBeNull();
        expect(pools?.get(pool)).toMatchObject({
          ...{ complete: true, lock: { waiting: 3, waitingPermits: 6 } },
          queue: claims.map(({ lockId, ticketNumber }, at) => {
            return { lockId, ticketNumber, rank: BigInt(at + 1), room: 2, permits: 2 };
          }),
        });
        expect([...locks.values()]).toMatchObject([
          { holders: 1, entering: 1, enteringPermits: 2, waiting: 0 },
        ]);
      }
      const { places } = await store.poolQueue(pool);
      expect(places.map(({ lockId }) => lockId)).toEqual(claims.map(({ lockId }) => lockId));
    });

    test("come with the first of a long queue, and say that there are more", async () => {
      const { store, other } = fresh();
      const pool = await lockId(store, poolName("p/"));
      await enter(store, pool, POOL_QUEUE_READ + 1);
      const { pools } = await read(other ?? store, { locks: planned(), pools: [pool] });
      expect(pools?.get(pool)).toMatchObject({ complete: false });
      expect(pools?.get(pool)?.queue).toHaveLength(POOL_QUEUE_READ);
    });

    test("a claim that enters is shown as a waiter of its lock, and kept by signs of life", async () => {
      const { store } = fresh();
      const pool = await lockId(store, poolName("p/"));
      const [claim] = (await enter(store, pool, 1)) as [Claim];
      expect(await readClaim(store, claim)).toEqual(claim);
      const [view] = await store.views([claim.lockId], 10);
      expect(view).toMatchObject({ holders: [], waiters: [{ ticketNumber: claim.ticketNumber }] });
      expect((await store.holders(claim.lockId, 10)).claims).toEqual([]);
      expect((await store.queue(claim.lockId)).places).toEqual([]);
      await store.heartbeat(7n, [claim], 600_000_000);
      const kept = await readClaim(store, claim);
      expect(kept.replica).toBe(7n);
      expect(kept.deadlineUs).toBeGreaterThan((claim.deadlineUs as number) + 300_000_000);
    });

    test("`checkInvariants` adds up what claims list, and finds a pool that counts something else", async () => {
      const { store } = fresh();
      const pool = await lockId(store, poolName("p/"));
      const [first] = (await enter(store, pool, 2)) as [Claim];
      const errors = async () =>
        (await store.checkInvariants(10)).filter(({ severity }) => severity === "error");
      expect(await errors()).toEqual([]);
      const level: Level = { poolId: pool, rank: 1n, state: "has" };
      await transact(store, { locks: planned(first.lockId), pools: [pool], claims: [first] }, (loaded) => {
        const claim = { ...first, levels: [level] };
        return { ...NO_CHANGES, locks: raised(loaded), pools: raisedPools(loaded), changed: [claim] };
      });
      expect((await errors()).map(({ check }) => check)).toContain("pools");
    });
  });
}

function raisedPools({ pools }: Loaded) {
  const found = [...(pools?.values() ?? [])].flatMap((pool) => pool ?? []);
  for (const { lock } of found) lock.revision += 1n;
  return found;
}
