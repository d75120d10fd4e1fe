// From when the client counts the news of a session: from its last request that the server had heard.

import { EventEmitter } from "node:events";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { afterEach, expect, test, vi } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";
import { SessionConnection } from "../../../clients/typescript/src/connection/session-connection.ts";
import { SessionResponseSchema } from "../../../proto/gen/rowlock/v1/lock_service_pb.js";

afterEach(() => void vi.useRealTimers());

test("a response counts from the last request that the server had received, and no later one", () => {
  vi.useFakeTimers();
  const stream = Object.assign(new EventEmitter(), { write() {}, cancel() {} });
  const channel = { makeBidiStreamRequest: () => stream, waitForReady() {}, close() {} };
  const clock = new Clock(() => performance.now());
  const madeMs = clock.now();
  const counted: number[] = [];
  const connection = new SessionConnection({
    address: "nowhere",
    owner: "tester",
    labels: {},
    headers: {},
    bytesMax: 1_024,
    clock,
    channel: channel as unknown as Client,
    onNews: (_, basisMs) => counted.push(Math.round(basisMs - madeMs)),
    onEnded() {},
  });
  const respond = (response: MessageInitShape<typeof SessionResponseSchema>) =>
    stream.emit(
      "data",
      Buffer.from(toBinary(SessionResponseSchema, create(SessionResponseSchema, response))),
    );
  // The client sends the first request at the end of the first turn, and then one every 100 ms.
  for (let request = 1; request <= 4; request++) {
    vi.advanceTimersByTime(100);
    connection.cancel(BigInt(request));
  }
  vi.advanceTimersByTime(100);
  respond({ opened: { messageBytesMax: 65_536 } });
  for (const heard of [1n, 2n, 2n, 4n, 5n, 9n]) respond({ heard });
  const [before, ...sent] = counted as [number, ...number[]];
  expect(before).toBe(0);
  expect(sent.map((ms) => Math.round(ms / 100))).toEqual([0, 1, 1, 3, 4, 4]);
  connection.destroy();
});
