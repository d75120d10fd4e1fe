// A crowd at one lock, and a caller who wants others: the crowd is told its places within a bound, so that the caller
// hardly notices it.

import { expect, test } from "vitest";
import { PLACES_AT_ONCE, PLACES_PAUSE_MS } from "../../server/grpc/grpc-bounds.ts";
import { RowlockProcess } from "./server-process.ts";
import { processStage } from "./stage.ts";

const CROWD = 1_500;
const PAIRS = 100;
const PLACES_PER_SECOND = (PLACES_AT_ONCE / PLACES_PAUSE_MS) * 1_000;
/** What the crowd had not yet read when it began to count. Without a bound it is told four times as many places. */
const LEEWAY = 1.5;
/** A few milliseconds where nothing else is going on. */
const PAIR_MS_MAX = 250;
const SLOW_MACHINE_MS = 60_000;

const stage = processStage();

test(
  "a crowd at a hot lock is told a bounded number of places, while calls for other locks are answered",
  async () => {
    const { client, grpcAddress } = await stage.serving("sqlite::memory:");
    const { leaseId } = await client.lease({ name: "hot" });
    const crowd = new RowlockProcess([grpcAddress, "hot", String(CROWD)], {}, "test/process/crowd.ts");
    stage.afterwards(() => crowd.destroy());
    await crowd.said(/standing/);
    await client.call("release", { leaseId });

    const tookMs: number[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const askedMs = performance.now();
      const lease = await client.lease({ name: `cold/${pair}` });
      await client.call("release", { leaseId: lease.leaseId });
      tookMs.push(performance.now() - askedMs);
    }
    crowd.kill("SIGTERM");
    const { out } = await crowd.exited;
    const { told, seconds } = JSON.parse(out.trim().split("\n").at(-1) ?? "");
    expect(told).toBeGreaterThan(0);
    expect(told / seconds).toBeLessThanOrEqual(LEEWAY * PLACES_PER_SECOND);
    tookMs.sort((a, b) => a - b);
    expect(tookMs[PAIRS / 2]).toBeLessThan(PAIR_MS_MAX);
  },
  SLOW_MACHINE_MS,
);
