// What happens to locks that are released, handed over or given back, with fake verbs.

import { create } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import { HeldLocks } from "../../../../clients/typescript/src/held-locks.ts";
import { HeldLease } from "../../../../clients/typescript/src/leases/held-lease.ts";
import { LeaseKeeper } from "../../../../clients/typescript/src/leases/lease-keeper.ts";
import type { LeftBehind } from "../../../../clients/typescript/src/leases/left-behind.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import type { Verbs } from "../../../../clients/typescript/src/verbs.ts";
import { LeaseSchema } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import { GONE, stageCalls, turn } from "./fake-connection.ts";

const TTL_MS = 30_000;
/** A release that no caller asked for has no bound of its own, and belongs to no trace. */
const UNASKED = [undefined, ""];
const GONE_LEASE = new RowlockError("LEASE_LOST", "FAILED_PRECONDITION", "it has ended");

/** `release` and `renew` stand for the server. */
function stage() {
  const { calls } = stageCalls();
  const clock = new Clock();
  const keeper = new LeaseKeeper({ calls, clock, open: () => undefined, need() {}, leave() {} });
  onTestFinished(() => keeper.stop());
  const release = vi.fn(async (..._: unknown[]) => ({ released: true, hadEnded: false }));
  const renew = vi.fn(async (..._: unknown[]) => ({}));
  const addClaim = vi.fn();
  const verbs = { release, renew } as unknown as Verbs;
  const locks = new HeldLocks(keeper, verbs, { addClaim } as unknown as LeftBehind, () => {});
  const hold = (id = "a", asked: Parameters<HeldLocks["add"]>[1] = {}) => {
    const message = create(LeaseSchema, { leaseId: id, lockName: "etl", ttl: durationOf(TTL_MS) });
    const lease = new HeldLease(message, clock.now(), 2_000, clock);
    keeper.keep(lease);
    return { lease, lock: locks.add(lease, asked) };
  };
  return { keeper, locks, hold, release, renew, addClaim };
}

describe("a lock", () => {
  test("is released once, with the first note, until its lease cannot be relied on any more", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { hold, release } = stage();
    const { lock, lease } = hold();
    const [one, two] = [lock.release({ status: "done" }), lock.release({ status: "late" })];
    expect(await Promise.all([one, two])).toEqual([true, true]);
    expect(release).toHaveBeenCalledOnce();
    const [id, options, withinMs] = release.mock.calls[0] as unknown as [string, object, number];
    expect([id, options]).toEqual(["a", { status: "done" }]);
    const untilLostMs = TTL_MS - lease.marginMs;
    // A timer may be called a millisecond early.
    expect(withinMs).toBeGreaterThan(untilLostMs + 1);
    expect(withinMs).toBeLessThan(untilLostMs + 10);
  });

  test("ends with its scope, even if no server answers; any other failure is thrown", async () => {
    const { hold, release } = stage();
    release.mockRejectedValueOnce(GONE);
    await hold("a").lock[Symbol.asyncDispose]();
    release.mockRejectedValueOnce(GONE_LEASE);
    await expect(hold("b").lock[Symbol.asyncDispose]()).rejects.toBe(GONE_LEASE);
    release.mockRejectedValueOnce(new Error("a bug"));
    await expect(hold("c").lock[Symbol.asyncDispose]()).rejects.toThrow("a bug");
  });
});

describe("a lock that was lost", () => {
  test("is given back silently, because its server may still keep it", async () => {
    const { hold, release } = stage();
    const { lease, lock } = hold();
    lease.lose(GONE_LEASE);
    expect(await lock.release({ status: "done" })).toBe(false);
    expect(release.mock.calls).toEqual([["a", {}, ...UNASKED]]);
  });

  test.each([{ statusIfLost: "" }, { lockDelay: 0 }, { minInterval: 0 }, { backoff: { first: 1 } }])(
    "and whose record shall show it (%j) has to end by itself",
    async (asked) => {
      const { hold, release, locks } = stage();
      const { lease, lock } = hold("a", asked);
      lease.lose(GONE_LEASE);
      expect(await lock.release()).toBe(false);
      expect(release).not.toHaveBeenCalled();
      expect(locks.hadEnded(lock)).toBe(false);
    },
  );
});

describe("a release without an answer", () => {
  test.each([
    ["without end", "forever", GONE, 1],
    ["without end, of a closed client", "forever", RowlockError.closed(), 1],
    ["with an end", TTL_MS, GONE, 0],
    ["without end, which has ended", "forever", GONE_LEASE, 0],
    ["without end, by a bug", "forever", new Error("a bug"), 0],
  ] as const)("of a lease %s is repeated later or not", async (_, ttl, error, count) => {
    const { hold, release, addClaim } = stage();
    release.mockRejectedValueOnce(error);
    await expect(hold("a", { ttl }).lock.release()).rejects.toBe(error);
    expect(addClaim.mock.calls).toEqual(Array(count).fill(["a"]));
  });

  test("of an unwanted lock is no failure, and is repeated later if the lease has no end", async () => {
    const { locks, release, addClaim } = stage();
    release.mockRejectedValue(GONE);
    locks.giveBack("a", { ttl: "forever" });
    locks.giveBack("b", {});
    await turn();
    expect(addClaim.mock.calls).toEqual([["a"]]);
  });
});

describe("an unwanted lease", () => {
  test("is given back, unless another call has it", async () => {
    const { locks, hold, release } = stage();
    hold("a");
    locks.giveBack("a", {});
    locks.giveBack("b", {});
    await turn();
    expect(release.mock.calls).toEqual([["b", {}, ...UNASKED]]);
  });

  test("and that is a place still leaves the queue without a note on the lock", async () => {
    const { locks, release } = stage();
    const waits = new RowlockError("NOT_GRANTED_YET", "FAILED_PRECONDITION", "it waits");
    release.mockRejectedValueOnce(waits);
    locks.giveBack("a", { minInterval: 1 });
    await turn();
    expect(release.mock.calls).toEqual([
      ["a", { coolDown: 0 }, ...UNASKED],
      ["a", {}, ...UNASKED],
    ]);
  });
});
