// The client's clock counts the machine's sleep, and ignores other changes of the uptime.

import { expect, test } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";

/** Longer than the clock reuses a reading of the uptime. */
const A_LITTLE_MS = 25;

/** A machine whose clocks stand still until the test moves them. */
function machine() {
  let awakeMs = 1_000;
  let upMs = 1e9;
  const clock = new Clock(
    () => upMs,
    () => awakeMs,
  );
  /** Lets time pass; the uptime goes ahead by `ms` more. */
  const pass = (ms: number) => {
    awakeMs += A_LITTLE_MS;
    upMs += A_LITTLE_MS + ms;
  };
  return { clock, pass, asleepMs: () => clock.now() - awakeMs };
}

test.each([
  ["a sleep", 60_000, 60_000],
  ["a rounded uptime", 40, 0],
  ["an uptime that was set back", -60_000, 0],
])("%s of %d ms is counted as %d ms", (_, sleptMs, countedMs) => {
  const { pass, asleepMs } = machine();
  pass(sleptMs);
  expect(asleepMs()).toBe(countedMs);
  // A rounded uptime is not forgotten: it counts as soon as a sleep shows that it belonged to one.
  pass(30_000);
  expect(asleepMs()).toBe(countedMs + 30_000 + (sleptMs === 40 ? 40 : 0));
});

test("the machine's own clocks agree while it is awake", async () => {
  const clock = new Clock();
  // The process may be paused between two readings, so each reading of the clock lies between two of the other one.
  const read = () => {
    const beforeMs = performance.now();
    const clockMs = clock.now();
    const afterMs = performance.now();
    return { leastMs: clockMs - afterMs, mostMs: clockMs - beforeMs };
  };
  const first = read();
  await new Promise((resolve) => setTimeout(resolve, A_LITTLE_MS));
  const second = read();
  expect(second.leastMs - first.mostMs).toBeLessThanOrEqual(0);
  expect(second.mostMs - first.leastMs).toBeGreaterThanOrEqual(0);
});
