// A wait that an agent forgets.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AgentLocks, FORGOTTEN_AFTER_MS, foldersAbove } from "../../../clients/shell/agent-locks.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("goes on between two calls, and its place is given up when nobody asks for it any more", async () => {
  let signal: AbortSignal | undefined;
  const acquire = (_name: string, options: { signal?: AbortSignal }) => {
    signal = options.signal;
    return new Promise((_, reject) => options.signal?.addEventListener("abort", reject));
  };
  const locks = new AgentLocks({ rowlock: { acquire } as never, owner: () => "anna" });
  const first = locks.acquire({ name: "a" }, 1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await first).toMatch(/^Not yet: you wait for "a"\. Your place is kept for 5 min/);
  await vi.advanceTimersByTimeAsync(FORGOTTEN_AFTER_MS - 1);
  const again = locks.acquire({ name: "a" }, 2_000);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([await again, signal?.aborted]).toEqual([expect.stringMatching(/^Not yet/), false]);
  await vi.advanceTimersByTimeAsync(FORGOTTEN_AFTER_MS);
  expect([signal?.aborted, locks.mine()]).toEqual([true, "You hold nothing, and wait for nothing."]);
});

test("the folders above a path are taken for reading", () => {
  expect(foldersAbove("a/b/c")).toEqual([
    { name: "a", mode: "shared" },
    { name: "a/b", mode: "shared" },
  ]);
  expect(foldersAbove("a")).toEqual([]);
});
