// What reads and marks do on a node of a cluster, which may lag. What they return is in the contract suite.

import { describe, expect, onTestFinished, test, vi } from "vitest";
import { DatabaseClock } from "../../../server/core/database-clock.ts";
import type { LockCache } from "../../../server/storage/mysql/lock-cache.ts";
import { maintenance } from "../../../server/storage/mysql/maintenance.ts";
import { reads } from "../../../server/storage/mysql/reads.ts";
import { stepsOn } from "../../../server/storage/mysql/steps.ts";
import { otherServers } from "../../../server/storage/reads/other-servers.ts";
import { MARK_AGAIN_MS } from "../../../server/storage/storage-bounds.ts";
import { CLAIM } from "../../support/claims.ts";
import { ScriptedPool, written } from "./scripted-pool.ts";

// The fake timers do not reach this import.
vi.mock(import("node:timers/promises"), async (original) => ({
  ...(await original()),
  setTimeout: ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms))) as never,
}));

describe("on a node that may lag", () => {
  test("claims by request id see what other nodes of a cluster have committed, and other reads do not wait for that", async () => {
    const scripted = new ScriptedPool((sql) => (sql.startsWith("SELECT CAST") ? [["900"]] : undefined));
    const { claims, claimsByRequest } = reads(scripted.pool, new DatabaseClock());
    await claimsByRequest(["a"]);
    expect(scripted.sql).toHaveLength(2);
    scripted.connection.mayLag = true;
    await claims([CLAIM]);
    expect(scripted.sql).toHaveLength(4);
    await claimsByRequest(["a"]);
    expect(scripted.sql.slice(4)).toEqual([
      "SET SESSION wsrep_sync_wait = 1",
      expect.stringContaining("FROM rowlock_request r "),
      "SET SESSION wsrep_sync_wait = DEFAULT",
      expect.stringMatching(/^SELECT CAST/),
    ]);
  });

  test("a mark that is unexpected is read once more, and on other servers it is not", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    /** The second write finds the expected mark. */
    const marking = () => {
      const takes = [0, 1];
      const scripted = new ScriptedPool((sql) => {
        if (sql.startsWith("UPDATE rowlock_witness")) return written(takes.shift() ?? 0);
        return sql.startsWith("SELECT CAST") ? [["5"]] : undefined;
      });
      return { scripted, ...maintenance(scripted.pool, {} as LockCache, {} as DatabaseClock) };
    };
    expect(await marking().mark(7n, [3n], 9n)).toMatchObject({ isDone: false });
    const { scripted, mark } = marking();
    scripted.isCluster = true;
    const marked = mark(7n, [3n], 9n);
    await vi.advanceTimersByTimeAsync(MARK_AGAIN_MS - 1);
    expect(scripted.trips).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await marked).toMatchObject({ isDone: true });
  });

  const deciding = () =>
    new ScriptedPool((sql) => (sql.endsWith("FROM rowlock_meta WHERE id = 1") ? [["1000", "5"]] : undefined));
  const from = { atUs: 70, afterLockId: 3n };

  test("recent decisions that could not be read leave no connection that waits for it", async () => {
    for (const mayLag of [true, false]) {
      const scripted = deciding();
      scripted.connection.mayLag = mayLag;
      const failure = new Error("away");
      scripted.failures.set("decided_since", [failure]);
      await expect(otherServers(stepsOn(scripted.pool, null)).decidedSince(from, null, 2)).rejects.toBe(
        failure,
      );
      expect(scripted.destroyed).toEqual(mayLag ? [failure] : []);
    }
  });
});
