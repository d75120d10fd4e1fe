// The recipe of tenants that share a pool: several workers at once, and how many jobs ran at the same time, by the history.

import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

const JOBS = ["1", "2", "3"];

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The most of them at one time, with a millisecond of play, as the times are cut to milliseconds. */
function mostAtOnce(spans: readonly Span[]): number {
  return Math.max(
    ...spans.map(
      ({ fromMs }) => spans.filter((other) => other.fromMs <= fromMs && fromMs < other.toMs - 1).length,
    ),
  );
}

inEachLanguage((language) => {
  const stage = recipeStage("tenant-and-pool", language);

  async function setPool(pattern: string, limit: number) {
    await stage.server.client.call("setLimit", {
      target: { case: "pool", value: pattern },
      newLimit: { case: "limit", value: limit },
    });
  }

  const work = (API: string, worker: string) => {
    const [tenant = ""] = worker;
    return stage.start("work", [tenant, ...JOBS.map((job) => worker + job)], { API, WORK_SECONDS: "0.3" });
  };

  async function spansOf(prefix: string): Promise<readonly Span[]> {
    const { claims } = await stage.server.client.call("listClaims", {
      locks: { case: "prefix", value: prefix },
      pageSize: 100,
    });
    return claims.map(({ grantedAt, end }) => ({
      fromMs: timestampMs(grantedAt as Timestamp),
      toMs: timestampMs(end?.endedAt as Timestamp),
    }));
  }

  test("no tenant runs more than its part, and all together no more than the pool", async () => {
    await setPool("busy/*", 2);
    await setPool("busy/a/*", 1);
    const runs = ["a1", "a2", "a3", "b1", "b2"].map((worker) => work("busy", worker));
    for (const run of runs) expect(await run.ended, run.complaints).toBe(0);
    expect(stage.journal()).toHaveLength(runs.length * JOBS.length);
    const [all, ofA] = [await spansOf("busy/"), await spansOf("busy/a/")];
    expect([all.length, ofA.length]).toEqual([15, 9]);
    expect(mostAtOnce(all)).toBe(2);
    expect(mostAtOnce(ofA)).toBe(1);
  });

  test("a limit of 0 stops a tenant, and no other", async () => {
    await setPool("paused/*", 2);
    await setPool("paused/a/*", 0);
    const stopped = work("paused", "a1");
    const other = work("paused", "b1");
    expect(await other.ended, other.complaints).toBe(0);
    await stage.until(async () => {
      const { limits } = await stage.server.client.call("listLimits", { prefix: "paused/a/" });
      return limits[0]?.use?.waiterCount === 1;
    });
    await setPool("paused/a/*", 1);
    expect(await stopped.ended, stopped.complaints).toBe(0);
    expect(await spansOf("paused/a/")).toHaveLength(JOBS.length);
  });
});
