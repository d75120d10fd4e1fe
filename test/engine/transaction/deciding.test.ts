// The commands of one transaction: what each attempt begins with, and how the commands are divided.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Command } from "../../../server/core/command.ts";
import type { Ask } from "../../../server/engine/transaction/ask.ts";
import {
  type AsksByLock,
  commitAsks,
  parts,
  type TransactionAsks,
} from "../../../server/engine/transaction/transaction.ts";
import { changedSince, ScriptedTransactions, turn } from "../../support/scripted-transactions.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const setLimit = (lockId: bigint): Command => ({
  ...{ verb: "set_limit", name: `lock ${lockId}`, limit: 3, expectedVersion: undefined, reason: "" },
});
const about = (...lockIds: bigint[]): TransactionAsks => ({
  byLock: new Map(lockIds.map((id) => [id, [{ command: setLimit(id) } as Ask]])) as AsksByLock,
  earlier: [],
});

function scene(lateHeartbeat: () => Promise<void> | null = () => null) {
  const store = new ScriptedTransactions(1n, 2n);
  const decide = (jobs: TransactionAsks, impatient = true) =>
    commitAsks(jobs, impatient, {
      policy: { graceUs: 1, attachedForUs: 1, keptForUs: () => 1, queueMax: 1 },
      store,
      followers: { follows: (lockId) => lockId === 2n },
      background: { lateHeartbeat },
      observer() {},
    });
  return { store, decide };
}

describe("a decision", () => {
  test("begins after its preparation, with each attempt", async () => {
    const first: PromiseWithResolvers<void>[] = [];
    const { store, decide } = scene(() => {
      const one = Promise.withResolvers<void>();
      first.push(one);
      return one.promise;
    });
    const deciding = decide(about(1n));
    await turn();
    expect(store.begun).toEqual([]);
    first[0]?.resolve();
    await turn();
    await store.at(0).fail(changedSince());
    await vi.runAllTimersAsync();
    expect([first.length, store.begun.length]).toEqual([2, 1]);
    first[1]?.resolve();
    await turn();
    await store.at(1).commit();
    await deciding;
  });
});

test("work is divided into parts of about the same size, in order, each with what may have been done before", () => {
  const earlier = [{}] as unknown as TransactionAsks["earlier"];
  const work = { ...about(1n, 2n, 3n, 4n, 5n), earlier };
  const divided = (count: number) => parts(work, count).map(({ byLock }) => [...byLock.keys()]);
  expect(divided(2)).toEqual([
    [1n, 2n, 3n],
    [4n, 5n],
  ]);
  expect(divided(5)).toEqual([[1n], [2n], [3n], [4n], [5n]]);
  expect(parts(work, 2).map((part) => part.earlier)).toEqual([earlier, earlier]);
  expect(parts(work, 5)[2]?.byLock.get(3n)).toBe(work.byLock.get(3n));
});
