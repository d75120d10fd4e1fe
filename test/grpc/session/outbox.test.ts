// What a session sends, by itself: when a message is sent, what it contains, when it is too much, and the end.

import { fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  AcquireResponseSchema,
  SessionResponseSchema,
  SessionResultSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { Outbox } from "../../../server/grpc/session/outbox.ts";

const RELEASE_FIELD = SessionResultSchema.field.release.number;
const RELEASED = Buffer.from([8, 1]);
const turn = () => new Promise((resolve) => setImmediate(resolve));

function scene(unreadMax = 1_000) {
  const messages: Buffer[] = [];
  const taken: (() => void)[] = [];
  const sent: [results: number, bytes: number][] = [];
  const state = { heard: 1, unread: 0 };
  const outbox = new Outbox({
    unreadMax,
    heard: () => state.heard,
    write: (message, written) => {
      messages.push(message);
      taken.push(written);
    },
    onSent: (results, bytes) => sent.push([results, bytes]),
    onUnread: () => {
      state.unread += 1;
    },
  });
  const read = () => messages.map((message) => fromBinary(SessionResponseSchema, message));
  return {
    outbox,
    messages,
    sent,
    state,
    read,
    take: () => taken.shift()?.(),
    say: (call: bigint, written?: () => void) => outbox.addResult(call, RELEASE_FIELD, RELEASED, written),
  };
}

test("a message has each result under its call, and everything else, and is counted with its results and bytes", async () => {
  const { outbox, say, sent, messages, take, read } = scene();
  say(7n);
  outbox.add({ goingAway: true });
  outbox.addResult(8n, RELEASE_FIELD, Buffer.alloc(0));
  await turn();
  take();
  outbox.touch();
  await turn();
  expect(read()).toMatchObject([
    {
      goingAway: true,
      results: [
        { call: 7n, result: { case: "release", value: { released: true } } },
        { call: 8n, result: { case: "release", value: { released: false } } },
      ],
    },
    { results: [] },
  ]);
  expect(sent).toEqual([
    [2, messages[0]?.length],
    [0, messages[1]?.length],
  ]);
});

test("the number of the next response is that of the message with what is added now", async () => {
  const { outbox, say, take } = scene();
  expect(outbox.next).toBe(1);
  say(1n);
  expect(outbox.next).toBe(1);
  await turn();
  // Results added while the first message is written go into the second.
  expect(outbox.next).toBe(2);
  say(2n);
  expect(outbox.next).toBe(2);
  take();
  expect(outbox.next).toBe(3);
});

test("unread messages are bounded by their bytes, and count anew with each message", async () => {
  const { outbox, say, state, take } = scene(2 * RELEASED.length);
  say(1n);
  say(2n);
  expect(state.unread).toBe(0);
  await turn();
  say(3n);
  say(4n);
  expect(state.unread).toBe(0);
  say(5n);
  expect(state.unread).toBe(1);
  take();
  say(6n);
  say(7n);
  expect(state.unread).toBe(1);
  // Content without results counts, too.
  outbox.add({ goingAway: true });
  expect(state.unread).toBe(2);
});

test.each([
  ["comes at once if nothing is left to send", false, false],
  ["waits for gathered content whose sending has not begun", false, true],
  ["waits for a message that is being written", true, false],
  ["waits for both, and for nothing that comes after it", true, true],
])("the end %s", async (_, isWriting, isGathered) => {
  const { outbox, say, take, read } = scene();
  let ends = 0;
  const earlier = [isWriting, isGathered].flatMap((is, index) => (is ? [BigInt(index)] : []));
  if (isWriting) say(0n);
  if (isWriting) await turn();
  if (isGathered) say(1n);
  outbox.close(() => ends++);
  if (!isGathered) say(9n);
  outbox.touch();
  for (const _call of earlier) {
    expect(ends).toBe(0);
    await turn();
    take();
  }
  expect(ends).toBe(1);
  await turn();
  expect(read().map(({ results }) => results.map(({ call }) => call))).toEqual(earlier.map((call) => [call]));
});

test("a message has the number of requests heard when it was begun, and no later one", async () => {
  const { outbox, say, read, state, take } = scene();
  state.heard = 3;
  say(1n);
  // A result added after this was heard goes into the same message, but the remaining time of its leases counts from
  // before.
  state.heard = 4;
  say(2n);
  await turn();
  state.heard = 5;
  outbox.touch();
  state.heard = 6;
  say(3n);
  take();
  expect(read().map(({ heard }) => heard)).toEqual([3n, 5n]);
});

const { acquire: ACQUIRE } = SessionResultSchema.field;
const lease = (fencingToken: bigint) => ({
  outcome: { case: "lease" as const, value: { leaseId: "l".repeat(200), fencingToken } },
});

test("an answer that cannot be encoded is an error, and leaves nothing behind", async () => {
  const { outbox, say, read, sent } = scene();
  say(1n);
  expect(() => outbox.addAnswer(2n, ACQUIRE.number, AcquireResponseSchema, lease(-1n))).toThrow();
  say(3n);
  await turn();
  expect(read().map(({ results }) => results.map(({ call }) => call))).toEqual([[1n, 3n]]);
  expect(sent).toMatchObject([[2, expect.any(Number)]]);
});
