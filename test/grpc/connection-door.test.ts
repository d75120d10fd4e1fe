// Which connections a listener takes, with connections of the loopback that say nothing but a header of the PROXY protocol.

import { once } from "node:events";
import { type AddressInfo, BlockList, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { ConnectionDoor } from "../../server/grpc/connection-door.ts";
import { SPACED_FOR_MS, SPACED_MS, WASTED_CONNECTIONS } from "../../server/grpc/grpc-bounds.ts";
import type { Listener } from "../../server/grpc/transport-limits.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function stage(isBehindProxy = false) {
  let nowMs = 1_000_000;
  const closed = vi.fn((_peer: string) => false);
  const proxies = new BlockList();
  proxies.addAddress("127.0.0.1");
  const listener = createServer();
  const door = new ConnectionDoor({
    bounds: { openMax: 100, rate: { most: Number.POSITIVE_INFINITY, spanMs: 1_000 } },
    proxies: isBehindProxy ? proxies : undefined,
    closed,
    nowMs: () => nowMs,
  });
  door.guard(listener as unknown as Listener);
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  cleanups.push(() => listener.close());
  /** What was read of each connection before it began. */
  const readBefore: number[] = [];
  listener.on("connection", (socket) => {
    readBefore.push(socket.bytesRead);
    socket.on("error", () => {}).resume();
  });
  /** Opens and closes a connection, and resolves when the server has seen both. */
  const come = async (first: readonly Uint8Array[] = []) => {
    const closes = closed.mock.calls.length;
    const socket = connect((listener.address() as AddressInfo).port, "127.0.0.1");
    const [taken] = await Promise.all([once(listener, "connection"), send(socket, first)]);
    socket.end();
    await vi.waitUntil(() => closed.mock.calls.length > closes, { interval: 1 });
    return taken[0] as Socket;
  };
  return { come, closed, readBefore, pass: (ms: number) => (nowMs += ms) };
}

async function send(socket: Socket, parts: readonly Uint8Array[]): Promise<void> {
  socket.setNoDelay();
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("probes and health checks of one node, four a second, are never put off", async () => {
  const { come, pass } = await stage();
  const beganMs = performance.now();
  for (let half = 0; half < 2 * 60; half++) {
    await come();
    await come();
    pass(500);
  }
  // Every second one would wait.
  expect(performance.now() - beganMs).toBeLessThan(60 * SPACED_MS);
});

test("an address that opens connections for nothing opens few, until it has rested", async () => {
  const { come, readBefore, pass } = await stage();
  const tookMs = async () => {
    const askedMs = performance.now();
    await come();
    return performance.now() - askedMs;
  };
  for (let wasted = 0; wasted <= WASTED_CONNECTIONS.most; wasted++) await come();
  await come();
  expect(await tookMs()).toBeGreaterThanOrEqual(SPACED_MS - 1);
  // HTTP/2 would take all of it at once.
  await come([Buffer.alloc(100_000)]);
  expect(readBefore.filter((bytes) => bytes > 0)).toEqual([]);
  pass(SPACED_FOR_MS);
  expect(Math.min(await tookMs(), await tookMs(), await tookMs())).toBeLessThan(SPACED_MS);
});

test.each([
  ["version 1", Buffer.from("PROXY UNKNOWN\r\n")],
  ["version 2", Buffer.from("0d0a0d0a000d0a515549540a20000000", "hex")],
])(
  "a proxy's own connections are forgotten when they close, and never put off: %s",
  async (_what, header) => {
    const { come, closed } = await stage(true);
    for (let check = 0; check <= 2 * WASTED_CONNECTIONS.most; check++)
      await come([...header].map((byte) => Buffer.of(byte)));
    expect(new Set(closed.mock.calls.flat()).size).toBeGreaterThan(2 * WASTED_CONNECTIONS.most);
  },
);
