// What each background loop guarantees: it starts once, its runs never overlap, and a stop is final.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BACKOFF_MS_MAX, Loop, type LoopOptions } from "../../server/engine/loop.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const INTERVAL_MS = 100;

/** A loop whose runs the test ends. */
function scene(overrides: Partial<LoopOptions> = {}) {
  const runs: PromiseWithResolvers<void>[] = [];
  const failures: unknown[] = [];
  const loop = new Loop({
    name: "test",
    intervalMs: INTERVAL_MS,
    jitter: 0,
    ...overrides,
    run: () => {
      const run = Promise.withResolvers<void>();
      runs.push(run);
      return run.promise;
    },
    onFailure: (name, error) => void failures.push([name, error]),
  });
  return { loop, runs, failures };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("a loop that is started twice runs once in each interval", async () => {
  const { loop, runs } = scene();
  loop.start();
  loop.start();
  await pass(INTERVAL_MS);
  expect(runs).toHaveLength(1);
  loop.start();
  await pass(10 * INTERVAL_MS);
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await pass(INTERVAL_MS - 1);
  expect(runs).toHaveLength(1);
  await pass(1);
  expect(runs).toHaveLength(2);
});

test("a stop between two runs leaves no timer, and one during a run waits for it; after that none begins", async () => {
  const { loop, runs } = scene();
  loop.start();
  for (let times = 0; times < 2; times++) await loop.stop();
  expect(vi.getTimerCount()).toBe(0);
  await pass(10 * INTERVAL_MS);
  expect(runs).toHaveLength(0);
  loop.start();
  await pass(INTERVAL_MS);
  let isStopped = false;
  const stopping = loop.stop().then(() => {
    isStopped = true;
  });
  await pass(0);
  expect(isStopped).toBe(false);
  runs[0]?.resolve();
  await stopping;
  await pass(10 * INTERVAL_MS);
  expect(runs).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("the pace varies by the jitter around the interval, and no further", async () => {
  const random = vi.spyOn(Math, "random");
  const paces: number[] = [];
  for (const drawn of [0, 0.5, 1]) {
    random.mockReturnValue(drawn);
    const { loop, runs } = scene({ jitter: 0.3 });
    loop.start();
    let ms = 0;
    for (; runs.length === 0 && ms < 10 * INTERVAL_MS; ms++) await pass(1);
    paces.push(ms);
    runs[0]?.resolve();
    await loop.stop();
  }
  expect(paces.toSorted((a, b) => a - b)).toEqual([0.7, 1, 1.3].map((share) => share * INTERVAL_MS));
});

test("a run that fails is reported, and the loop rests longer after each failure until one succeeds", async () => {
  const { loop, runs, failures } = scene();
  loop.start();
  const rests: number[] = [];
  const fault = new Error("A fault made by a test.");
  await pass(INTERVAL_MS);
  for (let failure = 1; failure <= 6; failure++) {
    runs.at(-1)?.reject(fault);
    let ms = 0;
    for (await pass(0); runs.length === failure && ms < 2 * BACKOFF_MS_MAX; ms += 10) await pass(10);
    rests.push(ms);
  }
  expect(failures).toEqual(rests.map(() => ["test", fault]));
  expect(rests[0]).toBeGreaterThan(INTERVAL_MS);
  expect(rests).toEqual(rests.toSorted((a, b) => a - b));
  expect(rests.at(-1)).toBe(BACKOFF_MS_MAX);
  runs.at(-1)?.resolve();
  await pass(INTERVAL_MS);
  expect(runs).toHaveLength(8);
});

test("a loop that is started again while its last run is under way goes on as one loop", async () => {
  const { loop, runs } = scene();
  loop.start();
  await pass(INTERVAL_MS);
  void loop.stop();
  loop.start();
  await pass(10 * INTERVAL_MS);
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await pass(INTERVAL_MS);
  expect(runs).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(0);
});

test("a loop rests after a long run for as long as it is told, and after a failure as after the run before", async () => {
  const { loop, runs } = scene({ restMsMax: INTERVAL_MS, restMsAfter: (runMs) => 3 * runMs });
  /** Ends the run that has just begun after this time; returns how long the loop then rests. */
  const restAfter = async (runMs: number, end: (run: PromiseWithResolvers<void>) => void) => {
    await pass(runMs);
    const before = runs.length;
    end(runs.at(-1) as PromiseWithResolvers<void>);
    let ms = 0;
    for (; runs.length === before; ms += 10) await pass(10);
    return ms;
  };
  loop.start();
  await pass(INTERVAL_MS);
  expect(await restAfter(200, ({ resolve }) => resolve())).toBe(600);
  expect(await restAfter(900, ({ reject }) => reject(new Error("A fault made by a test.")))).toBe(600);
  expect(await restAfter(0, ({ resolve }) => resolve())).toBe(INTERVAL_MS);
});
