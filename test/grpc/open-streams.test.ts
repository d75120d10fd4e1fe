// The room of open calls and their headers, without a transport.

import { describe, expect, test } from "vitest";
import { HEADER_TIMES, STREAM_BYTES } from "../../server/grpc/grpc-bounds.ts";
import { OpenStreams } from "../../server/grpc/open-streams.ts";

const MANY = { streamBytes: 1_000 * STREAM_BYTES, pendingStreamBytes: 10 * STREAM_BYTES };
const [greedy, modest] = [{}, {}];

test("calls whose requests have not arrived are bounded together: the connection with the most of them loses its oldest", () => {
  const streams = new OpenStreams(MANY);
  const evicted: string[] = [];
  const enter = (connection: object, name: string, bytes = 0) =>
    streams.enter(connection, bytes, false, () => evicted.push(name));
  enter(modest, "modest");
  for (let index = 0; index < 12; index++) enter(greedy, `greedy/${index}`);
  expect(evicted).toEqual(["greedy/0", "greedy/1", "greedy/2"]);
  // One with large headers takes the place of several.
  enter(greedy, "large", (2 * STREAM_BYTES) / HEADER_TIMES);
  expect(evicted.slice(3)).toEqual(["greedy/3", "greedy/4", "greedy/5"]);
});

describe("when open calls take most of the room", () => {
  /** Arrived calls of connections with 30 each, until there is room for so many more. */
  function full(left: number): OpenStreams {
    const streams = new OpenStreams(MANY);
    for (let index = 0; index < 1_000 - left; index++) {
      const stream = streams.enter(index < 700 ? greedy : modest, 0, true, () => {});
      if (stream) streams.arrived(stream);
    }
    return streams;
  }

  test("a connection with many gets no more, another one does, and renewals have room", () => {
    const streams = full(200);
    const enter = (connection: object, isUrgent: boolean) =>
      streams.enter(connection, 0, isUrgent, () => {}) !== null;
    expect([enter(greedy, false), enter({}, false), enter(greedy, true)]).toEqual([false, true, true]);
  });

  test("nobody gets more than there is", () => {
    const streams = full(1);
    const evict = () => {};
    expect(streams.enter({}, 0, true, evict)).not.toBe(null);
    expect(streams.enter({}, 0, true, evict)).toBe(null);
  });
});
