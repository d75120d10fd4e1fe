// How long a readiness answer counts, who is notified of it and of its cause, and when clients are sent to another
// server.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Readiness, type ReadinessOptions } from "../../server/ops/readiness.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
afterEach(() => void vi.useRealTimers());

function scene(options: Partial<ReadinessOptions> = {}) {
  const state = { error: null as unknown, probes: 0 };
  const recent = {
    committed: false,
    committedMs: Number.NEGATIVE_INFINITY,
    failure: null as unknown,
    isSuspect: false,
  };
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

/** When a probe is too old, answers that have already arrived are read for a few more turns. */
const TURNS_MS = 10;
const away = Object.assign(new Error("hush"), { reason: "connection_lost" });

test("a probe is valid for one and a half seconds without trouble", async () => {
  const { readiness, state } = scene();
  await readiness.check();
  vi.advanceTimersByTime(1_499);
  await readiness.check();
  expect(state.probes).toBe(1);
  vi.advanceTimersByTime(1);
  await readiness.check();
  expect(state.probes).toBe(2);
});

test.each(["failure", "isSuspect"] as const)(
  "a probe is valid for one second after decisions with a %s",
  async (trouble) => {
    const { readiness, state, recent } = scene();
    await readiness.check();
    recent[trouble] = true;
    Object.assign(recent, { committed: true, committedMs: performance.now() });
    vi.advanceTimersByTime(999);
    await readiness.check();
    expect(state.probes).toBe(1);
    vi.advanceTimersByTime(1);
    await readiness.check();
    expect(state.probes).toBe(2);
  },
);

test("an answer of not ready is valid for a second, so that the end of an outage is seen soon", async () => {
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

test("clients' successful decisions count as a probe of that moment", async () => {
  const { readiness, state, recent } = scene();
  Object.assign(recent, { committed: true, committedMs: performance.now() });
  for (const afterMs of [0, 1_000, 499]) {
    vi.advanceTimersByTime(afterMs);
    await readiness.check();
    expect(state.probes).toBe(0);
  }
  vi.advanceTimersByTime(1);
  await readiness.check();
  expect(state.probes).toBe(1);
});

test("each answer is reported with its cause, if it has one", async () => {
  const { readiness, state, recent, causes } = scene({ freshMs: 0 });
  await readiness.check();
  state.error = away;
  await readiness.check();
  state.error = null;
  recent.failure = away;
  await readiness.check();
  recent.failure = null;
  Object.assign(recent, { committed: true, committedMs: Number.POSITIVE_INFINITY });
  await readiness.check();
  expect(causes).toEqual([null, away, away, null]);
});

test("a late answer is reported as a fault of the database, and leaves no timer", async () => {
  const { readiness, causes } = scene({ probe: () => new Promise(() => {}), timeoutMs: 500 });
  const asked = readiness.check();
  await vi.advanceTimersByTimeAsync(499);
  expect(causes).toEqual([]);
  await vi.advanceTimersByTimeAsync(TURNS_MS);
  expect(await asked).toEqual({ ready: false, reason: "the database did not answer within 500 ms" });
  expect(causes).toMatchObject([{ kind: "unavailable", reason: "timeout" }]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["no label", new Error("hush")],
  ["a label that is no text", Object.assign(new Error("hush"), { reason: 7 })],
  ["no error", "hush"],
])("a fault with %s shows no details", async (_, error) => {
  const { readiness, state } = scene();
  state.error = error;
  expect(await readiness.check()).toEqual({ ready: false, reason: "the database cannot be written" });
});

test("the latest answer is read without a wait, and is draining from the drain on", async () => {
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

function gated(options: Partial<ReadinessOptions> = {}) {
  const gate = Promise.withResolvers<void>();
  const probe = vi.fn(() => gate.promise);
  return { ...scene({ probe, ...options }), probe, open: gate.resolve };
}

test("many callers share one probe, and a fresh answer needs none", async () => {
  const { readiness, probe, open } = gated();
  const asked = [readiness.check(), readiness.check()];
  open();
  expect(await Promise.all(asked)).toEqual([{ ready: true }, { ready: true }]);
  expect(await readiness.check()).toEqual({ ready: true });
  expect(probe).toHaveBeenCalledOnce();
});

test("no second probe starts beside one that hangs, whose late answer counts", async () => {
  const { readiness, probe, open } = gated({ timeoutMs: 5, freshMs: 0 });
  for (let checks = 0; checks < 2; checks++) {
    const asked = readiness.check();
    await vi.advanceTimersByTimeAsync(5 + TURNS_MS);
    expect((await asked).ready).toBe(false);
  }
  expect(probe).toHaveBeenCalledOnce();
  open();
  expect((await readiness.check()).ready).toBe(true);
});

test.each([
  ["failed decisions of clients outweigh a successful probe", { failure: away }, null, false],
  [
    "decisions of clients that succeed outweigh those that fail",
    { failure: away, committed: true },
    null,
    true,
  ],
  [
    "a failed probe outweighs those that succeed only sometimes",
    { committed: true, isSuspect: true },
    away,
    false,
  ],
])("%s", async (_, decisions, error, ready) => {
  const { readiness, state, recent } = scene({ freshMs: 0 });
  Object.assign(recent, decisions);
  state.error = error;
  expect((await readiness.check()).ready).toBe(ready);
});

test("listeners hear of changes, and not of equal answers", async () => {
  const { readiness, state } = scene({ freshMs: 0 });
  const told: boolean[] = [];
  readiness.subscribe(({ ready }) => told.push(ready));
  for (const error of [null, null, away, away, null, null]) {
    state.error = error;
    await readiness.check();
  }
  expect(told).toEqual([false, true]);
});

describe("with another server", () => {
  const GRACE_MS = 4_000;
  const LATE_MS = GRACE_MS / 10;
  const NEVER_MS = 2 ** 31 - 1;

  /** A probe ends after `takesMs`, the other server's answer after 10 ms. */
  function pair(options: Partial<ReadinessOptions> = {}) {
    const state = { takesMs: 0, steps: 1, error: null as unknown, doesOtherDecide: true };
    const seen = { asked: 0, sent: 0 };
    const pause = (ms: number) =>
      new Promise<void>((resolve) => {
        const timer = setInterval(() => {
          clearInterval(timer);
          resolve();
        }, ms);
      });
    const parts = scene({
      graceMs: GRACE_MS,
      probe: async (heard) => {
        const { error, takesMs, steps } = state;
        for (let step = 0; step < steps; step++) {
          await pause(takesMs / steps);
          heard();
        }
        if (error !== null) throw error;
      },
      othersDecide: async (withinMs) => {
        expect(withinMs).toBeLessThanOrEqual(2_000);
        seen.asked += 1;
        await pause(10);
        return state.doesOtherDecide;
      },
      onElsewhere: () => {
        seen.sent += 1;
      },
      ...options,
    });
    return { ...parts, state, seen };
  }
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  test.each([
    ["without", false],
    ["with", true],
  ])(
    "clients are sent there before half of the grace period is over, %s other trouble",
    async (_, isSuspect) => {
      const { readiness, recent, causes, state, seen } = pair();
      // As the app does.
      const loop = setInterval(() => void readiness.check(), readiness.intervalMs);
      await pass(GRACE_MS);
      expect([readiness.latest.ready, seen.asked]).toEqual([true, 0]);
      // It has just proved that it decides; that proof now counts for its full time.
      for (const before = causes.length; causes.length === before; ) await pass(1);
      state.takesMs = NEVER_MS;
      recent.isSuspect = isSuspect;
      await pass(0.3 * GRACE_MS);
      expect(seen.sent).toBe(1);
      expect(readiness.latest).toEqual({
        ready: false,
        reason: `the database did not answer within ${LATE_MS} ms, while that of another server did`,
      });
      clearInterval(loop);
    },
  );

  test("that cannot decide either, all clients stay, and a probe has its whole time", async () => {
    const { readiness, state, seen } = pair();
    Object.assign(state, { takesMs: 1_900, doesOtherDecide: false });
    const asked = readiness.check();
    await pass(1_900);
    expect(await asked).toEqual({ ready: true });
    expect(seen).toEqual({ asked: 1, sent: 0 });
  });

  test("all clients stay if the own database answers while the other server is asked", async () => {
    const { readiness, state, seen } = pair();
    state.takesMs = LATE_MS + 8;
    const asked = readiness.check();
    await pass(LATE_MS + 20);
    expect(await asked).toEqual({ ready: true });
    expect(seen.sent).toBe(0);
  });

  test("no server is asked while probes take many steps, or clients' decisions succeed", async () => {
    const far = pair();
    Object.assign(far.state, { takesMs: 2 * LATE_MS, steps: 4 });
    let asked = far.readiness.check();
    await pass(far.state.takesMs + TURNS_MS);
    expect(await asked).toEqual({ ready: true });
    expect(far.seen.asked).toBe(0);

    const busy = pair();
    busy.state.takesMs = 2 * LATE_MS;
    busy.recent.isSuspect = true;
    asked = busy.readiness.check();
    await pass(LATE_MS / 2);
    Object.assign(busy.recent, { committed: true, committedMs: performance.now() });
    await pass(2 * LATE_MS);
    expect(await asked).toEqual({ ready: true });
    expect(busy.seen.asked).toBe(0);
  });

  test("a pause of this process counts only as a moment of silence", async () => {
    const { readiness, state, seen } = pair();
    state.takesMs = LATE_MS - 1;
    const asked = readiness.check();
    await pass(1);
    // The clock advances, and the timers do not.
    vi.setSystemTime(Date.now() + 10 * LATE_MS);
    await pass(LATE_MS);
    expect(await asked).toEqual({ ready: true });
    expect(seen.asked).toBe(0);
  });

  test("clients are sent there after an error, too, if the next probe fails", async () => {
    const lost = pair();
    lost.state.error = away;
    const asked = lost.readiness.check();
    await pass(0);
    expect((await asked).ready).toBe(false);
    await pass(20);
    expect(lost.seen).toEqual({ asked: 1, sent: 1 });

    const restarted = pair();
    restarted.state.error = away;
    void restarted.readiness.check();
    await pass(5);
    restarted.state.error = null;
    await pass(20);
    expect(restarted.seen).toEqual({ asked: 1, sent: 0 });
  });

  test("it decides for others exactly while its own decisions succeed", async () => {
    const { readiness, state } = pair();
    let asked = readiness.decides();
    await pass(1);
    expect(await asked).toBe(true);
    state.error = away;
    asked = readiness.decides();
    await pass(1);
    expect(await asked).toBe(false);
    Object.assign(state, { error: null, takesMs: NEVER_MS });
    asked = readiness.decides();
    await pass(2_000 + TURNS_MS);
    expect(await asked).toBe(false);
    readiness.drain();
    expect(await readiness.decides()).toBe(false);
  });
});
