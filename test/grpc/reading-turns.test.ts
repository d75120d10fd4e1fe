// Turns in being read, with connections that only count.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CALLS_READ_AT_ONCE, READ_REST_MS } from "../../server/grpc/grpc-bounds.ts";
import { type HowItGoesOn, ReadingTurns } from "../../server/grpc/reading-turns.ts";

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ["setImmediate", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
    }),
);
afterEach(() => void vi.useRealTimers());

test("of connections that open many calls at once, one is read in each turn; others are always read", () => {
  const said: string[] = [];
  const turns = new ReadingTurns<{ readonly name: string }>({
    stop: ({ name }) => said.push(`stop ${name}`),
    goOn: ({ name }) => {
      said.push(`read ${name}`);
      return "reads";
    },
    rests: () => false,
    addressOf: () => "",
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

describe("connections of strangers", () => {
  interface Stranger {
    readonly name: string;
    readonly address: string;
    how?: HowItGoesOn;
  }

  function resting(strangers: readonly Stranger[], rests = true): string[] {
    const said: string[] = [];
    const turns = new ReadingTurns<Stranger>({
      stop: () => {},
      goOn({ name, how = "reads" }) {
        if (how !== "waits") said.push(name);
        return how;
      },
      rests: () => rests,
      addressOf: ({ address }) => address,
    });
    for (const stranger of strangers)
      for (let call = 0; call < CALLS_READ_AT_ONCE; call++) turns.opened(stranger);
    return said;
  }

  test("rest in between, one after the other", () => {
    const said = resting(["a", "b"].map((name) => ({ name, address: "10.0.0.1" })));
    vi.advanceTimersByTime(READ_REST_MS - 1);
    expect(said).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(said).toEqual(["a"]);
    vi.advanceTimersByTime(2 * READ_REST_MS);
    expect([said, vi.getTimerCount()]).toEqual([["a", "b"], 0]);
  });

  test("wait for one of another address at a time, and for none that is gone", () => {
    const many = Array.from({ length: 100 }, (_, index): Stranger => {
      return { name: `many/${index}`, address: "10.0.0.1", ...(index < 98 && { how: "gone" as const }) };
    });
    const said = resting([...many, { name: "one", address: "10.0.0.2" }]);
    vi.advanceTimersByTime(2 * READ_REST_MS);
    expect(said.slice(98)).toEqual(["many/98", "one"]);
  });

  test.each([true, false])("that read no answers are not read, however they are stopped (%s)", (rests) => {
    const unread: Stranger = { name: "unread", address: "10.0.0.1", how: "waits" };
    const said = resting([unread, { name: "other", address: "10.0.0.1" }], rests);
    vi.advanceTimersByTime(10 * READ_REST_MS);
    expect(said).toEqual(["other"]);
    unread.how = "reads";
    vi.advanceTimersByTime(READ_REST_MS);
    expect([said, vi.getTimerCount()]).toEqual([["other", "unread"], 0]);
  });
});
