// What a server knows of its connections, with connections that do nothing.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FAILED_CALLS, LEAVES_MS } from "../../server/grpc/grpc-bounds.ts";
import { Standing } from "../../server/grpc/standing.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

let nowMs = 0;
const PEER = "10.0.0.1:4711";

function stage() {
  const [onEnded, onLeaving] = [vi.fn(), vi.fn()];
  const standing = new Standing({ openMax: 1_000, onEnded, onLeaving });
  const session = Object.assign(new EventEmitter(), {
    socket: { remoteAddress: "10.0.0.1", remotePort: 4711 },
    ...{ destroyed: false, closed: false },
    ...{ settings: vi.fn(), goaway: vi.fn(), close: vi.fn(), destroy: vi.fn() },
  });
  standing.opened(session as never);
  return { standing, session, onEnded, onLeaving };
}

test("a connection on which calls fail and fail is ended in good order, and then cut off", () => {
  const { standing, session, onEnded } = stage();
  for (let failed = 0; failed < FAILED_CALLS.unknown.most; failed++)
    if (failed % 2 === 0) standing.failed(PEER);
    else standing.failedOn(session);
  expect(standing.isEnding(session)).toBe(false);
  standing.failed(PEER);
  standing.failed(PEER);
  expect(standing.isEnding(session)).toBe(true);
  expect(session.goaway.mock.calls).toEqual([[0, 2 ** 31 - 1, Buffer.from("calls_fail")]]);
  expect(onEnded.mock.calls).toEqual([[PEER]]);
  // The transport reads whatever comes on a connection that it closes by itself.
  expect(session.close).not.toHaveBeenCalled();
  vi.advanceTimersByTime(LEAVES_MS.unknown);
  expect(session.destroy).toHaveBeenCalledOnce();
});

test("a client whose calls fail seldom keeps its connection, and one with known callers may fail more often", () => {
  const seldom = stage();
  for (let second = 0; second < 1_000; second++) {
    nowMs += 1_000;
    for (let call = 0; call < 5; call++) seldom.standing.failed(PEER);
  }
  expect(seldom.session.goaway).not.toHaveBeenCalled();
  const known = stage();
  known.standing.known(PEER);
  for (let failed = 0; failed < FAILED_CALLS.known.most; failed++) known.standing.failed(PEER);
  expect(known.session.goaway).not.toHaveBeenCalled();
  known.standing.failed(PEER);
  expect(known.onLeaving.mock.calls).toEqual([[PEER]]);
  expect(known.onEnded).not.toHaveBeenCalled();
});
