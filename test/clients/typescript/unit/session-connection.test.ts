// What a session sends and receives, with a fake channel and the test's own timers.

import { EventEmitter } from "node:events";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Client, Metadata, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import type { Command, News } from "../../../../clients/typescript/src/connection/connection.ts";
import { SessionConnection } from "../../../../clients/typescript/src/connection/session-connection.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import { ErrorInfoSchema } from "../../../../proto/gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../../proto/gen/google/rpc/status_pb.js";
import {
  type SessionRequest,
  SessionRequestSchema,
  SessionResponseSchema,
} from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const release = (leaseId: string) =>
  ({ case: "release", value: { $typeName: "rowlock.v1.ReleaseRequest", leaseId, failed: false } }) as Command;

function stage(bytesMax = 1_024) {
  const requests: SessionRequest[] = [];
  const ends = { ended: 0, cancelled: 0, closed: 0 };
  const stream = Object.assign(new EventEmitter(), {
    write: (bytes: Uint8Array) => void requests.push(fromBinary(SessionRequestSchema, bytes)),
    end: () => {
      ends.ended += 1;
    },
    cancel: () => {
      ends.cancelled += 1;
    },
  });
  const ready = { tell: (_?: Error) => {} };
  const channel = {
    makeBidiStreamRequest: () => stream,
    waitForReady: (_: number, done: (error?: Error) => void) => {
      ready.tell = done;
    },
    close: () => {
      ends.closed += 1;
    },
  } as unknown as Client;
  const news: News[] = [];
  const basesMs: number[] = [];
  const endings: RowlockError[] = [];
  const connection = new SessionConnection({
    address: "nowhere",
    owner: "tester",
    labels: { host: "a1" },
    headers: {},
    bytesMax,
    clock: new Clock(() => performance.now()),
    channel,
    onNews: (one, basisMs) => {
      news.push(one);
      basesMs.push(basisMs);
    },
    onEnded: (error) => endings.push(error),
  });
  const respond = (response: MessageInitShape<typeof SessionResponseSchema>) =>
    stream.emit(
      "data",
      Buffer.from(toBinary(SessionResponseSchema, create(SessionResponseSchema, response))),
    );
  const open = (more = {}) => respond({ opened: { messageBytesMax: 65_536, ...more }, heard: 1n });
  return { connection, requests, ends, stream, ready, news, basesMs, endings, respond, open };
}

describe("requests", () => {
  test("of one turn are one message, and the first one opens the session", async () => {
    const { connection, requests } = stage();
    connection.send(1n, release("a"));
    connection.send(2n, release("b"));
    connection.cancel(7n);
    expect(requests).toEqual([]);
    await pass(1);
    expect(requests).toMatchObject([
      {
        open: { owner: "tester", labels: { host: "a1" } },
        received: 0n,
        commands: [
          { call: 1n, command: { case: "release", value: { leaseId: "a" } } },
          { call: 2n, command: { case: "release", value: { leaseId: "b" } } },
          { call: 0n, command: { case: "cancel", value: 7n } },
        ],
      },
    ]);
    connection.send(3n, release("c"));
    await pass(1);
    expect(requests[1]).toMatchObject({ commands: [{ call: 3n }] });
    expect(requests[1]?.open).toBeUndefined();
  });

  test("have no cancel beside the command that it ends, as servers handle cancels first", async () => {
    const { connection, requests } = stage();
    connection.send(1n, release("a"));
    connection.send(2n, release("b"));
    connection.cancel(2n);
    connection.cancel(1n);
    await pass(1);
    expect(requests.map(({ commands }) => commands.map(({ call, command }) => [call, command.case]))).toEqual(
      [
        [
          [1n, "release"],
          [2n, "release"],
        ],
        [
          [0n, "cancel"],
          [0n, "cancel"],
        ],
      ],
    );
  });

  test("have the trace context of each caller that has one", async () => {
    const { connection, requests } = stage();
    connection.send(1n, release("a"), "00-1-2-01");
    connection.send(2n, release("b"));
    await pass(1);
    expect(requests[0]?.commands.map(({ traceparent }) => traceparent)).toEqual(["00-1-2-01", ""]);
  });

  test("are as many as the server's bound needs, and lose nothing", async () => {
    const { connection, requests } = stage(256);
    for (let call = 1; call <= 10; call++) connection.send(BigInt(call), release("x".repeat(50)));
    await pass(1);
    expect(requests.length).toBeGreaterThan(3);
    for (const request of requests)
      expect(toBinary(SessionRequestSchema, request).length).toBeLessThanOrEqual(256);
    expect(requests.flatMap(({ commands }) => commands.map(({ call }) => call))).toEqual(
      Array.from({ length: 10 }, (_, index) => BigInt(index + 1)),
    );
  });

  test("have the number of responses received, so that a lease that waits for it is confirmed at once", async () => {
    const { requests, respond, open } = stage();
    await pass(1);
    open();
    respond({ heard: 1n });
    await pass(10_000);
    expect(requests).toHaveLength(1);
    const granted = { update: { case: "granted" as const, value: { leaseId: "a", provisional: true } } };
    respond({ results: [{ call: 1n, result: { case: "waitInQueue", value: granted } }] });
    await pass(1);
    expect(requests[1]).toMatchObject({ received: 3n, commands: [] });
    const leases = [{ leaseId: "b" }, { leaseId: "c", provisional: true }];
    respond({ results: [{ call: 2n, result: { case: "capture", value: { leases } } }] });
    await pass(1);
    expect(requests[2]).toMatchObject({ received: 4n });
    // None of these leases is provisional, so no acknowledgement is sent at once.
    const confirmed = { update: { case: "granted" as const, value: { leaseId: "d" } } };
    respond({ results: [{ call: 3n, result: { case: "waitInQueue", value: confirmed } }] });
    respond({ results: [{ call: 4n, result: { case: "capture", value: { leases: [{}] } } }] });
    respond({
      results: [
        { call: 5n, result: { case: "waitInQueue", value: { update: { case: "position", value: {} } } } },
      ],
    });
    await pass(10_000);
    expect(requests).toHaveLength(3);
  });
});

