// Stopping what tests have started takes a bounded time even if it fails: the first stuck part costs some seconds, and
// later ones in the file almost nothing.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { drainingInTime, drainMs, stopInTime } from "./stop-in-time.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<void>(() => {});

test("a drain that does not end rejects after its deadline", async () => {
  const server = drainingInTime({ drain: (_: number) => never() });
  const drained = server.drain(10);
  expect(server.drain(0)).toBe(drained);
  const failed = expect(drained).rejects.toThrow("did not drain within 10 ms");
  await vi.runAllTimersAsync();
  await failed;
});

test("all parts are stopped, and the first failure is reported", async () => {
  const stopped: string[] = [];
  const part = (name: string, error?: Error) => ({
    name,
    stop: async () => {
      stopped.push(name);
      if (error) throw error;
    },
  });
  await expect(stopInTime(part("one", new Error("one is broken")), part("two"))).rejects.toThrow(
    "one is broken",
  );
  expect(stopped).toEqual(["one", "two"]);
});

test("a stuck part is named, and the parts after it get no time", async () => {
  let isStopped = false;
  const last = {
    name: "the last",
    stop: async () => {
      isStopped = true;
    },
  };
  const failed = expect(stopInTime({ name: "the first", stop: never }, last)).rejects.toThrow(
    "in time: the first.",
  );
  await vi.runAllTimersAsync();
  await failed;
  expect(isStopped).toBe(true);
  expect(drainMs()).toBeLessThan(1_000);
});
