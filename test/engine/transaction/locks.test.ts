// The table of what a server knows of locks: found by id and by name, bounded, and forgetting what nothing is known of.

import { describe, expect, test } from "vitest";
import { Locks } from "../../../server/engine/transaction/locks.ts";
import type { Ask } from "../../../server/engine/transaction/transaction.ts";

describe("the table of locks", () => {
  test("finds a lock by its id, and by the name that it has now", () => {
    const locks = new Locks();
    locks.learn(1n, "a");
    expect(locks.named("a")).toBe(locks.get(1n));
    locks.learnName(1n, "b");
    expect([locks.named("a"), locks.named("b"), locks.known(1n)?.name]).toEqual([undefined, undefined, "b"]);
    locks.learn(2n, "a");
    expect(locks.named("a")?.id).toBe(2n);
  });

  test("forgets the lock that was used longest ago, with its name, but none with commands", () => {
    const locks = new Locks(2);
    locks.learn(1n, "a");
    locks.learn(2n, "b");
    locks.named("a");
    locks.learn(3n, "c");
    expect([locks.named("a")?.id, locks.named("b"), locks.known(2n)]).toEqual([1n, undefined, undefined]);
    locks.get(3n).queued.push({} as Ask);
    locks.get(1n).underWay = { kind: "in_lane" };
    locks.learn(4n, "d");
    expect([locks.known(1n)?.id, locks.known(3n)?.id, locks.size]).toEqual([1n, 3n, 3]);
  });

  test("keeps no lock of which it knows nothing, however many ids are guessed", () => {
    const locks = new Locks();
    locks.learn(1n, "a");
    for (let id = 2n; id < 100n; id++) locks.leave(locks.get(id));
    expect(locks.size).toBe(1);
    locks.leave(locks.get(1n));
    locks.get(2n).met();
    locks.leave(locks.get(2n));
    expect(locks.size).toBe(2);
  });
});
