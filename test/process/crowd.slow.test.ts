// A crowd at one lock and a caller of other locks: the server bounds how many places it sends to the crowd, so that
// the caller does not wait for it. The caller alternates with a server without a crowd, which shows how much other
// work on the machine adds.

import { expect, test } from "vitest";
import { PLACES_AT_ONCE, PLACES_PAUSE_MS } from "../../server/grpc/grpc-bounds.ts";
import type { TestCalls } from "../support/test-calls.ts";
import { RowlockProcess } from "./server-process.ts";
import { processStage } from "./stage.ts";

const CROWD = 1_500;
const PAIRS = 100;
const PLACES_PER_SECOND = (PLACES_AT_ONCE / PLACES_PAUSE_MS) * 1_000;
/**
 * Covers what the crowd had not read when it began to count. Without a bound the server sends four times as many
 * places.
 */
const LEEWAY = 1.5;
/**
 * What the crowd may add: a pair of calls waits for some turns of the server, and for a processor that the crowd also
 * uses.
 */
const CROWDED_TIMES = 40;

const stage = processStage();

test("a crowd at a hot lock gets a bounded number of places, while calls for other locks are answered", async () => {
  const { client: calm } = await stage.serving("sqlite::memory:");
  const { client, grpcAddress } = await stage.serving("sqlite::memory:");
  const { leaseId } = await client.lease({ name: "hot" });
  const crowd = new RowlockProcess([grpcAddress, "hot", String(CROWD)], {}, "test/process/crowd.ts");
  stage.afterwards(() => crowd.destroy());
  await crowd.said(/standing/);
  await client.call("release", { leaseId });

  const crowded: number[] = [];
  const alone: number[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    alone.push(await pairMs(calm, pair));
    crowded.push(await pairMs(client, pair));
  }
  crowd.kill("SIGTERM");
  const { out } = await crowd.exited;
  const { told, seconds } = JSON.parse(out.trim().split("\n").at(-1) ?? "");
  expect(told).toBeGreaterThan(0);
  expect(told / seconds).toBeLessThanOrEqual(LEEWAY * PLACES_PER_SECOND);
  expect(median(crowded)).toBeLessThan(CROWDED_TIMES * median(alone));
});

/** Acquires a lock and releases it. Returns the milliseconds. */
async function pairMs(client: TestCalls, pair: number): Promise<number> {
  const askedMs = performance.now();
  const { leaseId } = await client.lease({ name: `cold/${pair}` });
  await client.call("release", { leaseId });
  return performance.now() - askedMs;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
