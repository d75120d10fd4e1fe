// What the front door counts against a connection, without a transport.

import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { FrontDoor } from "../../server/grpc/front-door.ts";
import { CALLS_AT_ONCE, STREAM_BYTES, UNKNOWN_OPENED_AT_ONCE_MAX } from "../../server/grpc/grpc-bounds.ts";
import { OpenStreams } from "../../server/grpc/open-streams.ts";
import { silentObserver } from "../support/harness.ts";

function stage() {
  const standing = {
    isEnding: () => false,
    peerOf: () => "one:1",
    isKnown: vi.fn(() => false),
    failedOn: vi.fn(),
    cutOff: vi.fn(),
  };
  let opened = 0;
  const retryAfterIfLate = vi.fn((_peer: string): number | undefined => undefined);
  const door = new FrontDoor({
    headerBytesMax: 1_000,
    streams: new OpenStreams({ pendingStreamBytes: STREAM_BYTES }),
    standing: standing as never,
    reading: { opened: () => ++opened },
    isOpen: false,
    withoutHeader: null,
    frame: { observer: silentObserver, faultLog: { failed() {} } as never },
    retryAfterIfLate,
  });
  const call = (session = {}) => {
    const stream = Object.assign(new EventEmitter(), {
      ...{ session, destroyed: false, closed: false, headersSent: false, aborted: false },
      ...{ respond() {}, resume() {}, close() {} },
    });
    door.take(stream as never, { ":path": "/rowlock.v1.LockService/Acquire" }, [], () => {});
    return stream as never;
  };
  const end = (stream: EventEmitter) => stream.emit("close");
  return { door, call, end, retryAfterIfLate, ...standing };
}

test("a call that its client takes back before anybody was identified counts", () => {
  const { call, end, failedOn } = stage();
  end(call());
  expect(failedOn).toHaveBeenCalledOnce();
});

test("a call that the server refuses for its own load does not count, nor one that it has not looked at", () => {
  const { door, call, end, failedOn, retryAfterIfLate } = stage();
  retryAfterIfLate.mockReturnValueOnce(1_000);
  end(call());
  const session = {};
  for (let begun = 0; begun < CALLS_AT_ONCE; begun++) door.arrived(call(session));
  const unseen = call(session);
  // Takes its place.
  call();
  end(unseen);
  expect(failedOn).not.toHaveBeenCalled();
});

test("a call whose request does not come counts when it loses its place", () => {
  const { call, failedOn } = stage();
  call();
  call();
  expect(failedOn).toHaveBeenCalledOnce();
});

test("a stranger that opens more calls at once than it may have open is cut off, and a known client is not", () => {
  const { call, end, isKnown, cutOff } = stage();
  isKnown.mockReturnValue(true);
  for (let opened = 0; opened < UNKNOWN_OPENED_AT_ONCE_MAX; opened++) end(call());
  end(call());
  expect(cutOff).not.toHaveBeenCalled();
  isKnown.mockReturnValue(false);
  call();
  expect(cutOff).toHaveBeenCalledOnce();
});
