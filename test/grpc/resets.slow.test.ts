// A client that cancels many calls keeps its connection, unless it does nothing else.

import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { connect, constants } from "node:http2";
import type { Socket } from "node:net";
import { connect as connectSocket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { RESETS_BURST_SHARE, SHORT_CALLS_MAX } from "../../server/grpc/grpc-bounds.ts";
import type { TestServer } from "../support/harness.ts";
import { startServer, until } from "../support/harness.ts";
import type { TestCalls } from "../support/test-calls.ts";

const BUSY = { target: { case: "request" as const, value: { name: "busy" } } };

let server: TestServer;
let leaseId: string;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Starts a server whose lock `busy` is held. */
async function start(streamsMax: number): Promise<TestCalls> {
  server = await startServer({ grpc: { streamsMax } });
  cleanups.push(() => server.stop());
  ({ leaseId } = await server.client.lease({ name: "busy" }));
  return server.client;
}

describe("a client that cancels many calls", () => {
  /** More than Node's own limit for the resets of a connection. */
  const BURST = 2_000;
  const ROUND = 1_000;

  test("keeps its connection, and all other calls on it", async () => {
    const client = await start(1_000);
    const witness = client.wait(BUSY);
    await witness.position();
    const giveUp = async (count: number) => {
      const streams = Array.from({ length: count }, () => client.wait(BUSY));
      const failures = streams.map((stream) => stream.failure());
      // Not in the turn that starts the call: grpc-js does not report such a cancellation to the server.
      await new Promise(setImmediate);
      for (const stream of streams) stream.cancel();
      for (const { code } of await Promise.all(failures))
        expect(code).toMatch(/CANCELLED|RESOURCE_EXHAUSTED/);
    };
    for (const count of [BURST, ROUND]) {
      await giveUp(count);
      // A slow server has not seen all of the cancellations yet.
      await until(() => server.openStreams() === 1);
      await client.call("renew", { leaseId });
    }
    await client.call("release", { leaseId });
    await witness.granted();
  });

  test("and replaces them at once gets some refused, and keeps its connection", async () => {
    await start(1);
    const session = raw();
    // From then on it may have as many calls open as it likes.
    const call = open(session, "/rowlock.v1.LockService/GetLock");
    call.end(Buffer.alloc(5));
    await Promise.all([closed(call), once(session, "remoteSettings")]);
    const given = Array.from({ length: SHORT_CALLS_MAX }, () => open(session));
    // Answered at once, after the server has seen everything sent before.
    expect(await closed(open(session, "/nothing"))).toBe(constants.NGHTTP2_NO_ERROR);
    // Fewer than are cancelled, so that the last call finds room, and all within one read of the server.
    for (let index = 0; index < ROUND - 100; index++) open(session);
    for (const stream of given.slice(0, ROUND)) stream.close(constants.NGHTTP2_CANCEL);
    let code: number | undefined;
    do code = await closed(open(session, "/nothing"));
    while (code === constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(code).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("is disconnected if it goes on and on", async () => {
    await start(1);
    const allowed = RESETS_BURST_SHARE * SHORT_CALLS_MAX;
    const [host, port] = server.address.split(":");
    const socket = connectSocket(Number(port), host);
    cleanups.push(() => socket.destroy());
    // Resets one call repeatedly: the server counts the frames it receives, and receives them faster than any client
    // starts calls.
    const resets = (count: number) =>
      Array<Buffer>(count).fill(frame(RST_STREAM, 1, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])));
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const call = frame(HEADERS, 1, REQUEST, END_HEADERS);
    const ping = frame(PING, 0, Buffer.alloc(8));
    socket.write(Buffer.concat([preface, frame(SETTINGS, 0), call, ...resets(allowed), ping]));
    let answers = 0;
    for await (const { type, flags } of frames(socket)) {
      if (type !== PING || flags !== ACK) continue;
      answers += 1;
      if (answers === 1) socket.write(Buffer.concat([...resets(2 * allowed), ping]));
    }
    expect(answers).toBe(1);
  });
});

// HTTP/2 frame types and flags.
const [HEADERS, RST_STREAM, SETTINGS, PING] = [1, 3, 4, 6] as const;
const [ACK, END_HEADERS] = [1, 4] as const;
const FRAME_HEAD_BYTES = 9;
/** POST http / to the authority `a`. */
const REQUEST = Buffer.from([0x83, 0x86, 0x84, 0x41, 0x01, 0x61]);

function frame(type: number, stream: number, payload = Buffer.alloc(0), flags = 0): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The frames that the server sends until the connection closes. */
async function* frames(socket: Socket): AsyncGenerator<{ type: number; flags: number }> {
  let bytes = Buffer.alloc(0);
  try {
    for await (const chunk of socket) {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= FRAME_HEAD_BYTES) {
        const end = FRAME_HEAD_BYTES + bytes.readUIntBE(0, 3);
        if (bytes.length < end) break;
        yield { type: bytes.readUInt8(3), flags: bytes.readUInt8(4) };
        bytes = bytes.subarray(end);
      }
    }
  } catch (error) {
    // When the server hangs up while the client is still sending, the connection is reset.
    expect((error as NodeJS.ErrnoException).code).toMatch(/ECONNRESET|EPIPE/);
  }
}

/** A client that does what the test says and enforces no bounds of its own. */
function raw(): ClientHttp2Session {
  const session = connect(`http://${server.address}`);
  session.on("error", () => {});
  cleanups.push(() => session.destroy());
  return session;
}

/** Opens a call whose message has not been sent yet. */
function open(session: ClientHttp2Session, path = "/rowlock.v1.LockService/WaitInQueue"): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  stream.resume();
  return stream;
}

/** The HTTP/2 code that the stream was closed with. */
function closed(stream: ClientHttp2Stream): Promise<number | undefined> {
  return new Promise((resolve) => stream.once("close", () => resolve(stream.rstCode)));
}
