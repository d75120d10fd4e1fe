// Attacks by messages: as large as the server takes, one byte larger, and such as never become complete.

import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import {
  callFrame,
  callHeaders,
  dataFrames,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  grpcMessage,
  hpack,
  type RawConnection,
} from "../../support/http2-frames.ts";
import { type Attack, atOnce, type Target } from "../target.ts";

/** The default of ROWLOCK_RECEIVE_BYTES_MAX. */
const BYTES_MAX = 65_536;
const CONNECTIONS = 30;
const EVERY_MS = 100;
const REST_MS = 100;
/** Calls whose messages never become complete, of as many connections, and what is sent of each. */
const UNFINISHED = 90;
const UNFINISHED_CONNECTIONS = 67;
/** Less than half of a window, so that the server always makes room for the next one. */
const UNFINISHED_BYTES = 30_000;
const PARTS = 100;

/** A message of so many bytes in an unknown field, with which it is still valid. */
function padded(bytes: number): Buffer {
  // Field 1,000 as bytes: its key takes 2 bytes, and its length 3.
  const head = Buffer.from([0xc2, 0x3e, 0, 0, 0]);
  const length = bytes - head.length;
  head[2] = (length & 0x7f) | 0x80;
  head[3] = ((length >> 7) & 0x7f) | 0x80;
  head[4] = length >> 14;
  return Buffer.concat([head, Buffer.alloc(length)]);
}

/** A call a time on each of many connections, as soon as the one before it was answered. */
async function calls(target: Target, callOf: (stream: number) => Buffer): Promise<void> {
  const attack = atOnce(CONNECTIONS, () => {
    const streams = new WeakMap<RawConnection, number>();
    return target.again(async (connection) => {
      const stream = streams.get(connection) ?? 1;
      streams.set(connection, stream + 2);
      await connection.send(callOf(stream));
      await sleep(EVERY_MS);
    }, REST_MS);
  });
  target.begun();
  await attack;
}

const ofBytes = (bytes: number): Attack => {
  const message = grpcMessage(padded(bytes));
  return (target) =>
    calls(target, (stream) =>
      Buffer.concat([callFrame(stream, "GetLock"), dataFrames(stream, message, END_STREAM)]),
    );
};

/** Opens calls on many connections and sends these frames, as fast as the server takes them. */
async function unfinished(target: Target, partsOf: (stream: number) => Buffer, bytes: number): Promise<void> {
  let left = UNFINISHED_CONNECTIONS;
  await atOnce(UNFINISHED_CONNECTIONS, async () => {
    const connection = target.connect();
    for (let index = 0; index < UNFINISHED && connection.isOpen; index++)
      await connection.sendData(partsOf(1 + 2 * index), bytes);
    left -= 1;
    if (left === 0) target.begun();
  });
}

function gzipped(target: Target): Promise<void> {
  const bomb = gzipSync(Buffer.alloc(16 * 2 ** 20));
  const headers = [...callHeaders("/rowlock.v1.LockService/GetLock"), ["grpc-encoding", "gzip"] as const];
  return calls(target, (stream) => {
    const data = dataFrames(stream, grpcMessage(bomb, { isCompressed: true }), END_STREAM);
    return Buffer.concat([frame(FRAME.headers, stream, hpack(headers), END_HEADERS), data]);
  });
}

export const MESSAGES: Readonly<Record<string, Attack>> = {
  "messages at the limit": ofBytes(BYTES_MAX),
  "messages above the limit": ofBytes(BYTES_MAX + 1),
  "messages that inflate": gzipped,
  "messages without an end": (target) => {
    const most = grpcMessage(Buffer.alloc(UNFINISHED_BYTES), { length: BYTES_MAX });
    return unfinished(
      target,
      (stream) => Buffer.concat([callFrame(stream, "GetLock"), dataFrames(stream, most)]),
      most.length,
    );
  },
  "messages in parts of a byte": (target) => {
    const head = grpcMessage(Buffer.alloc(0), { length: BYTES_MAX });
    const parts = (stream: number) =>
      Array.from({ length: PARTS }, () => dataFrames(stream, Buffer.alloc(1)));
    return unfinished(
      target,
      (stream) => Buffer.concat([callFrame(stream, "GetLock"), dataFrames(stream, head), ...parts(stream)]),
      head.length + PARTS,
    );
  },
  "calls without a message": (target) => unfinished(target, (stream) => callFrame(stream, "GetLock"), 0),
};
