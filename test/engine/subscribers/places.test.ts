// Places are read only for followers that are told theirs, and however many these are, other work gets its turn.

import { afterEach, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { poolName } from "../../../server/core/pools.ts";
import { PLACES_READS_MAX, PLACES_SLICE } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import { Places } from "../../../server/engine/subscribers/places.ts";
import { CLAIM, FREE_LOCK } from "../../support/claims.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** `length` waiters for each lock, in a database that answers one turn later; the first read of `broken` fails. */
function crowd(length: number, broken?: bigint) {
  let isBroken = true;
  const followers = new Followers();
  const read: bigint[] = [];
  let [reading, readingMax] = [0, 0];
  const queue = async (lockId: bigint) => {
    read.push(lockId);
    readingMax = Math.max(readingMax, ++reading);
    await new Promise(setImmediate);
    reading -= 1;
    if (lockId === broken && isBroken) {
      isBroken = false;
      throw new Error("A fault made by a test.");
    }
    const places = Array.from({ length }, (_, index) => ({
      ...{ lockId, ticketNumber: BigInt(index), permits: 1 },
    }));
    return { nowUs: 0, lock: null, places };
  };
  const failed: unknown[] = [];
  const onFailure = (...failure: unknown[]) => void failed.push(failure);
  const places = new Places({ store: { queue, poolQueue: queue }, rules: () => [], followers, onFailure });
  places.start();
  stops.push(() => places.stop());

  let told = 0;
  let onTold = () => {};
  const claimOf = (lockId: bigint, index: number) => ({ lockId, ticketNumber: BigInt(index) }) as Claim;
  const follower = {
    settled() {},
    placed() {
      told += 1;
      onTold();
    },
  };
  return {
    ...{ read, failed },
    readingMax: () => readingMax,
    told: () => told,
    changed: (lockId: bigint) => places.changed(lockId),
    stop: () => places.stop(),
    enter(lockId: bigint) {
      for (let index = 0; index < length; index++) followers.add(claimOf(lockId, index), follower, 1n);
    },
    leave(lockId: bigint) {
      for (let index = 0; index < length; index++) followers.remove(claimOf(lockId, index), follower);
    },
    /** Resolves when `many` places have been reported in all. */
    toldSoMany: (many: number) =>
      new Promise<void>((resolve) => {
        onTold = () => {
          if (told === many) resolve();
        };
        onTold();
      }),
  };
}

test("a queue is not read for a follower that left before", async () => {
  const { enter, leave, changed, toldSoMany, read } = crowd(1);
  for (const lockId of [7n, 8n]) {
    enter(lockId);
    changed(lockId);
  }
  leave(7n);
  await toldSoMany(1);
  expect(read).toEqual([8n]);
});

test("a follower that arrives during a read gets its place from the next read", async () => {
  const followers = new Followers();
  const reads: PromiseWithResolvers<void>[] = [];
  let ahead = 8;
  const queue = async () => {
    const read = Promise.withResolvers<void>();
    const places = Array.from({ length: ahead + 1 }, (_, index) => ({
      lockId: 7n,
      ticketNumber: BigInt(index + 10 - ahead),
      permits: 1,
    }));
    reads.push(read);
    await read.promise;
    return { nowUs: 0, lock: null, places };
  };
  const places = new Places({
    store: { queue, poolQueue: queue },
    rules: () => [],
    followers,
    onFailure() {},
  });
  const told: [who: string, ahead: number][] = [];
  let onTold = () => {};
  const enter = (who: string) =>
    followers.add(
      { lockId: 7n, ticketNumber: 10n } as Claim,
      {
        settled() {},
        placed: (place) => {
          told.push([who, place.ahead]);
          onTold();
        },
      },
      1n,
    );
  const untilRead = async (count: number) => {
    while (reads.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
    reads[count - 1]?.resolve();
  };
  places.start();
  stops.push(() => places.stop());
  enter("first");
  places.changed(7n);
  while (reads.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  // Another server has told the returning follower that four are ahead; the first read is from before that.
  ahead = 4;
  enter("comes back");
  const all = new Promise<void>((resolve) => {
    onTold = () => told.length === 2 && resolve();
  });
  await untilRead(1);
  await untilRead(2);
  await all;
  expect(told).toEqual([
    ["first", 4],
    ["comes back", 4],
  ]);
});

test("many hot locks are read in turn, a few at once", async () => {
  const { enter, changed, toldSoMany, readingMax } = crowd(2);
  const lockIds = Array.from({ length: 1_000 }, (_, index) => BigInt(index));
  for (const lockId of lockIds) enter(lockId);
  for (const lockId of lockIds) changed(lockId);
  await toldSoMany(2_000);
  expect(readingMax()).toBe(PLACES_READS_MAX);
});

test("a crowd is notified in slices, and everything else goes on in between", async () => {
  const { enter, changed, told } = crowd(10_000);
  enter(7n);
  changed(7n);
  let inOneTurn = 0;
  for (let before = 0; before < 10_000; before = told()) {
    await new Promise(setImmediate);
    inOneTurn = Math.max(inOneTurn, told() - before);
  }
  expect(inOneTurn).toBeLessThanOrEqual(PLACES_SLICE);
});

test("a queue that cannot be read is read again, and followers of other locks are notified all the same", async () => {
  const { enter, changed, toldSoMany, failed } = crowd(1, 7n);
  for (const lockId of [7n, 8n]) {
    enter(lockId);
    changed(lockId);
  }
  await toldSoMany(1);
  await toldSoMany(2);
  expect(failed).toEqual([["places", expect.objectContaining({ message: "A fault made by a test." })]]);
});

test("the place of a claim for several locks is told when those at all of them are known, each queue read once", async () => {
  const followers = new Followers();
  const reads: bigint[] = [];
  const queue = async (lockId: bigint) => {
    reads.push(lockId);
    // As many before it as its ticket number says.
    const places = Array.from({ length: 9 }, (_, index) => ({
      ...{ lockId, ticketNumber: BigInt(index), permits: 1 },
    }));
    return { nowUs: 0, lock: null, places };
  };
  const places = new Places({
    store: { queue, poolQueue: queue },
    rules: () => [],
    followers,
    onFailure() {},
  });
  const member = (lockId: bigint, ticketNumber: bigint) => ({
    ...{
      lockId,
      ticketNumber,
      name: `lock ${lockId}`,
      mode: "permit" as const,
      permits: 1,
      fencingToken: 0n,
    },
  });
  const all = Promise.withResolvers<void>();
  const told: unknown[] = [];
  const sets = [1n, 2n].map((ticket): Claim => {
    return {
      ...CLAIM,
      lockId: 7n,
      ticketNumber: ticket,
      members: [member(7n, ticket), member(8n, 8n - ticket)],
    };
  });
  for (const set of sets)
    followers.add(
      set,
      {
        settled() {},
        placed({ ahead, waitsFor }) {
          told.push([ahead, waitsFor]);
          if (told.length === sets.length) all.resolve();
        },
      },
      1n,
    );
  places.start();
  stops.push(() => places.stop());
  // Its further lock has not changed, as far as this server has heard.
  places.changed(7n);
  await all.promise;
  expect(told).toEqual([
    [7, "lock 8"],
    [6, "lock 8"],
  ]);
  expect(reads).toEqual([7n, 8n]);
});

test("the place at a pool is found before this server has read a rule of the pool", async () => {
  const own = { ...FREE_LOCK, id: 7n, name: "ai/a", entering: 1 };
  const pool = { ...FREE_LOCK, id: 8n, name: poolName("ai/"), waiting: 2 };
  const waiter = {
    lockId: 7n,
    ticketNumber: 1n,
    levels: [{ poolId: 8n, rank: 2n, state: "waits" as const }],
  };
  const places = new Places({
    store: {
      queue: async () => ({ nowUs: 0, lock: own, places: [] }),
      poolQueue: async () => ({
        ...{ nowUs: 0, lock: pool },
        places: [
          { lockId: 6n, ticketNumber: 9n, permits: 3 },
          { ...waiter, permits: 1 },
        ],
      }),
    },
    rules: () => [],
    followers: new Followers(),
    onFailure() {},
  });
  expect(await places.of(waiter)).toEqual({ ahead: 1, permitsAhead: 3, queueLength: 2, pool: "ai/*" });
});
