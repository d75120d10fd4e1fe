// Which silent connections are kept, with connections without real work. Real ones: connections.test.ts and
// resets.slow.test.ts.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { limitConnections } from "../../server/grpc/transport-limits.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate"] }));
afterEach(() => void vi.useRealTimers());

test("a connection is kept if its settings were read late because this server was busy", () => {
  const listener = Object.assign(new EventEmitter(), { maxConnections: -1 });
  const inner = { commonServerOptions: {}, createHttp2Server: (_credentials: unknown) => listener };
  limitConnections(inner as never, {
    openMax: 10,
    connectionsMax: Number.POSITIVE_INFINITY,
    door: { take: (_stream, _headers, _raw, begin) => begin() },
    standing: { opened() {} },
    handshakeMs: 500,
  });
  expect(inner.createHttp2Server("credentials")).toBe(listener);
  const session = Object.assign(new EventEmitter(), { destroy: vi.fn() });
  listener.emit("session", session);
  vi.advanceTimersByTime(500);
  session.emit("remoteSettings");
  session.emit("localSettings");
  vi.advanceTimersByTime(1);
  expect(session.destroy).not.toHaveBeenCalled();
});
