// What one connection may do, and the answer to a message that is too large, with a server and connections without
// real work. Real connections: resets.slow.test.ts.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HANDSHAKE_MS } from "../../server/grpc/grpc-bounds.ts";
import { limitConnections } from "../../server/grpc/transport-limits.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate"] }));
afterEach(() => void vi.useRealTimers());

function stage(limits: Partial<Parameters<typeof limitConnections>[1]> = {}) {
  const listener = Object.assign(new EventEmitter(), { maxConnections: -1 });
  const createHttp2Server = vi.fn((_credentials: unknown) => listener);
  const inner = { commonServerOptions: { kept: true } as Record<string, unknown>, createHttp2Server };
  limitConnections(inner as never, {
    openMax: 10,
    refusing: { retryAfterIfLate: () => undefined, observer: { call() {} }, faultLog: { failed() {} } },
    connectionsMax: Number.POSITIVE_INFINITY,
    door: { admits: () => true, begun() {}, refused() {} },
    standing: { opened() {} },
    ...limits,
  });
  const made = inner.createHttp2Server("credentials");
  const connect = () => {
    const session = Object.assign(new EventEmitter(), { destroy: vi.fn() });
    listener.emit("session", session);
    return session;
  };
  return { listener, createHttp2Server, inner, made, connect };
}

describe("a listener", () => {
  test("is made as grpc-js makes it, and allows twice the open calls to be reset at once", () => {
    const { listener, createHttp2Server, inner, made } = stage();
    expect(made).toBe(listener);
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

  test("accepts as many connections as the server has room for, and any number without a bound", () => {
    expect(stage().listener.maxConnections).toBe(-1);
    expect(stage({ connectionsMax: 7 }).listener.maxConnections).toBe(7);
  });
});

describe("a connection", () => {
  test("that has sent something, or is gone by itself, is not ended", async () => {
    const { connect } = stage({ handshakeMs: 500 });
    const [heard, gone] = [connect(), connect()];
    heard.emit("remoteSettings");
    heard.emit("localSettings");
    gone.emit("close");
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([heard.destroy.mock.calls, gone.destroy.mock.calls]).toEqual([[], []]);
  });

  test("is kept if its settings were read late because this server was busy", () => {
    const session = stage({ handshakeMs: 500 }).connect();
    vi.advanceTimersByTime(500);
    session.emit("remoteSettings");
    session.emit("localSettings");
    vi.advanceTimersByTime(1);
    expect(session.destroy).not.toHaveBeenCalled();
  });
});