describe("times", () => {
  test("of a response count from the last request that the server had received, and no later one", () => {
    const { connection, basesMs, respond, open } = stage();
    const madeMs = performance.now();
    // The client sends the first request at the end of the first turn, and then one every 100 ms.
    for (let request = 1; request <= 4; request++) {
      vi.advanceTimersByTime(100);
      connection.cancel(BigInt(request));
    }
    vi.advanceTimersByTime(100);
    open({ heard: 0n });
    for (const heard of [1n, 2n, 2n, 4n, 5n, 9n]) respond({ heard });
    expect(basesMs.slice(1).map((ms) => Math.round((ms - madeMs) / 100))).toEqual([0, 1, 1, 3, 4, 4]);
    connection.destroy();
  });

  test("between requests are no longer than the interval of the server's heartbeats", () => {
    const { connection, requests, open } = stage();
    vi.advanceTimersToNextTimer();
    open({ heartbeatInterval: durationOf(1_000) });
    const sentAfterMs: number[] = [];
    for (let ms = 1, sent = requests.length; ms <= 3_600; ms++) {
      if (ms === 100) connection.cancel(1n);
      vi.advanceTimersByTime(1);
      if (requests.length > sent) sentAfterMs.push(ms);
      sent = requests.length;
    }
    // A turn ends after a millisecond here.
    expect(sentAfterMs).toEqual([100, 1_100, 2_101, 3_102]);
    connection.destroy();
  });
});

describe("a command that is larger than the bound", () => {
  test("is not accepted before the server has named its own, and then fails if it is larger than that", async () => {
    const { connection, open } = stage(256);
    const large = release("x".repeat(300));
    expect(connection.send(1n, large)).toBe(false);
    expect(connection.send(1n, release("small"))).toBe(true);
    open({ messageBytesMax: 1_024 });
    expect(connection.send(2n, large)).toBe(true);
    const tooLarge = () => connection.send(3n, release("x".repeat(1_000)));
    expect(tooLarge).toThrow(RowlockError);
    expect(tooLarge).toThrow(
      expect.objectContaining({ reason: "MESSAGE_TOO_LARGE", metadata: { bytes_max: "960" } }),
    );
    await pass(1);
  });

  test("is the only one: the largest that fits is accepted", () => {
    const { connection } = stage(256);
    const bytesOf = (length: number) => release("x".repeat(length));
    const lengths = Array.from({ length: 256 }, (_, index) => index);
    const taken = lengths.filter((length) => connection.send(1n, bytesOf(length)));
    // The rest of a command of 192 bytes is its call number, with lengths and tags.
    expect(taken.at(-1)).toBe(192 - 2 - 3 - 3);
  });
});

test.each([
  [1_024, 15],
  [64 + 64 * 3 - 1, 2],
  [100, 1],
  [65_536, 500],
])("in a message of %i bytes %i leases may be renewed at once", (bytesMax, count) => {
  expect(stage(bytesMax).connection.renewalsMax).toBe(count);
});

