// The worker loop over fake locks: what it keeps, and what it logs.

import { queryObjects } from "node:v8";
import { expect, test, vi } from "vitest";
import type { Captured } from "../../../../clients/typescript/src/client.ts";
import type { Lock } from "../../../../clients/typescript/src/lock.ts";
import { Work, type WorkParts } from "../../../../clients/typescript/src/work.ts";
import { turn } from "./fake-connection.ts";

/** A worker that gets `count` locks, one after the other, and is then stopped. */
function stage(count: number, parts: Partial<WorkParts> = {}, more: Partial<Lock> = {}) {
  const stop = new AbortController();
  const log = vi.fn();
  const lock = { name: "etl", state: "held", release: async () => true, ...more } as unknown as Lock;
  let captured = 0;
  const capture = async (): Promise<Captured> => {
    captured += 1;
    if (captured <= count) return { locks: [lock] };
    stop.abort();
    return { locks: [] };
  };
  const work = new Work(
    "",
    async () => await turn(),
    { signal: stop.signal },
    {
      capture,
      holding: (_, run) => run(),
      ifRefused() {},
      hadEnded: () => false,
      log,
      ...parts,
    },
  );
  return { work, log };
}

test("keeps nothing of the handlers that have ended", async () => {
  const promises = () => queryObjects(Promise, { format: "count" });
  const counts: number[] = [];
  let held = 0;
  const holding: WorkParts["holding"] = async (_, run) => {
    await run();
    held += 1;
    if (held === 100 || held === 1_100) counts.push(promises());
  };
  await stage(1_200, { holding }).work.run();
  const [early, late] = counts as [number, number];
  expect(late - early).toBeLessThan(100);
});

test.each([
  [true, ['The lock "etl" was not released: The lease on "etl" ended before a server confirmed its release']],
  [false, []],
])("logs a release that ended nothing only if the lease had ended before: %j", async (hadEnded, logged) => {
  const { work, log } = stage(1, { hadEnded: () => hadEnded }, { release: async () => false });
  await work.run();
  expect(log.mock.calls.map(([message]) => message.split(",")[0])).toEqual(logged);
});
