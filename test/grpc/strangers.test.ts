// Calls whose callers are not known, over real connections: what is refused by headers alone, which connections end, and
// that honest clients do not notice.

import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { Access } from "../../server/access/access.ts";
import { hashOf } from "../../server/access/tokens-file.ts";
import { FAILED_CALLS, UNKNOWN_STREAMS_MAX } from "../../server/grpc/grpc-bounds.ts";
import { clientOfTest, serverOfTest, type TestServer, until } from "../support/harness.ts";
import { callHeaders, grpcMessage, hello } from "../support/http2-frames.ts";
import { queued, TestCalls } from "../support/test-calls.ts";

const TOKEN = "rowlock_right";
const gate = () => new Access({ tokens: new Map([[hashOf(TOKEN), "token:honest"]]) });

let server: TestServer;

async function start(options: Parameters<typeof serverOfTest>[0] = {}): Promise<void> {
  server = await serverOfTest(options);
}

function calls(token: () => string): TestCalls {
  const headers = () => ({ authorization: `Bearer ${token()}` });
  const channel = { "grpc.use_local_subchannel_pool": 1 };
  return clientOfTest(new TestCalls(server.address, { headers, channel }));
}

/** The answer to the headers of a call, of which nothing else comes. */
function answerToHeaders(path: string, more: Record<string, string> = {}): Promise<IncomingHttpHeaders> {
  const session = connectHttp2(`http://${server.address}`);
  onTestFinished(() => session.destroy());
  const stream = session.request({ ...Object.fromEntries(callHeaders(path)), ...more });
  const closed = new Promise((resolve) => stream.once("close", resolve));
  return new Promise((resolve, reject) => {
    stream.once("response", (headers) => void closed.then(() => resolve(headers)));
    stream.once("error", reject);
    stream.resume();
  });
}

describe("by its headers alone, a call is answered, and its stream closed,", () => {
  test.each(["Acquire", "Renew", "Session", "GetLock"])(
    "without credentials where they are wanted: %s",
    async (method) => {
      await start({ grpc: { gate: gate() } });
      const answer = await answerToHeaders(`/rowlock.v1.LockService/${method}`);
      expect(answer).toMatchObject({ "grpc-status": "16", "grpc-status-details-bin": expect.any(String) });
      expect(server.calls.filter(({ code }) => code !== "UNAUTHENTICATED")).toEqual([]);
    },
  );

  test.each(["Acquire", "Renew", "Session"])("with headers that are too large: %s", async (method) => {
    await start({ grpc: { headerBytesMax: 4_096 } });
    const path = `/rowlock.v1.LockService/${method}`;
    expect(await answerToHeaders(path, { "x-large": "a".repeat(4_000) })).toMatchObject({
      "grpc-status": "8",
      "grpc-message": expect.stringContaining("ROWLOCK_HEADER_BYTES_MAX"),
    });
  });

  test("to a method that does not exist", async () => {
    await start();
    expect(await answerToHeaders("/rowlock.v1.LockService/Nothing")).toMatchObject({ "grpc-status": "12" });
  });
});

test("a client without credentials learns the reason, also over its own library", async () => {
  await start({ grpc: { gate: gate() } });
  const missing = { code: "UNAUTHENTICATED", reason: "CREDENTIALS_MISSING" };
  await expect(server.client.call("acquire", { name: "any" })).rejects.toMatchObject(missing);
  expect(await server.client.wait(queued({ name: "any" })).failure()).toMatchObject(missing);
});

test("a client that comes back with a thousand waits at once gets a place for each", async () => {
  await start({ grpc: { gate: gate() } });
  const holder = calls(() => TOKEN);
  await holder.lease({ name: "busy" });
  const back = calls(() => TOKEN);
  const placed = async (): Promise<void> => {
    for (;;) {
      try {
        await back.wait(queued({ name: "busy" })).position();
        return;
      } catch (error) {
        // A slow machine is late with so many, and says when to come back, as Rowlock's clients do.
        expect(error).toMatchObject({ reason: "OVERLOADED", metadata: { bound: "calls_on_connection" } });
        await sleep((error as RowlockError).retryAfterMs ?? 0);
      }
    }
  };
  await Promise.all(Array.from({ length: 10 * UNKNOWN_STREAMS_MAX }, placed));
  expect(server.openStreams()).toBe(10 * UNKNOWN_STREAMS_MAX);
});

