// How long a transaction is retried: until it succeeds or a retry is of no more use, and never without end.

import { afterEach, describe, expect, test, vi } from "vitest";
import type { EngineEvent } from "../../../server/engine/answers.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { Locks } from "../../../server/engine/transaction/locks.ts";
import { PoolsOverNames } from "../../../server/engine/transaction/pools-over-names.ts";
import { SetMembers } from "../../../server/engine/transaction/set-members.ts";
import {
  type Ask,
  type AsksByLock,
  commitAsks,
  type Deciding,
  withAttempts,
} from "../../../server/engine/transaction/transaction.ts";
import { ROLLED_BACK } from "../../../server/storage/retry.ts";
import { CHANGED, ROW_LOCKED, type Store, StoreError } from "../../../server/storage/store.ts";
import { changedSince, held, ScriptedTransactions, turn } from "../../support/scripted-transactions.ts";

const unlucky = (kind: StoreError["kind"] = "transient") => new StoreError(kind, "deadlock", "A test's.");

afterEach(() => void vi.useRealTimers());

/** What becomes of a transaction whose attempts take `eachMs` each and fail as `failure` says, if it says anything. */
async function transacted(failure: (attempt: number) => unknown, eachMs = 0, unlessRowLocked = false) {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
  const causes: string[] = [];
  let tries = 0;
  const attempt = async () => {
    vi.advanceTimersByTime(eachMs);
    const error = failure(++tries);
    if (error) throw error;
    return "done";
  };
  const observer = (event: EngineEvent) => void (event.kind === "retried" && causes.push(event.cause));
  const ending = withAttempts(attempt, observer, unlessRowLocked).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  const took = { tries, ended: await ending, causes, passedMs: performance.now() };
  vi.useRealTimers();
  return took;
}
const inOrder =
  (...errors: readonly unknown[]) =>
  (attempt: number) =>
    errors[attempt - 1];

describe("a transaction", () => {
  test("that failed on stale data is retried immediately, because no other transaction is in the way", async () => {
    const { ended, passedMs } = await transacted((tries) => tries < ROLLED_BACK.attempts && changedSince());
    // The fake clock moves only in pauses.
    expect([ended, passedMs]).toEqual(["done", 0]);
  });

  test("with an unknown outcome is retried, and may have been done if it is given up", async () => {
    const unknown = unlucky("unknown_outcome");
    expect(await transacted(inOrder(unknown, unknown), 1)).toMatchObject({ tries: 3, ended: "done" });
    const { ended } = await transacted(() => unknown, 1);
    expect(ended).toMatchObject({ kind: "unavailable", outcomeUnknown: true });
  });

  test.each([
    ["that never succeeds is given up", unlucky(), 1, ROLLED_BACK.attempts, "deadlock"],
    ["is given up earlier if each try takes long", unlucky(), 5_000, 2, "deadlock"],
    ["is not repeated while the database is away", unlucky("unavailable"), 1, 1, "deadlock"],
  ])("%s", async (_, error, eachMs, tries, reason) => {
    const ended = { kind: "unavailable", reason };
    expect(await transacted(() => error, eachMs)).toMatchObject({ tries, ended });
  });

  test("is not repeated for a bug", async () => {
    const bug = new Error("a bug");
    expect(await transacted(() => bug)).toMatchObject({ tries: 1, ended: bug });
  });

  const oneLock = new Map([[1n, [{ command: { verb: "advance" } } as Ask]]]) as AsksByLock;
  const by = (store: Pick<Store, "transact">, lateHeartbeat: () => Promise<void>): Deciding => ({
    ...{ policy: { graceUs: 1, attachedForUs: 1, keptForUs: () => 1, queueMax: 1 }, store, observer() {} },
    ...{ followers: { follows: () => false }, background: { lateFromMs: 0, lateHeartbeat } },
    ...{ locks: new Locks(), pools: new PoolsOverNames(), sets: new SetMembers() },
  });

  test("is not begun again and again if the heartbeat before it has failed, which was retried by itself", async () => {
    const heartbeat = vi.fn(() => Promise.reject(unlucky()));
    const deciding = commitAsks(
      { byLock: oneLock, earlier: [] },
      false,
      by(new ScriptedTransactions(1n), heartbeat),
    );
    await expect(deciding).rejects.toMatchObject({ kind: "unavailable", reason: "deadlock" });
    expect(heartbeat).toHaveBeenCalledTimes(1);
  });

  test("begins each attempt after the heartbeat before it", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
    const store = new ScriptedTransactions(1n);
    const heartbeats: PromiseWithResolvers<void>[] = [];
    const lateHeartbeat = () => {
      const heartbeat = Promise.withResolvers<void>();
      heartbeats.push(heartbeat);
      return heartbeat.promise;
    };
    const deciding = commitAsks({ byLock: oneLock, earlier: [] }, true, by(store, lateHeartbeat));
    for (const attempt of [1, 2]) {
      await turn();
      expect([heartbeats.length, store.begun.length]).toEqual([attempt, attempt - 1]);
      heartbeats.at(-1)?.resolve();
      await turn();
      if (attempt === 1) await store.at(0).fail(changedSince());
      await vi.runAllTimersAsync();
    }
    await store.at(1).commit();
    await deciding;
  });
});

describe("a transaction that is repeated", () => {
  test("logs the reason each time, and nothing if the first try succeeds", async () => {
    expect((await transacted(inOrder())).causes).toEqual([]);
    const errors = inOrder(changedSince(), unlucky(), unlucky("unknown_outcome"));
    expect((await transacted(errors)).causes).toEqual([CHANGED, "deadlock", "deadlock"]);
  });

  test("is known not to be done if each try was rolled back, and may be if one got no answer", async () => {
    const [unknown, unavailable] = [unlucky("unknown_outcome"), unlucky("unavailable")];
    for (const [errors, outcomeUnknown] of [
      [[unavailable], false],
      [[unlucky(), unavailable], false],
      [[unknown, unavailable], true],
      [[unknown, unlucky(), unavailable], true],
      [[unlucky(), unknown, unavailable], true],
    ] as const) {
      const { ended } = await transacted(inOrder(...errors));
      expect(ended).toMatchObject({ kind: "unavailable", outcomeUnknown });
    }
  });

  test("fails at once if its caller has a better way on", async () => {
    const locked = held();
    expect(await transacted(inOrder(unlucky(), locked), 0, true)).toMatchObject({
      ...{ ended: locked, causes: ["deadlock", ROW_LOCKED], tries: 2 },
    });
    const { ended } = await transacted(inOrder(unlucky("unavailable")), 0, true);
    expect(ended).toBeInstanceOf(Fault);
  });
});