describe("a server's response", () => {
  test("is passed on: that it has answered, results, errors, confirmations, losses, and that it goes away", () => {
    const { news, open, respond, connection } = stage();
    expect(connection.opened).toBeUndefined();
    open({ replica: "7", waitsMax: 3 });
    expect(connection.opened).toMatchObject({ replica: "7", waitsMax: 3 });
    expect(connection.bytesMax).toBe(65_536);
    const error = { code: status.NOT_FOUND, message: "no" };
    respond({
      results: [
        { call: 1n, result: { case: "release", value: { released: true } } },
        { call: 2n, result: { case: "error", value: error } },
        { call: 3n, result: { case: "rejected", value: error } },
        { call: 4n },
      ],
      confirmed: [{ leaseId: "a" }],
      lost: [{ leaseId: "b" }],
      goingAway: true,
    });
    expect(news[0]).toMatchObject({ opened: true, results: [], confirmed: [], lost: [], goingAway: false });
    const { results, ...rest } = news[1] as News;
    expect(rest).toMatchObject({
      opened: false,
      confirmed: [{ leaseId: "a" }],
      lost: [{ leaseId: "b" }],
      goingAway: true,
    });
    expect(results?.map(({ call }) => call)).toEqual([1n, 2n, 3n]);
    expect(results?.[0]?.result).toMatchObject({ case: "release" });
    for (const one of results?.slice(1) ?? []) expect(one.result).toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("a server that falls silent", () => {
  const SILENCE_MS = 4_000;

  test("after a request has ended when four ticks have heard nothing", async () => {
    const { open, connection, endings, ends } = stage();
    await pass(1);
    open({ silenceMax: durationOf(SILENCE_MS) });
    connection.send(1n, release("a"));
    // At the first tick, the server has just been heard.
    await pass(4 * 1_000);
    expect(endings).toEqual([]);
    await pass(1_000);
    expect(endings).toMatchObject([{ reason: "UNKNOWN", code: "UNAVAILABLE" }]);
    expect(ends).toMatchObject({ cancelled: 1, closed: 1 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("counts anew with each response, and is not silent if everything was heard", async () => {
    const { open, connection, respond, endings } = stage();
    await pass(1);
    open({ silenceMax: durationOf(SILENCE_MS) });
    await pass(60_000);
    expect(endings).toEqual([]);
    connection.send(1n, release("a"));
    await pass(3_500);
    respond({ heard: 1n });
    await pass(4_000);
    expect(endings).toEqual([]);
    respond({ heard: 2n });
    await pass(60_000);
    expect(endings).toEqual([]);
  });
});

describe("the end", () => {
  test("of its stream is reported once, with the reason", () => {
    const { stream, endings, ends } = stage();
    stream.emit("error", { code: status.UNAVAILABLE, details: "gone" });
    stream.emit("end");
    expect(endings).toMatchObject([{ code: "UNAVAILABLE", message: "gone" }]);
    expect(ends).toEqual({ ended: 0, cancelled: 1, closed: 1 });
  });

  test("from here is not reported, and can be repeated", () => {
    const { connection, stream, endings, ends } = stage();
    connection.destroy();
    connection.destroy();
    stream.emit("error", { code: status.CANCELLED });
    expect([endings, ends]).toEqual([[], { ended: 0, cancelled: 1, closed: 1 }]);
  });
});

test("a server was reached if its channel became ready", () => {
  const { connection, ready } = stage();
  expect(connection.wasReached).toBe(false);
  ready.tell(new Error("closed"));
  expect(connection.wasReached).toBe(false);
  ready.tell();
  expect(connection.wasReached).toBe(true);
});

test.each([
  [false, "CREDENTIALS_EXPIRED"],
  [true, "SHUTTING_DOWN"],
])("a server has taken commands: %s, if it refuses the session as %s", (isTaken, reason) => {
  const { connection, ready, stream } = stage();
  ready.tell();
  stream.emit("error", callError(reason));
  expect(connection.wasReached).toBe(isTaken);
});

test("a server that has answered may have taken commands, also if the credentials expire later", () => {
  const { connection, ready, stream, open } = stage();
  ready.tell();
  open();
  stream.emit("error", callError("CREDENTIALS_EXPIRED"));
  expect(connection.wasReached).toBe(true);
});

function callError(reason: string): object {
  const info = create(ErrorInfoSchema, { reason, domain: "rowlock" });
  const message = create(StatusSchema, {
    code: status.UNAUTHENTICATED,
    details: [anyPack(ErrorInfoSchema, info)],
  });
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, message)));
  return { code: status.UNAUTHENTICATED, details: "no", metadata };
}
