// How grpc-js's listener is made, and which silent connections are kept, with connections without real work. Real ones:
// connections.test.ts and resets.slow.test.ts.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HANDSHAKE_MS } from "../../server/grpc/grpc-bounds.ts";
import { limitConnections } from "../../server/grpc/transport-limits.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate"] }));
afterEach(() => void vi.useRealTimers());

function stage(handshakeMs?: number) {
  const listener = Object.assign(new EventEmitter(), { maxConnections: -1 });
  const createHttp2Server = vi.fn((_credentials: unknown) => listener);
  const inner = { commonServerOptions: { kept: true } as Record<string, unknown>, createHttp2Server };
  limitConnections(inner as never, {
    openMax: 10,
    connectionsMax: Number.POSITIVE_INFINITY,
    door: { take: (_stream, _headers, _raw, begin) => begin() },
    standing: { opened() {} },
    ...(handshakeMs !== undefined && { handshakeMs }),
  });
  expect(inner.createHttp2Server("credentials")).toBe(listener);
  return { listener, createHttp2Server, inner };
}

test("a listener is made as grpc-js makes it, and allows twice the open calls to be reset at once", () => {
  const { createHttp2Server, inner } = stage();
  expect(createHttp2Server.mock.calls).toEqual([["credentials"]]);
  expect(inner.commonServerOptions).toEqual({
    kept: true,
    settings: { maxConcurrentStreams: 10 },
    streamResetBurst: 20,
    streamResetRate: 2_000,
    maxSessionRejectedStreams: 2 ** 32 - 1,
    handshakeTimeout: HANDSHAKE_MS,
    unknownProtocolTimeout: HANDSHAKE_MS,
  });
});

test("a connection is kept if its settings were read late because this server was busy", () => {
  const { listener } = stage(500);
  const session = Object.assign(new EventEmitter(), { destroy: vi.fn() });
  listener.emit("session", session);
  vi.advanceTimersByTime(500);
  session.emit("remoteSettings");
  session.emit("localSettings");
  vi.advanceTimersByTime(1);
  expect(session.destroy).not.toHaveBeenCalled();
});
