// How often a session sends a sign of life, with a fake channel and the test's own timers.

import { EventEmitter } from "node:events";
import { create, toBinary } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { afterEach, expect, test, vi } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";
import { SessionConnection } from "../../../clients/typescript/src/connection/session-connection.ts";
import { durationOf } from "../../../clients/typescript/src/times.ts";
import { SessionResponseSchema } from "../../../proto/gen/rowlock/v1/lock_service_pb.js";

const HEARTBEAT_MS = 1_000;

afterEach(() => void vi.useRealTimers());

/** A session whose server has answered, and the times of its requests since then. */
function openSession() {
  vi.useFakeTimers();
  const sentMs: number[] = [];
  const openedMs = Date.now();
  const stream = Object.assign(new EventEmitter(), {
    write: () => sentMs.push(Date.now() - openedMs),
    cancel() {},
  });
  const channel = { makeBidiStreamRequest: () => stream, waitForReady() {}, close() {} } as unknown as Client;
  const connection = new SessionConnection({
    address: "nowhere",
    owner: "tester",
    labels: {},
    headers: {},
    bytesMax: 1_024,
    clock: new Clock(),
    channel,
    onNews() {},
    onEnded() {},
  });
  vi.advanceTimersToNextTimer();
  expect(sentMs.splice(0)).toHaveLength(1);
  const opened = {
    messageBytesMax: 65_536,
    waitsMax: 9,
    commandsMax: 9,
    heartbeatInterval: durationOf(HEARTBEAT_MS),
  };
  const response = create(SessionResponseSchema, { opened, heard: 1n });
  stream.emit("data", Buffer.from(toBinary(SessionResponseSchema, response)));
  return { connection, sentMs };
}

test("a request follows the last one within the interval, whenever that was sent", () => {
  const { connection, sentMs } = openSession();
  vi.advanceTimersByTime(HEARTBEAT_MS / 10);
  connection.cancel(1n);
  vi.advanceTimersByTime(3.5 * HEARTBEAT_MS);
  // Here a turn ends after a millisecond.
  expect(sentMs).toEqual([100, 1_101, 2_102, 3_103]);
  connection.destroy();
  vi.advanceTimersByTime(3 * HEARTBEAT_MS);
  expect(sentMs).toHaveLength(4);
});
