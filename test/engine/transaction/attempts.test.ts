// How long a transaction is retried: until it succeeds or a retry is of no more use, and never without end.

import { afterEach, describe, expect, test, vi } from "vitest";
import { asFault, Fault, isHeldUp, mayBeDone, outcomeUnknown } from "../../../server/engine/faults.ts";
import type { Ask } from "../../../server/engine/transaction/ask.ts";
import { UNLESS_ROW_LOCKED, withAttempts } from "../../../server/engine/transaction/attempts.ts";
import {
  type AsksByLock,
  commitAsks,
  type Deciding,
} from "../../../server/engine/transaction/transaction.ts";
import { ROLLED_BACK } from "../../../server/storage/retry.ts";
import { CHANGED, ROW_LOCKED, type Store, StoreError } from "../../../server/storage/store.ts";
import { changedSince, ScriptedTransactions, turn } from "../../support/scripted-transactions.ts";

const unlucky = (kind: StoreError["kind"] = "transient") => new StoreError(kind, "deadlock", "A test's.");

describe("a transaction", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Runs with attempts of `eachMs` each; returns how many there were and how it ended. */
  async function attempts(eachMs: number, error: unknown, lucky = Number.POSITIVE_INFINITY) {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
    let tries = 0;
    const ended = withAttempts(
      async () => {
        tries += 1;
        vi.advanceTimersByTime(eachMs);
        if (tries < lucky) throw error;
        return "done";
      },
      () => {},
    ).catch((reason: unknown) => reason);
    await vi.runAllTimersAsync();
    const result = await ended;
    return { tries, ended: result };
  }

  test("that failed on stale data is retried immediately, because no other transaction is in the way", async () => {
    const changed = new StoreError("transient", CHANGED, "A test's.");
    expect((await attempts(0, changed, ROLLED_BACK.attempts)).ended).toBe("done");
    // The fake clock moves only in pauses.
    expect(performance.now()).toBe(0);
  });

  test("with an unknown outcome is retried, and may have been done if it is given up", async () => {
    expect(await attempts(1, unlucky("unknown_outcome"), 3)).toEqual({ tries: 3, ended: "done" });
    const { ended } = await attempts(1, unlucky("unknown_outcome"));
    expect(ended).toMatchObject({ kind: "unavailable", outcomeUnknown: true });
  });

  test("that never succeeds is given up", async () => {
    const { tries, ended } = await attempts(1, unlucky());
    expect(tries).toBe(ROLLED_BACK.attempts);
    expect(ended).toMatchObject({ kind: "unavailable", reason: "deadlock" });
  });

  test("is given up earlier if each try takes long", async () => {
    const { tries, ended } = await attempts(5_000, unlucky());
    expect(tries).toBe(2);
    expect(ended).toMatchObject({ kind: "unavailable" });
  });

  test("is not repeated while the database is away, nor for a bug", async () => {
    expect((await attempts(1, unlucky("unavailable"))).tries).toBe(1);
    const bug = new Error("a bug");
    expect(await attempts(1, bug)).toEqual({ tries: 1, ended: bug });
  });

  const oneLock = new Map([[1n, [{ command: { verb: "advance" } } as Ask]]]) as AsksByLock;
  const by = (store: Pick<Store, "transact">, lateHeartbeat: () => Promise<void> | null): Deciding => ({
    ...{ policy: { graceUs: 1, attachedForUs: 1, keptForUs: () => 1, queueMax: 1 }, store, observer() {} },
    ...{ followers: { follows: () => false }, background: { lateHeartbeat } },
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
      heartbeats.push(Promise.withResolvers());
      return heartbeats.at(-1)?.promise ?? null;
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
  const quick = async (errors: readonly StoreError[], policy = ROLLED_BACK) => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
    const causes: string[] = [];
    let tries = 0;
    const ended = withAttempts(
      async () => {
        const error = errors[tries++];
        if (error) throw error;
        return "done";
      },
      (event) => void (event.kind === "retried" && causes.push(event.cause)),
      policy,
    ).catch((error: unknown) => error);
    await vi.runAllTimersAsync();
    const result = { ended: await ended, causes, tries };
    vi.useRealTimers();
    return result;
  };

  test("logs the reason each time, and nothing if the first try succeeds", async () => {
    expect((await quick([])).causes).toEqual([]);
    const changed = new StoreError("transient", CHANGED, "A test's.");
    expect((await quick([changed, unlucky(), unlucky("unknown_outcome")])).causes).toEqual([
      CHANGED,
      "deadlock",
      "deadlock",
    ]);
  });

  test("is known not to be done if each try was rolled back, and may be if one got no answer", async () => {
    const unavailable = unlucky("unavailable");
    for (const [errors, outcomeUnknown] of [
      [[unavailable], false],
      [[unlucky(), unavailable], false],
      [[unlucky("unknown_outcome"), unavailable], true],
      [[unlucky("unknown_outcome"), unlucky(), unavailable], true],
      [[unlucky(), unlucky("unknown_outcome"), unavailable], true],
    ] as const)
      expect((await quick(errors)).ended).toMatchObject({ kind: "unavailable", outcomeUnknown });
  });

  test("fails at once if its caller has a better way on", async () => {
    const locked = new StoreError("transient", ROW_LOCKED, "A test's.");
    expect(await quick([unlucky(), locked], UNLESS_ROW_LOCKED)).toEqual({
      ended: locked,
      causes: ["deadlock", ROW_LOCKED],
      tries: 2,
    });
    expect((await quick([unlucky("unavailable")], UNLESS_ROW_LOCKED)).ended).toBeInstanceOf(Fault);
  });
});

describe("the error for a caller", () => {
  const fault = (reason: string, isUnknown: boolean) =>
    new Fault("unavailable", reason, "A test's.", {
      retryAfterMs: 7,
      outcomeUnknown: isUnknown,
      cause: "a cause",
    });
  const bug = new Error("A bug, made by a test.");

  test("has the database's fault, when to try again, and whether it may have been done", () => {
    expect(asFault(unlucky("unavailable"))).toMatchObject({
      ...{ kind: "unavailable", reason: "deadlock", retryAfterMs: 1_000, outcomeUnknown: false },
    });
    expect(asFault(unlucky("unknown_outcome"))).toMatchObject({ outcomeUnknown: true });
    expect(asFault(bug)).toBe(bug);
  });

  test("of a call that an earlier attempt may have done differs only in that", () => {
    const error = mayBeDone(fault("deadlock", false));
    expect(error).toMatchObject({ kind: "unavailable", reason: "deadlock", message: "A test's." });
    expect(error).toMatchObject({ retryAfterMs: 7, outcomeUnknown: true, cause: "a cause" });
    const known = fault("deadlock", true);
    expect(mayBeDone(known)).toBe(known);
    expect(mayBeDone(bug)).toBe(bug);
  });

  test("of a change in doubt advises a look before another try", () => {
    const cause = fault("read_only", false);
    expect(outcomeUnknown(cause)).toMatchObject({ kind: "outcome_unknown", reason: "read_only", cause });
    expect(outcomeUnknown()).toMatchObject({
      reason: "changed_since",
      retryAfterMs: 0,
      outcomeUnknown: true,
    });
  });

  test("shows a held row, and nothing else, as held up", () => {
    expect([fault(ROW_LOCKED, false), fault("deadlock", false), bug].map(isHeldUp)).toEqual([
      true,
      false,
      false,
    ]);
    expect(isHeldUp(new StoreError("transient", ROW_LOCKED, "A test's."))).toBe(false);
  });
});
