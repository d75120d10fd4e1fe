// How many new calls a connection begins in a tick of the event loop, without a server.

import { afterEach, describe, expect, test, vi } from "vitest";
import { CALLS_AT_ONCE, CALLS_TURN_MS, LATE_MS } from "../../server/grpc/grpc-bounds.ts";
import { StreamTurns } from "../../server/grpc/stream-turns.ts";

afterEach(() => void vi.restoreAllMocks());

const turn = () => new Promise((resolve) => setImmediate(resolve));

function stage() {
  const begun: string[] = [];
  const time = { ms: 0, perCallMs: 0 };
  vi.spyOn(performance, "now").mockImplementation(() => time.ms);
  const turns = new StreamTurns();
  const [one, other] = [{}, {}];
  const refused: string[] = [];
  const add = (connection: object, name: string, isUrgent = false) => {
    const stream = { destroyed: false, aborted: false, on() {} };
    const begin = () => {
      begun.push(name);
      time.ms += time.perCallMs;
    };
    const refuse = () => refused.push(name);
    turns.add(connection, { stream: stream as never, begin, ...(!isUrgent && { refuse }) });
    return stream;
  };
  const flood = (count: number) => Array.from({ length: count }, (_, index) => add(one, `flood ${index}`));
  return { begun, refused, time, one, other, add, flood };
}

describe("calls of one connection", () => {
  test("begin at once if they are few, also in the next turn", async () => {
    const { begun, flood } = stage();
    flood(CALLS_AT_ONCE);
    expect(begun).toHaveLength(CALLS_AT_ONCE);
    await turn();
    flood(CALLS_AT_ONCE);
    expect(begun).toHaveLength(2 * CALLS_AT_ONCE);
  });

  test("wait for the next turn if they are many, in their order, and the first call of another one does not", async () => {
    const { begun, add, other, flood } = stage();
    flood(3 * CALLS_AT_ONCE);
    add(other, "other");
    expect(begun.slice(-2)).toEqual([`flood ${CALLS_AT_ONCE - 1}`, "other"]);
    await turn();
    expect(begun).toHaveLength(3 * CALLS_AT_ONCE + 1);
    expect(begun.at(-1)).toBe(`flood ${3 * CALLS_AT_ONCE - 1}`);
  });

  test("are dropped if they are reset before their turn", async () => {
    const { begun, flood } = stage();
    const streams = flood(10 * CALLS_AT_ONCE);
    for (const stream of streams.slice(0, -1)) stream.destroyed = true;
    await turn();
    expect(begun.slice(CALLS_AT_ONCE)).toEqual([`flood ${10 * CALLS_AT_ONCE - 1}`]);
  });
});

describe("calls that may not be refused", () => {
  test("begin before the others of their connection that wait, and at once if the turn has room", async () => {
    const { begun, add, one, flood } = stage();
    flood(3 * CALLS_AT_ONCE);
    add(one, "renew", true);
    expect(begun).not.toContain("renew");
    await turn();
    expect(begun.slice(CALLS_AT_ONCE, CALLS_AT_ONCE + 2)).toEqual(["renew", `flood ${CALLS_AT_ONCE}`]);
  });

  test("begin, however long the others have waited, which are refused then", async () => {
    const { begun, refused, add, one, time, flood } = stage();
    flood(2 * CALLS_AT_ONCE);
    time.ms += LATE_MS;
    add(one, "still queued");
    time.ms += 1;
    add(one, "refused");
    add(one, "renew", true);
    expect(refused).toEqual(["refused"]);
    await turn();
    await turn();
    expect(begun).toContain("renew");
    add(one, "acquire");
    expect(begun.slice(-2)).toEqual(["still queued", "acquire"]);
    expect(refused).toEqual(["refused"]);
  });
});

test("waiting calls of several connections take turns, for as long as a turn may last", async () => {
  const { begun, add, other, flood, time } = stage();
  flood(4 * CALLS_AT_ONCE);
  for (let index = 0; index < 4 * CALLS_AT_ONCE; index++) add(other, "other");
  begun.splice(0);
  // Each line's part of a turn takes half of it.
  time.perCallMs = CALLS_TURN_MS / CALLS_AT_ONCE / 2;
  await turn();
  const counts = () => [begun.filter((name) => name === "other").length, begun.length];
  expect(counts()).toEqual([CALLS_AT_ONCE, 2 * CALLS_AT_ONCE]);
  await turn();
  expect(counts()).toEqual([2 * CALLS_AT_ONCE, 4 * CALLS_AT_ONCE]);
  await turn();
  expect(counts()).toEqual([3 * CALLS_AT_ONCE, 6 * CALLS_AT_ONCE]);
});
