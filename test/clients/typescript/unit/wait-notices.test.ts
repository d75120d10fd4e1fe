// What is said of a wait if no server explains it, and how often.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Acquisition } from "../../../../clients/typescript/src/acquisition.ts";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import type { WaitExplanation } from "../../../../clients/typescript/src/history.ts";
import type { HeldLease } from "../../../../clients/typescript/src/leases/held-lease.ts";
import {
  WaitLedger,
  WaitNotices,
  type WaitNoticesOptions,
} from "../../../../clients/typescript/src/wait-notices.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const PLACE = { ticketId: "t", ahead: 3, permitsAhead: 4, queueLength: 9, waitedMs: 0 };

/** A lease on these locks. */
const heldOf = (...names: string[]) =>
  ({ tokens: new Map(names.map((name) => [name, 1n])), toldMs: performance.now() }) as unknown as HeldLease;

function stage(
  explain: () => Promise<WaitExplanation>,
  ledger = new WaitLedger(),
  more: Partial<WaitNoticesOptions> = {},
) {
  const said: string[] = [];
  const onWaiting = vi.fn();
  const abandon = vi.fn();
  const notices = new WaitNotices({ place: PLACE, abandon } as unknown as Acquisition, {
    clock: new Clock(() => performance.now()),
    ledger,
    names: ["etl"],
    onWaiting,
    explainAfterMs: 10_000,
    own: () => [],
    isOfAsking: () => true,
    explain,
    log: (message) => said.push(message),
    ...more,
  });
  return { notices, said, onWaiting, abandon };
}

test("without an explanation it has only the place, after 10 s and then every minute", async () => {
  const { notices, said, onWaiting } = stage(() => Promise.reject(new Error("no right")));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(said).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(said).toEqual(['Waits for the lock "etl" since 10 s: 3 before it in the queue.']);
  expect(onWaiting).toHaveBeenCalledExactlyOnceWith({
    name: "etl",
    waitedMs: 10_000,
    place: { ...PLACE, waitedMs: 10_000 },
    summary: "3 before it in the queue",
    causes: [],
    heldByYou: false,
  });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(said).toHaveLength(3);
  notices.stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(said).toHaveLength(3);
});

test("an explanation knows the place of now, at the lock or at a pool", async () => {
  const pool = { kind: "pool", pool: { pattern: "etl/*" }, waitsHere: true, ahead: 1, permitsAhead: 2 };
  const explanations = [
    [pool],
    [{ ...pool, waitsHere: false }],
    [
      { ...pool, waitsHere: false },
      { kind: "queued", ahead: 5, permitsAhead: 6, first: [] },
    ],
  ];
  const { onWaiting } = stage(async () => ({ summary: "s", causes: explanations.shift() }) as never);
  await vi.advanceTimersByTimeAsync(130_000);
  expect(onWaiting.mock.calls.map(([{ place }]) => [place.ahead, place.permitsAhead, place.pool])).toEqual([
    [1, 2, "etl/*"],
    [0, 0, undefined],
    [5, 6, undefined],
  ]);
});

test("a callback that throws at once is not called again, and leaves the log to others", async () => {
  const ledger = new WaitLedger();
  const thrown = new Error("it would wait for itself");
  const onWaiting = vi.fn(() => {
    throw thrown;
  });
  const own = () => [heldOf("etl")];
  expect(() => stage(() => Promise.reject(), ledger, { onWaiting, own })).toThrow(thrown);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(onWaiting).toHaveBeenCalledOnce();
  expect([vi.getTimerCount(), ledger.first.size]).toEqual([0, 0]);
});

test("of several locks it says which this client holds, and at which of them most are before it", async () => {
  const queued = { kind: "queued", permitsAhead: 1, first: [] };
  const causes = [
    { ...queued, ahead: 1, lockName: "etl" },
    { ...queued, ahead: 4, lockName: "book" },
  ];
  const [others, mine] = [heldOf("etl"), heldOf("book", "ledger", "other")];
  const { said, onWaiting } = stage(async () => ({ summary: "s", causes }) as never, undefined, {
    names: ["etl", "book", "ledger"],
    own: () => [others, mine],
    isOfAsking: (lease) => lease === mine,
  });
  const held = 'you hold "book", "ledger" yourself, since 0 s; locks are not reentrant';
  expect(said).toEqual([`Waits for the locks "etl", "book", "ledger" since 0 s: ${held}.`]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(onWaiting.mock.lastCall?.[0]).toMatchObject({ name: "etl", place: { ahead: 4, waitsFor: "book" } });
});

test("many waits for one lock ask one after the other, and only the first is in the log", async () => {
  const ledger = new WaitLedger();
  const answers: PromiseWithResolvers<WaitExplanation>[] = [];
  const explain = () => {
    const answer = Promise.withResolvers<WaitExplanation>();
    answers.push(answer);
    return answer.promise;
  };
  const [first, second] = [stage(explain, ledger), stage(explain, ledger)];
  await vi.advanceTimersByTimeAsync(10_000);
  expect(answers).toHaveLength(1);
  answers[0]?.resolve({ summary: "held", causes: [] } as unknown as WaitExplanation);
  await vi.advanceTimersByTimeAsync(0);
  expect(answers).toHaveLength(2);
  answers[1]?.resolve({ summary: "held", causes: [] } as unknown as WaitExplanation);
  await vi.advanceTimersByTimeAsync(0);
  expect([first.said.length, second.said.length]).toEqual([1, 0]);
  expect(second.onWaiting).toHaveBeenCalledOnce();
  first.notices.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  answers[2]?.resolve({ summary: "held", causes: [] } as unknown as WaitExplanation);
  await vi.advanceTimersByTimeAsync(0);
  expect([first.said.length, second.said.length]).toEqual([1, 1]);
});
