// Background work goes on: a lock that cannot be brought up to date blocks no other lock, and every pending advance is
// retried until it succeeds.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OWED_AT_ONCE_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { Backoff } from "../../../server/engine/loop.ts";
import { Advances } from "../../../server/engine/transaction/advances.ts";
import { ROW_LOCKED } from "../../../server/storage/store.ts";
import { turn } from "../../support/scripted-transactions.ts";

const away = (reason = "connection_lost") =>
  new Fault("unavailable", reason, "A test's.", { retryAfterMs: 1 });

/** Advances that end as the test says. */
function scene() {
  const begun: { lockId: bigint; end: PromiseWithResolvers<void> }[] = [];
  const failures: [string, unknown][] = [];
  const advances = new Advances({
    submit: (lockId) => {
      const end = Promise.withResolvers<void>();
      begun.push({ lockId, end });
      return end.promise;
    },
    onFailure: (...failure) => failures.push(failure),
  });
  const end = async (index: number, error?: unknown) => {
    if (error) begun[index]?.end.reject(error);
    else begun[index]?.end.resolve();
    await turn();
  };
  return { advances, begun, failures, end, began: () => begun.map(({ lockId }) => lockId) };
}

describe("an advance", () => {
  test("runs once at a time for each lock", async () => {
    const { advances, began, end } = scene();
    const all = [advances.start(1n), advances.start(1n), advances.start(2n)];
    expect(began()).toEqual([1n, 2n]);
    for (const index of [0, 1]) await end(index);
    await Promise.all(all);
    void advances.start(1n);
    expect(began()).toEqual([1n, 2n, 1n]);
  });

  test("that is required is tried until it succeeds, even if one was running already", async () => {
    const { advances, began, end, failures } = scene();
    void advances.start(1n);
    void advances.owe(1n);
    await end(0);
    for (const index of [1, 2]) {
      expect(began()).toHaveLength(index + 1);
      await end(index, new Error("A fault made by a test."));
      advances.again();
    }
    expect(began()).toHaveLength(4);
    await end(3);
    advances.again();
    expect(began()).toHaveLength(4);
    expect(failures).toHaveLength(2);
  });
});

describe("while the database can do nothing", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  test("no advance begins for a while, and then one alone checks the database", async () => {
    const { advances, began, failures, end } = scene();
    const restMs = new Backoff();
    restMs.failed();
    void advances.start(1n);
    await end(0, away());
    expect(failures).toMatchObject([["advance", { reason: "connection_lost" }]]);
    vi.advanceTimersByTime(restMs.restMs - 1);
    await advances.start(2n);
    expect(began()).toEqual([1n]);
    vi.advanceTimersByTime(1);
    void advances.start(2n);
    await advances.start(3n);
    expect(began()).toEqual([1n, 2n]);
    // It fails, so the rest is longer.
    await end(1, away());
    vi.advanceTimersByTime(restMs.restMs);
    await advances.start(3n);
    expect(began()).toHaveLength(2);
    vi.advanceTimersByTime(restMs.restMs);
    void advances.start(3n);
    expect(began()).toEqual([1n, 2n, 3n]);
    // It succeeds, so all advances may go on.
    await end(2);
    void advances.start(4n);
    void advances.start(5n);
    expect(began().slice(3)).toEqual([4n, 5n]);
  });

  test("advances that fail together delay the rest no longer than one does", async () => {
    const { advances, began, end } = scene();
    const restMs = new Backoff();
    restMs.failed();
    for (const lockId of [1n, 2n, 3n]) void advances.start(lockId);
    for (const index of [0, 1, 2]) await end(index, away());
    vi.advanceTimersByTime(restMs.restMs);
    void advances.start(4n);
    expect(began()).toHaveLength(4);
  });

  test("a lock that is held up, and a bug, leave the others running", async () => {
    const { advances, began, failures, end } = scene();
    void advances.start(1n);
    await end(0, away(ROW_LOCKED));
    expect(failures).toEqual([]);
    void advances.start(2n);
    await end(1, new Error("A bug, made by a test."));
    expect(failures).toHaveLength(1);
    void advances.start(3n);
    expect(began()).toEqual([1n, 2n, 3n]);
  });

  test("required advances are kept and restarted a few at a time, failed ones last", async () => {
    const { advances, began, end } = scene();
    const count = OWED_AT_ONCE_MAX + 2;
    for (let id = 1; id <= count; id++) void advances.owe(BigInt(id));
    await turn();
    for (let index = 0; index < count; index++) await end(index, away(ROW_LOCKED));
    advances.again();
    expect(began().slice(count)).toHaveLength(OWED_AT_ONCE_MAX);
    for (let index = count; index < count + OWED_AT_ONCE_MAX; index++) await end(index, away(ROW_LOCKED));
    advances.again();
    expect(began().slice(count + OWED_AT_ONCE_MAX, count + OWED_AT_ONCE_MAX + 3)).toEqual([
      BigInt(count - 1),
      BigInt(count),
      1n,
    ]);
  });

  test("an optional advance is not retried when it fails", async () => {
    const { advances, began, end } = scene();
    void advances.start(1n);
    await end(0, away(ROW_LOCKED));
    advances.again();
    expect(began()).toEqual([1n]);
  });

  test("an advance that becomes required during another one follows it, unless it has begun already", async () => {
    const { advances, began, end } = scene();
    void advances.start(1n);
    const owed = advances.owe(1n);
    const also = advances.owe(1n);
    expect(began()).toEqual([1n]);
    await end(0);
    expect(began()).toEqual([1n, 1n]);
    await end(1);
    await Promise.all([owed, also]);
    expect(began()).toEqual([1n, 1n]);
  });
});
