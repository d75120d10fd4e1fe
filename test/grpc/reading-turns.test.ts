// Turns in being read, with connections that only count.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CALLS_READ_AT_ONCE, READ_REST_MS } from "../../server/grpc/grpc-bounds.ts";
import { ReadingTurns } from "../../server/grpc/reading-turns.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setImmediate", "setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

test("of connections that open many calls at once, one is read in each turn; others are always read", () => {
  const said: string[] = [];
  const turns = new ReadingTurns<{ readonly name: string }>({
    stop: ({ name }) => said.push(`stop ${name}`),
    goOn: ({ name }) => said.push(`read ${name}`),
    rests: () => false,
  });
  const [a, b, quiet] = [{ name: "a" }, { name: "b" }, { name: "quiet" }];
  const opens = (connection: typeof a, calls: number) => {
    for (let call = 0; call < calls; call++) turns.opened(connection);
  };
  const turn = () => {
    vi.advanceTimersToNextTimer();
    return said.splice(0);
  };
  opens(a, CALLS_READ_AT_ONCE);
  opens(b, 3 * CALLS_READ_AT_ONCE);
  opens(quiet, CALLS_READ_AT_ONCE - 1);
  expect(said.splice(0)).toEqual(["stop a", "stop b"]);
  expect(turn()).toEqual(["read a"]);
  opens(quiet, CALLS_READ_AT_ONCE - 1);
  opens(a, CALLS_READ_AT_ONCE);
  // Behind the other one, which waits for longer.
  expect(turn()).toEqual(["stop a", "read b"]);
  expect(turn()).toEqual(["read a"]);
  turn();
  expect(vi.getTimerCount()).toBe(0);
});

test("connections of strangers rest in between, one after the other", () => {
  const said: string[] = [];
  const turns = new ReadingTurns<{ readonly name: string }>({
    stop: () => {},
    goOn: ({ name }) => said.push(name),
    rests: () => true,
  });
  for (const stranger of [{ name: "a" }, { name: "b" }])
    for (let call = 0; call < CALLS_READ_AT_ONCE; call++) turns.opened(stranger);
  vi.advanceTimersByTime(READ_REST_MS - 1);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(said).toEqual(["a"]);
  vi.advanceTimersByTime(2 * READ_REST_MS);
  expect([said, vi.getTimerCount()]).toEqual([["a", "b"], 0]);
});
