// How long a transaction is repeated: until it gets through, as often as is of use, and never for ever.

import { afterEach, describe, expect, test, vi } from "vitest";
import { withAttempts } from "../../../server/engine/transaction/attempts.ts";
import { decideWork } from "../../../server/engine/transaction/deciding.ts";
import { ROLLED_BACK } from "../../../server/storage/retry.ts";
import { CHANGED, StoreError } from "../../../server/storage/store.ts";

const unlucky = (kind: StoreError["kind"] = "transient") => new StoreError(kind, "deadlock", "A test's.");

describe("a transaction", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Runs it with attempts that take so long each; how many there were, and how it ended. */
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

  test("that was rolled back is tried again", async () => {
    expect(await attempts(1, unlucky(), 3)).toEqual({ tries: 3, ended: "done" });
  });

  test("that went by what had changed is tried again at once, as it has met nobody", async () => {
    const changed = new StoreError("transient", CHANGED, "A test's.");
    expect((await attempts(0, changed, ROLLED_BACK.attempts)).ended).toBe("done");
    // The clock that stands still but for pauses.
    expect(performance.now()).toBe(0);
  });

  test("of an unknown outcome is tried again, and may have been done where it is given up", async () => {
    expect(await attempts(1, unlucky("unknown_outcome"), 3)).toEqual({ tries: 3, ended: "done" });
    const { ended } = await attempts(1, unlucky("unknown_outcome"));
    expect(ended).toMatchObject({ kind: "unavailable", outcomeUnknown: true });
  });

  test("that never gets through is given up", async () => {
    const { tries, ended } = await attempts(1, unlucky());
    expect(tries).toBe(ROLLED_BACK.attempts);
    expect(ended).toMatchObject({ kind: "unavailable", reason: "deadlock" });
  });

  test("is given up earlier where each try takes long", async () => {
    const { tries, ended } = await attempts(5_000, unlucky());
    expect(tries).toBe(2);
    expect(ended).toMatchObject({ kind: "unavailable" });
  });

  test("is not repeated while the database is away, nor for a bug", async () => {
    expect((await attempts(1, unlucky("unavailable"))).tries).toBe(1);
    const bug = new Error("a bug");
    expect(await attempts(1, bug)).toEqual({ tries: 1, ended: bug });
  });

  test("is not begun again and again where the heartbeat before it has failed, which was repeated by itself", async () => {
    let heartbeats = 0;
    const deciding = decideWork({ jobs: new Map(), earlier: [] }, false, {
      policy: { graceUs: 1, attachedForUs: 1, retentionUs: 1, queueMax: 1 },
      store: { transact: async () => {} },
      likelyQueue: () => false,
      beforehand: () => {
        heartbeats += 1;
        return Promise.reject(unlucky());
      },
      onRetry: () => {},
    });
    await expect(deciding).rejects.toMatchObject({ kind: "unavailable", reason: "deadlock" });
    expect(heartbeats).toBe(1);
  });
});
