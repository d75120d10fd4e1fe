// Lock records as users of the client set and read them.

import { describe, expect, test } from "vitest";
import { until } from "../../support/harness.ts";
import { aborted, client, start } from "./stage.ts";

describe("a lock remembers", () => {
  test("what was set, by version, until it is deleted", async () => {
    const rowlock = client((await start()).address);
    expect(await rowlock.getLock("job")).not.toHaveProperty("record");
    const due = new Date("2020-02-02T20:20:20.202Z");
    const first = await rowlock.updateRecord("job", {
      notBefore: due,
      attemptsLeft: 3,
      status: "new",
      ifVersion: 0,
    });
    expect(first).toEqual({ notBefore: due, attemptsLeft: 3, status: "new", version: expect.any(BigInt) });
    expect((await rowlock.getLock("job")).record).toEqual(first);
    for await (const { record } of rowlock.listLocks({ prefix: "job" })) expect(record).toEqual(first);
    await expect(rowlock.updateRecord("job", { status: "old", ifVersion: 0 })).rejects.toMatchObject({
      reason: "VERSION_MISMATCH",
      metadata: { version: String(first.version) },
    });
    const freed = { notBefore: null, attemptsLeft: null, ifVersion: first.version };
    const second = await rowlock.updateRecord("job", freed);
    expect(second).toEqual({ status: "new", version: expect.any(BigInt) });
    const lock = await rowlock.lock("job");
    await expect(rowlock.deleteRecord("job")).rejects.toMatchObject({ reason: "LOCK_IN_USE" });
    await lock.release();
    const { version } = (await rowlock.getLock("job")).record ?? {};
    expect(await rowlock.deleteRecord("job", version ? { ifVersion: version } : {})).toBe(true);
    expect(await rowlock.deleteRecord("job")).toBe(false);
    expect(await rowlock.getLock("job")).not.toHaveProperty("record");
  });

  test("how the last run went, and its note", async () => {
    const rowlock = client((await start()).address);
    const lock = await rowlock.lock("job", { ifStatus: ["", "new"] });
    expect(await lock.release({ status: "done", attemptsLeft: 5, coolDown: 60_000 })).toBe(true);
    const { record } = await rowlock.getLock("job");
    expect(record).toMatchObject({
      status: "done",
      attemptsLeft: 5,
      lastRun: { owner: "tester", token: 1n, endReason: "RELEASED", status: "done" },
    });
    const { grantedAt, endedAt } = record?.lastRun ?? {};
    expect(Number(endedAt)).toBeGreaterThanOrEqual(Number(grantedAt));
    expect(Number(record?.notBefore)).toBe(Number(endedAt) + 60_000);
  });

  test("when it is due again after a run", async () => {
    const rowlock = client((await start()).address);
    await rowlock.withLock("hourly", { minInterval: 3_600_000 }, () => {});
    expect(await rowlock.tryLock("hourly")).toBeNull();
    const { refusal } = await rowlock.acquire("hourly", { wait: 0 });
    expect(refusal).toMatchObject({ reason: "NOT_BEFORE", retryAfterMs: expect.any(Number) });
    expect(refusal?.retryAfterMs).toBeGreaterThan(3_000_000);
    const waits = rowlock.lock("hourly");
    await until(async () => (await rowlock.getLock("hourly")).waiterCount === 1);
    await rowlock.updateRecord("hourly", { notBefore: null });
    expect((await waits).token).toBe(2n);
  });

  test("why it is refused: no attempts left, or another status than wanted", async () => {
    const rowlock = client((await start()).address);
    await rowlock.updateRecord("task", { attemptsLeft: 1, status: "new" });
    const other = await rowlock.acquire("task", { ifStatus: "done" });
    expect(other.refusal).toMatchObject({ reason: "STATUS_MISMATCH", status: "new" });
    await rowlock.release((await rowlock.lock("task")).leaseId, { status: "failed" });
    expect((await rowlock.acquire("task")).refusal).toMatchObject({ reason: "EXHAUSTED" });
    await expect(rowlock.tryLock("task")).rejects.toMatchObject({ reason: "EXHAUSTED" });
    expect((await rowlock.getLock("task")).record).toMatchObject({ status: "failed", attemptsLeft: 0 });
  });

  test("that it was lost, even if its holder gives it back afterwards", async () => {
    const server = await start({ rules: { graceUs: 500_000, attachedForUs: 625_000 } });
    const rowlock = client(server.address);
    const asked = { statusIfLost: "crashed", lockDelay: 60_000, minInterval: 3_600_000 };
    const forced = await rowlock.lock("forced", asked);
    await rowlock.forceRelease({ name: "forced" }, "it hangs");
    await aborted(forced.signal);
    expect(await forced.release({ status: "done" })).toBe(false);
    const { record } = await rowlock.getLock("forced");
    expect(record).toMatchObject({ status: "crashed", lastRun: { endReason: "FORCE_RELEASED" } });
    expect(Number(record?.notBefore)).toBe(Number(record?.lastRun?.endedAt) + 60_000);
  });

  test("no run of a caller that gave up before the grant", async () => {
    const server = await start();
    const rowlock = client(server.address);
    const held = await rowlock.lock("given up");
    const giveUp = new AbortController();
    const waits = rowlock.lock("given up", { minInterval: 3_600_000, signal: giveUp.signal });
    await until(async () => (await rowlock.getLock("given up")).waiterCount === 1);
    giveUp.abort(new Error("enough"));
    await expect(waits).rejects.toThrow("enough");
    await until(async () => (await rowlock.getLock("given up")).waiterCount === 0);
    await held.release();
    expect(await rowlock.tryLock("given up")).not.toBeNull();
  });
});

test("a release that is refused for what it says gives the lock back, and takes the rest", async () => {
  const rowlock = client((await start()).address);
  const lock = await rowlock.lock("task");
  const release = lock.release({ status: "x".repeat(64), attemptsLeft: 7 });
  await expect(release).rejects.toMatchObject({
    reason: "BAD_REQUEST",
    message: expect.stringContaining("; the lock was given back."),
    violations: [{ field: "status" }],
  });
  const { holderCount, record } = await rowlock.getLock("task");
  expect({ holderCount, record }).toMatchObject({ holderCount: 0, record: { status: "", attemptsLeft: 7 } });
  const other = await rowlock.lock("task");
  await expect(rowlock.release(other.leaseId, { status: "x".repeat(64) })).rejects.toThrow("given back");
  await expect(rowlock.release(other.leaseId, { status: "x".repeat(64) })).rejects.not.toThrow("given back");
});
