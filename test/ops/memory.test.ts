// How much a server can hold in its memory, and when memory is short.

import { expect, test } from "vitest";
import { capacityIn, heapMaxIn, Memory } from "../../server/ops/memory.ts";

const MIB = 2 ** 20;

test("there is room for thousands of waits in a small container, and for more in a larger one", () => {
  const small = capacityIn(275 * MIB);
  expect(small.waits).toBeGreaterThan(10_000);
  // At 8 KiB each, waits leave half of the memory to everything else.
  expect(small.waits * 8_192).toBeLessThan((275 * MIB) / 2);
  expect(small.sessions).toBeGreaterThan(1_000);
  expect(small.connections).toBeGreaterThan(1_000);
  expect(small.namesPerSecond).toBeGreaterThan(1_000);
  expect(small.cachedLocks).toBeGreaterThan(5_000);
  // Waits, of which each may be a call of its own, have room among all open calls.
  expect(small.waits * 8_192).toBeLessThan(small.streamBytes);
  const large = capacityIn(4_096 * MIB);
  for (const what of ["waits", "sessions", "connections", "namesPerSecond", "cachedLocks"] as const)
    expect(large[what]).toBeGreaterThan(15 * small[what]);
});

test("there is room for a few waits, however little memory there is", () => {
  expect(capacityIn(10 * MIB)).toEqual({
    waits: 100,
    principalWaits: 50,
    sessions: 100,
    connections: 100,
    streamBytes: 4 * MIB,
    pendingStreamBytes: 2 * MIB,
    namesPerSecond: 100,
    cachedLocks: 100,
  });
});

test("one caller may have half of the waits, unless it is set", () => {
  expect(capacityIn(4_096 * MIB, { waitsMax: 1_000 }).principalWaits).toBe(500);
  expect(capacityIn(4_096 * MIB, { waitsMax: 1 }).principalWaits).toBe(1);
  expect(capacityIn(4_096 * MIB, { waitsMax: 1_000, principalWaitsMax: 900 }).principalWaits).toBe(900);
});

test("the heap may grow to Node's limit, or to what the container leaves it", () => {
  const free = heapMaxIn(0);
  expect(free).toBeGreaterThan(100 * MIB);
  expect(heapMaxIn(2 ** 64)).toBe(free);
  expect(heapMaxIn(200 * MIB)).toBe(104 * MIB);
  expect(heapMaxIn(1)).toBe(64 * MIB);
});

test("memory is short from one mark on, and until it is below a lower one", () => {
  let used = 0;
  const told: [boolean, number][] = [];
  const memory = new Memory({
    heapMax: 1_000,
    usedBytes: () => used,
    onChange: (isShort, bytes) => told.push([isShort, bytes]),
  });
  const seen = [750, 751, 700, 650, 649, 700].map((bytes) => {
    used = bytes;
    memory.look();
    expect(memory.bound).toEqual({ bound: "heap_bytes", kind: "room", used: bytes, max: 750 });
    return memory.isShort();
  });
  expect(seen).toEqual([false, true, true, false, false, false]);
  expect(told).toEqual([
    [true, 751],
    [false, 650],
  ]);
});

test("memory is checked after each full garbage collection, until the check is stopped", async () => {
  let looks = 0;
  const looked = Promise.withResolvers<void>();
  const memory = new Memory({
    heapMax: 1_000,
    usedBytes: () => {
      looks += 1;
      looked.resolve();
      return 0;
    },
    onChange: () => expect.unreachable(),
  });
  memory.start();
  const waste: unknown[] = [];
  for (let isDone = false; !isDone; ) {
    for (let index = 0; index < 100; index++) waste.push(new Array(10_000).fill(index));
    if (waste.length > 2_000) waste.length = 0;
    isDone = await Promise.race([
      looked.promise.then(() => true),
      new Promise<false>((resolve) => setImmediate(() => resolve(false))),
    ]);
  }
  memory.stop();
  expect(looks).toBeGreaterThan(0);
});
