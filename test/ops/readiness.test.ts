// For how long an answer of the readiness counts, and who is told of it and of its cause.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Readiness, type ReadinessOptions } from "../../server/ops/readiness.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

function scene(options: Partial<ReadinessOptions> = {}) {
  const state = { error: null as unknown, probes: 0 };
  const recent = { committed: false, failure: null as unknown, isSuspect: false };
  const causes: unknown[] = [];
  const readiness = new Readiness({
    probe: async () => {
      state.probes += 1;
      if (state.error !== null) throw state.error;
    },
    recent: () => ({ ...recent }),
    onAnswer: (cause) => causes.push(cause),
    ...options,
  });
  return { state, recent, causes, readiness };
}

const away = Object.assign(new Error("hush"), { reason: "connection_lost" });

test("while there is no trouble a probe counts for two seconds", async () => {
  const { readiness, state } = scene();
  await readiness.check();
  vi.advanceTimersByTime(1_999);
  await readiness.check();
  expect(state.probes).toBe(1);
  vi.advanceTimersByTime(1);
  await readiness.check();
  expect(state.probes).toBe(2);
});

test.each(["failure", "isSuspect"] as const)(
  "after decisions with a %s it counts for one",
  async (trouble) => {
    const { readiness, state, recent } = scene();
    await readiness.check();
    recent[trouble] = true;
    recent.committed = true;
    vi.advanceTimersByTime(999);
    await readiness.check();
    expect(state.probes).toBe(1);
    vi.advanceTimersByTime(1);
    await readiness.check();
    expect(state.probes).toBe(2);
  },
);

test("an answer of not ready counts for a second, so that the end of an outage is seen soon", async () => {
  const { readiness, state } = scene();
  state.error = away;
  const notReady = { ready: false, reason: "the database cannot be written: connection_lost" };
  expect(await readiness.check()).toEqual(notReady);
  state.error = null;
  vi.advanceTimersByTime(999);
  expect(await readiness.check()).toEqual(notReady);
  vi.advanceTimersByTime(1);
  expect(await readiness.check()).toEqual({ ready: true });
});

test("clients' decisions that get through count as a fresh answer", async () => {
  const { readiness, state, recent } = scene();
  recent.committed = true;
  await readiness.check();
  recent.committed = false;
  vi.advanceTimersByTime(1_999);
  await readiness.check();
  expect(state.probes).toBe(0);
});

test("each answer is told with its cause, or with none", async () => {
  const { readiness, state, recent, causes } = scene({ freshMs: 0 });
  await readiness.check();
  state.error = away;
  await readiness.check();
  state.error = null;
  recent.failure = away;
  await readiness.check();
  recent.failure = null;
  recent.committed = true;
  await readiness.check();
  expect(causes).toEqual([null, away, away, null]);
});

test("an answer that does not come in time is told as a fault of the database, and leaves no timer", async () => {
  const { readiness, causes } = scene({ probe: () => new Promise(() => {}), timeoutMs: 500 });
  const asked = readiness.check();
  vi.advanceTimersByTime(499);
  expect(causes).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(await asked).toEqual({ ready: false, reason: "the database did not answer within 500 ms" });
  expect(causes).toMatchObject([{ kind: "unavailable", reason: "timeout" }]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a probe is given two seconds unless told otherwise, and leaves no timer where it ends by then", async () => {
  const { readiness } = scene({ probe: () => new Promise(() => {}) });
  const asked = readiness.check();
  vi.advanceTimersByTime(2_000);
  expect(await asked).toMatchObject({ reason: "the database did not answer within 2000 ms" });
  await scene().readiness.check();
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["no label", new Error("hush")],
  ["a label that is no text", Object.assign(new Error("hush"), { reason: 7 })],
  ["no error", "hush"],
])("of a fault with %s nothing is shown", async (_, error) => {
  const { readiness, state } = scene();
  state.error = error;
  expect(await readiness.check()).toEqual({ ready: false, reason: "the database cannot be written" });
});

test("the latest answer needs no wait, and is draining from then on", async () => {
  const { readiness, state } = scene();
  expect(readiness.latest).toEqual({ ready: true });
  state.error = away;
  await readiness.check();
  expect(readiness.latest).toMatchObject({
    ready: false,
    reason: expect.stringContaining("connection_lost"),
  });
  readiness.drain();
  expect(readiness.latest).toEqual({ ready: false, reason: "draining" });
  vi.advanceTimersByTime(5_000);
  expect(await readiness.check()).toEqual({ ready: false, reason: "draining" });
  expect(state.probes).toBe(1);
});

test("listeners are told of changes, and of no answer that is like the one before", async () => {
  const { readiness, state } = scene({ freshMs: 0 });
  const told: boolean[] = [];
  readiness.subscribe(({ ready }) => told.push(ready));
  for (const error of [null, null, away, away, null, null]) {
    state.error = error;
    await readiness.check();
  }
  expect(told).toEqual([false, true]);
});