test("a client whose token is wrong loses its connection in the end, and goes on with the right one", async () => {
  await start({ grpc: { gate: gate() } });
  let token = "rowlock_wrong";
  const client = calls(() => token);
  for (let round = 0; round < 3; round++) {
    const outcomes = await Promise.allSettled(
      Array.from({ length: FAILED_CALLS.unknown.most }, () => client.call("getLock", { name: "any" })),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "UNAUTHENTICATED" } });
  }
  token = TOKEN;
  await client.lease({ name: "any" });
});

test("of a connection with known callers that is ended, calls under way are answered, and others can be repeated", async () => {
  await start({ grpc: { gate: gate() } });
  const session = connectHttp2(`http://${server.address}`);
  onTestFinished(() => session.destroy());
  const isEnded = new Promise((resolve) => session.once("goaway", resolve));
  const begin = (token: string) => {
    const headers = Object.fromEntries(callHeaders("/rowlock.v1.LockService/ListLocks"));
    const stream = session.request({ ...headers, authorization: `Bearer ${token}` });
    const outcome = new Promise<string>((resolve) => {
      for (const event of ["response", "trailers"])
        stream.once(event, (came) => came["grpc-status"] && resolve(`status ${came["grpc-status"]}`));
      stream.once("close", () => resolve(`reset ${stream.rstCode}`));
    });
    stream.on("error", () => {}).resume();
    return { outcome, end: () => stream.end(grpcMessage(Buffer.alloc(0))) };
  };
  const call = (token: string) => {
    const { outcome, end } = begin(token);
    end();
    return outcome;
  };
  expect(await call(TOKEN)).toBe("status 0");
  const underWay = begin(TOKEN);
  const wrong = Array.from({ length: 3 * FAILED_CALLS.known.most }, () => call("rowlock_wrong"));
  await isEnded;
  underWay.end();
  expect(await underWay.outcome).toBe("status 0");
  // 7: REFUSED_STREAM, which says that nothing was done.
  for (const outcome of await Promise.all(wrong)) expect(["status 16", "reset 7"]).toContain(outcome);
});

describe("connections of one address", () => {
  const closes = async (first: Uint8Array = hello()) => {
    const [host = "", port] = server.address.split(":");
    const socket = connect(Number(port), host);
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).resume();
    socket.write(first);
    return await new Promise<boolean>((resolve) => {
      socket.once("close", () => resolve(true));
      // What the server says first.
      socket.once("data", () => resolve(false));
    });
  };

  test("beyond the bound are closed as they open", async () => {
    await start({ grpc: { addressConnectionsMax: 2 } });
    expect([await closes(), await closes(), await closes()]).toEqual([false, false, true]);
  });

  test("that come faster than the rate are closed", async () => {
    await start({ grpc: { addressConnectionsPerSecond: 1 } });
    const closed: boolean[] = [];
    for (let index = 0; index < 12; index++) closed.push(await closes());
    expect(closed.slice(0, 10)).toEqual(Array(10).fill(false));
    expect(closed.at(-1)).toBe(true);
  });

  test("behind a proxy are those of its clients, and a call of theirs is served", async () => {
    const proxyAddresses = [{ address: "127.0.0.1", prefix: 32, family: "ipv4" as const }];
    await start({ grpc: { addressConnectionsMax: 1, proxyAddresses } });
    const by = (client: string) => Buffer.from(`PROXY TCP4 ${client} 10.0.0.1 4711 50051\r\n`);
    const saidHello = (client: string) => closes(Buffer.concat([by(client), hello()]));
    expect([
      await saidHello("192.0.2.1"),
      await saidHello("192.0.2.2"),
      await saidHello("192.0.2.1"),
    ]).toEqual([false, false, true]);
    expect(await closes()).toBe(true);

    const [host = "", port] = server.address.split(":");
    const socket = connect(Number(port), host);
    onTestFinished(() => void socket.destroy());
    // In two parts, as a slow proxy sends it.
    socket.write(by("192.0.2.3").subarray(0, 9));
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(by("192.0.2.3").subarray(9));
    const session = connectHttp2("http://any", { createConnection: () => socket });
    const stream = session.request(Object.fromEntries(callHeaders("/rowlock.v1.LockService/ListLocks")));
    stream.end(grpcMessage(Buffer.alloc(0)));
    let trailers: IncomingHttpHeaders | undefined;
    stream.once("trailers", (came) => {
      trailers = came;
    });
    stream.resume();
    await until(() => trailers !== undefined);
    expect(trailers).toMatchObject({ "grpc-status": "0" });
  });
});
