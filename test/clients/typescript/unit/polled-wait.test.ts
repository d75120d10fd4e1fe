// A wait in the queue without a stream: how often the client asks, what it reports, how the wait ends; and turns.

import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import { waitByPolling } from "../../../../clients/typescript/src/connection/polled-wait.ts";
import { Slots } from "../../../../clients/typescript/src/connection/slots.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import { EndReason, RefusalReason } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  type AcquireRequest,
  type AcquireResponse,
  AcquireResponseSchema,
  WaitInQueueRequestSchema,
} from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";

// The client pauses with node:timers/promises; this mock turns its pauses into plain timers, which fake timers
// control.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number, _: undefined, { signal }: { signal: AbortSignal }) =>
    new Promise<void>((resolve, reject) => {
      setTimeout(resolve, ms);
      signal.addEventListener("abort", () => reject(signal.reason));
    }),
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const ticket = (ahead: number, more = {}) =>
  create(AcquireResponseSchema, { outcome: { case: "ticket", value: { ticketId: "t", ahead, ...more } } });

function stage({ intervalMs = 0, count = 1, first = ticket(1) } = {}) {
  const clock = new Clock(() => performance.now());
  const beginMs = clock.now();
  const asked: { readonly atMs: number; readonly request: AcquireRequest }[] = [];
  const state = { answer: first as AcquireResponse };
  const moves: [number, number | undefined][] = [];
  const giveUp = new AbortController();
  const wait = create(WaitInQueueRequestSchema, {
    target: {
      case: "request",
      value: {
        ...{ name: "etl", requestId: "r", terms: { owner: "me" }, maxWait: durationOf(60_000) },
        spendOnly: true,
        also: [{ name: "book", permits: 2 }],
      },
    },
    ...(intervalMs > 0 && { minUpdateInterval: durationOf(intervalMs) }),
  });
  const end = waitByPolling(wait, {
    clock,
    acquire: async (request) => {
      asked.push({ atMs: clock.now() - beginMs, request });
      return state.answer;
    },
    count: () => count,
    signal: giveUp.signal,
    moved: ({ update }, basisMs) =>
      moves.push([basisMs - beginMs, update.case === "position" ? update.value.ahead : undefined]),
  });
  end.catch(() => {});
  return { asked, state, moves, giveUp, end, beginMs, times: () => asked.map(({ atMs }) => atMs) };
}

describe("a polled wait", () => {
  test.each([
    ["as often as places are wanted", { intervalMs: 250 }, 250],
    ["ten times a second at the most", { intervalMs: 10 }, 100],
    ["each second at the least", { intervalMs: 3_600_000 }, 1_000],
    [
      "less often where many wait",
      { count: 1_500, first: ticket(1, { keptFor: durationOf(60_000) }) },
      3_000,
    ],
    ["each second where many wait and nobody says for how long places are kept", { count: 1_500 }, 1_000],
    ["four times while the place is kept", { first: ticket(1, { keptFor: durationOf(2_000) }) }, 500],
    [
      "so often also where many wait",
      { count: 1_500, first: ticket(1, { keptFor: durationOf(6_000) }) },
      1_500,
    ],
  ] as const)("asks %s", async (_, options, everyMs) => {
    const { times } = stage(options);
    await pass(everyMs * 2);
    expect(times()).toEqual([0, everyMs, everyMs * 2]);
  });

  test("reports a place when it has moved, and not more often than requested", async () => {
    const { state, moves } = stage({ intervalMs: 1_500, first: ticket(3) });
    await pass(999);
    state.answer = ticket(2);
    await pass(1_001);
    expect(moves).toEqual([
      [0, 3],
      [2_000, 2],
    ]);
    await pass(10_000);
    expect(moves).toHaveLength(2);
    state.answer = ticket(2, { permitsAhead: 5n });
    await pass(1_000);
    expect(moves).toHaveLength(3);
    state.answer = ticket(2, { permitsAhead: 5n, waitsFor: "book" });
    await pass(2_000);
    expect(moves).toHaveLength(4);
  });

  test("ends with the grant, counted from the request", async () => {
    const { state, end, beginMs, asked } = stage();
    await pass(500);
    state.answer = create(AcquireResponseSchema, { outcome: { case: "lease", value: { leaseId: "a" } } });
    await pass(500);
    const { response, basisMs } = await end;
    expect(response.update).toMatchObject({ case: "granted", value: { leaseId: "a" } });
    expect(basisMs - beginMs).toBe(1_000);
    await pass(5_000);
    expect(asked).toHaveLength(2);
  });

  test.each([
    { case: "refusal", value: { reason: RefusalReason.QUEUE_FULL } },
    { case: "ended", value: { reason: EndReason.TIMED_OUT } },
    { case: "spent", value: { fencingToken: 7n } },
  ] as const)("ends with what is no grant: $case", async (outcome) => {
    const { end, asked } = stage({ first: create(AcquireResponseSchema, { outcome }) });
    expect((await end).response.update).toMatchObject(outcome);
    expect(asked[0]?.request).toMatchObject({ spendOnly: true, also: [{ name: "book", permits: 2 }] });
  });
});

describe("turns", () => {
  test("let a bounded number work at once, and the others in order of arrival, even after one has failed", async () => {
    const turns = new Slots(2);
    const begun: string[] = [];
    const works = new Map<string, PromiseWithResolvers<string>>();
    const run = (name: string) =>
      turns.run(() => {
        begun.push(name);
        const work = Promise.withResolvers<string>();
        works.set(name, work);
        return work.promise;
      });
    const all = ["a", "b", "c", "d"].map(run);
    await pass(0);
    expect(begun).toEqual(["a", "b"]);
    works.get("a")?.reject(new Error("broken"));
    await expect(all[0]).rejects.toThrow("broken");
    await pass(0);
    expect(begun).toEqual(["a", "b", "c"]);
    for (const name of ["b", "c"]) works.get(name)?.resolve(name);
    await pass(0);
    works.get("d")?.resolve("d");
    expect(await Promise.all(all.slice(1))).toEqual(["b", "c", "d"]);
    const last = ["e", "f", "g"].map(run);
    await pass(0);
    expect(begun.slice(4)).toEqual(["e", "f"]);
    for (const name of ["e", "f"]) works.get(name)?.resolve(name);
    await pass(0);
    works.get("g")?.resolve("g");
    expect(await Promise.all(last)).toEqual(["e", "f", "g"]);
  });
});
