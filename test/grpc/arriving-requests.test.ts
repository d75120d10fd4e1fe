// Which calls are ended because their requests do not arrive, with calls that lead nowhere. Real ones: test/attacks.

import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ArrivingRequests } from "../../server/grpc/arriving-requests.ts";
import { ARRIVING_BYTES_MAX, ARRIVING_LOOK_MS, REQUEST_ARRIVES_MS } from "../../server/grpc/grpc-bounds.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function stage({ isFull = (_count: number): boolean => false } = {}) {
  const arriving = new ArrivingRequests({ isFull });
  const begin = ({ requestStream = false, partial = 0 } = {}) => {
    const ended: { code: number; details: string }[] = [];
    const close = vi.fn();
    let listener = { onReceiveMessage() {}, onReceiveHalfClose() {}, onReceiveMetadata() {}, onCancel() {} };
    const call = {
      start: (given: typeof listener) => {
        listener = given;
      },
      sendStatus: (sent: (typeof ended)[0]) => void ended.push(sent),
      stream: { close, destroyed: false },
      decoder: {
        readPartialMessage: partial > 0 ? [0] : [],
        readMessageSize: 2 * partial,
        readMessageRemaining: partial,
      },
    };
    const wrapped = arriving.interceptor({ requestStream } as never, call as never);
    wrapped.start({ ...listener } as never);
    return {
      ended,
      close,
      arrives: () => {
        listener.onReceiveMessage();
        listener.onReceiveHalfClose();
      },
      isGone: () => listener.onCancel(),
    };
  };
  return { arriving, begin };
}

describe("a call whose request does not arrive", () => {
  test("is ended when the server has no room for another one: the oldest", () => {
    const { begin } = stage({ isFull: (count) => count >= 2 });
    const calls = [begin(), begin(), begin()];
    expect(calls.map(({ ended }) => ended.length)).toEqual([1, 0, 0]);
    expect(calls[0]?.ended).toMatchObject([{ code: status.RESOURCE_EXHAUSTED }]);
  });

  test("is ended if all parts take too much memory: those with the most of them, even in a stream", async () => {
    const { begin } = stage();
    const small = begin({ partial: 1_000 });
    const large = begin({ partial: ARRIVING_BYTES_MAX / 2 });
    const stream = begin({ partial: ARRIVING_BYTES_MAX / 2, requestStream: true });
    await vi.advanceTimersByTimeAsync(ARRIVING_LOOK_MS);
    expect([small, large, stream].map(({ ended }) => ended.length)).toEqual([0, 1, 1]);
  });
});

test("requests that have arrived, callers that are gone and streams are left alone, and no timer goes on", async () => {
  const { begin, arriving } = stage();
  const [arrived, gone, stream] = [begin(), begin(), begin({ requestStream: true })];
  arrived.arrives();
  gone.isGone();
  await vi.advanceTimersByTimeAsync(2 * REQUEST_ARRIVES_MS);
  expect([arrived, gone, stream].map(({ ended }) => ended.length)).toEqual([0, 0, 0]);
  stream.isGone();
  await vi.advanceTimersByTimeAsync(ARRIVING_LOOK_MS);
  expect([arriving.count, vi.getTimerCount()]).toEqual([0, 0]);
});
