// The client's clock counts the machine's sleep, and ignores other changes of the uptime.

import { expect, test } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";

/** A machine whose uptime is its monotonic clock plus what the test adds. */
function machine() {
  let moreMs = 1e9;
  const clock = new Clock(() => performance.now() + moreMs);
  const sleep = (ms: number) => {
    moreMs += ms;
  };
  return { clock, sleep };
}

/** Until the clock reads the uptime again. */
const aLittle = () => new Promise((resolve) => setTimeout(resolve, 25));

test.each([
  ["a sleep", 60_000, 60_000],
  ["a rounded uptime", 40, 0],
  ["an uptime that was set back", -60_000, 0],
])("%s of %d ms is counted as %d ms", async (_, sleptMs, countedMs) => {
  const { clock, sleep } = machine();
  const apartMs = clock.now() - performance.now();
  sleep(sleptMs);
  await aLittle();
  expect(clock.now() - performance.now() - apartMs).toBeCloseTo(countedMs, -1);
  sleep(30_000);
  await aLittle();
  expect(clock.now() - performance.now() - apartMs).toBeCloseTo(countedMs + 30_000, -2);
});

test("the machine's own clocks agree while it is awake", async () => {
  const clock = new Clock();
  const apartMs = clock.now() - performance.now();
  await aLittle();
  expect(clock.now() - performance.now() - apartMs).toBeCloseTo(0, 0);
});
