// How calls on one connection affect each other: the server refuses waits beyond their bound without locking anybody
// out, and a client that cancels calls keeps its connection unless it does nothing else.

import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { connect, constants } from "node:http2";
import type { Socket } from "node:net";
import { connect as connectSocket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { RESETS_BURST_SHARE, SHORT_CALLS_MAX } from "../../server/grpc/grpc-bounds.ts";
import { selfSignedCertificate } from "../process/certificate.ts";
import type { TestServer } from "../support/harness.ts";
import { startServer, until } from "../support/harness.ts";
import { NO_BOUND } from "../support/no-bound.ts";
import { TestCalls } from "../support/test-calls.ts";

const WAITS_MAX = 20;
const TOO_MANY = {
  code: "RESOURCE_EXHAUSTED",
  reason: "OVERLOADED",
  metadata: { bound: "waits_on_connection" },
  retryAfterMs: 1_000,
};

const acquire = (name: string, requestId = "") => ({
  target: { case: "acquire" as const, value: { name, requestId } },
});

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

async function waiting(): Promise<number | undefined> {
  return (await server.client.call("getLock", { name: "busy" })).lock?.waiting;
}

describe("waits on one connection", () => {
  test("are refused beyond their bound, with a reason and without a trace", async () => {
    const client = await start(WAITS_MAX);
    const streams = Array.from({ length: WAITS_MAX }, () => client.wait(acquire("busy")));
    for (const stream of streams) await stream.position();
    expect(await client.wait(acquire("busy")).failure()).toMatchObject(TOO_MANY);
    const blocked = client.call("acquire", { name: "free", whenBusy: WhenBusy.WAIT });
    await expect(blocked).rejects.toMatchObject(TOO_MANY);
    expect(await waiting()).toBe(WAITS_MAX);
  });

  test("never lock out the holder, however many are requested at once", async () => {
    const client = await start(WAITS_MAX);
    const outcomes = Array.from({ length: 5 * WAITS_MAX }, async (_, index) => {
      if (index % 2 === 0) return await client.wait(acquire("busy")).granted();
      const { outcome } = await client.call("acquire", { name: "busy", whenBusy: WhenBusy.WAIT });
      return outcome.value;
    }).map((outcome) => outcome.catch((failure: RowlockError) => failure));
    let refused = 0;
    for (const outcome of outcomes) void outcome.then((one) => one instanceof Error && ++refused);
    await until(() => refused === 4 * WAITS_MAX);
    await client.call("renew", { leaseId });
    expect(await waiting()).toBe(WAITS_MAX);
    expect(await client.call("release", { leaseId })).toMatchObject({ released: true });
    for (let turn = 1; turn <= WAITS_MAX; turn++) {
      const { holders } = (await client.call("getLock", { name: "busy" })).lock ?? {};
      expect(holders).toHaveLength(1);
      await client.call("forceRelease", {
        target: { case: "name", value: "busy" },
        reason: "the next, please",
      });
    }
    for (const outcome of await Promise.all(outcomes)) {
      if (outcome instanceof Error) expect(outcome).toMatchObject(TOO_MANY);
    }
  });

  test("leave room for others on other connections, and for another one when they end", async () => {
    const client = await start(1);
    const first = client.wait(acquire("busy"));
    await first.position();
    const elsewhere = new TestCalls(server.address);
    cleanups.push(() => elsewhere.close());
    const second = elsewhere.wait(acquire("busy"));
    await second.position();

    await client.call("release", { leaseId });
    const lease = await first.granted();
    const third = client.wait(acquire("busy"));
    await third.position();
    third.cancel();
    await until(() => server.openStreams() === 1);
    const fourth = client.wait(acquire("busy"));
    await fourth.position();
    await client.call("release", { leaseId: lease.leaseId });
    expect(await second.granted()).toMatchObject({ lockName: "busy" });
  });
});

describe("a silent connection", () => {
  const HANDSHAKE_MS = 150;
  const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

  function dial(): Socket {
    const [host, port] = server.address.split(":");
    const socket = connectSocket(Number(port), host);
    socket.on("error", () => {});
    // Discards what the server sends, so that the socket emits its end.
    socket.resume();
    cleanups.push(() => socket.destroy());
    return socket;
  }
  const hungUpOn = (socket: Socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()));

  test.each([
    ["at all", Buffer.alloc(0)],
    ["but the beginning of the preface", PREFACE.subarray(0, 10)],
    ["but the preface", PREFACE],
  ])("%s is closed, and one that speaks without a request is not", async (_what, said) => {
    server = await startServer({ grpc: { handshakeMs: HANDSHAKE_MS } });
    cleanups.push(() => server.stop());
    const polite = dial();
    let isCut = false;
    polite.once("close", () => {
      isCut = true;
    });
    polite.write(Buffer.concat([PREFACE, frame(SETTINGS, 0)]));
    const silent = dial();
    silent.write(said);
    await hungUpOn(silent);
    const later = dial();
    await hungUpOn(later);
    expect(isCut).toBe(false);
  });

  test("is closed on a TLS port, too", async () => {
    const { cert: certificate, key } = selfSignedCertificate();
    const tls = { certificate, key, clientCa: null };
    server = await startServer({ grpc: { handshakeMs: HANDSHAKE_MS, tls } });
    cleanups.push(() => server.stop());
    const silent = dial();
    await hungUpOn(silent);
    const [host, port] = server.address.split(":");
    const spoken = connectTls({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    spoken.on("error", () => {});
    spoken.resume();
    await hungUpOn(spoken);
    expect([silent.destroyed, spoken.destroyed]).toEqual([true, true]);
  });

  test("counts until then: beyond the bound of all connections new ones are closed", async () => {
    server = await startServer({ grpc: { room: { ...NO_BOUND, connections: 2 } } });
    cleanups.push(() => server.stop());
    const [first, second] = [dial(), dial()] as const;
    await Promise.all([first, second].map((socket) => once(socket, "data")));
    await hungUpOn(dial());
    first.destroy();
    let isTaken = false;
    while (!isTaken) {
      const next = dial();
      isTaken = await Promise.race([hungUpOn(next).then(() => false), once(next, "data").then(() => true)]);
    }
    expect(second.destroyed).toBe(false);
  });
});

describe("a client that cancels many calls", () => {
  /** More than Node's own limit for the resets of a connection. */
  const BURST = 2_000;
  const ROUND = 1_000;

  test("keeps its connection, and all other calls on it", async () => {
    const client = await start(1_000);
    const witness = client.wait(acquire("busy"));
    await witness.position();
    const giveUp = async (count: number) => {
      const streams = Array.from({ length: count }, () => client.wait(acquire("busy")));
      const failures = streams.map((stream) => stream.failure());
      // Not in the turn that starts the call: grpc-js does not report such a cancellation to the server.
      await new Promise(setImmediate);
      for (const stream of streams) stream.cancel();
      for (const { code } of await Promise.all(failures))
        expect(code).toMatch(/CANCELLED|RESOURCE_EXHAUSTED/);
    };
    for (const count of [BURST, ROUND]) {
      await giveUp(count);
      await client.call("renew", { leaseId });
    }
    await client.call("release", { leaseId });
    await witness.granted();
  });

  test("and replaces them at once gets some refused, and keeps its connection", async () => {
    await start(1);
    const session = raw();
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
