// A mark that a server leaves to notice lost commits, on a node that may lag. What marks do elsewhere is in the contract
// suite.

import { expect, test, vi } from "vitest";
import type { DatabaseClock } from "../../../server/core/database-clock.ts";
import type { LockCache } from "../../../server/storage/mysql/lock-cache.ts";
import { maintenance } from "../../../server/storage/mysql/maintenance.ts";
import { MARK_AGAIN_MS } from "../../../server/storage/storage-bounds.ts";
import { ScriptedPool, written } from "./scripted-pool.ts";

// The fake timers do not reach this import.
vi.mock(import("node:timers/promises"), async (original) => ({
  ...(await original()),
  setTimeout: ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms))) as never,
}));

/** The database at 5 µs; `takes` says how many marks each write changes, in order. */
function marking(...takes: number[]) {
  const scripted = new ScriptedPool((sql) => {
    if (sql.startsWith("UPDATE rowlock_witness")) return written(takes.shift() ?? 0);
    return sql.startsWith("SELECT CAST") ? [["5"]] : undefined;
  });
  return { scripted, ...maintenance(scripted.pool, {} as LockCache, {} as DatabaseClock) };
}

test("a mark that is unexpected is read once more in a cluster, whose node may lag, and nowhere else", async () => {
  vi.useFakeTimers();
  try {
    expect(await marking(0, 1).mark(7n, [3n], 9n)).toMatchObject({ isDone: false });
    const { scripted, mark } = marking(0, 1);
    scripted.isCluster = true;
    const marked = mark(7n, [3n], 9n);
    await vi.advanceTimersByTimeAsync(MARK_AGAIN_MS - 1);
    expect(scripted.trips).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await marked).toMatchObject({ isDone: true });
    expect(scripted.trips).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});
