// The code around every call, and what the log says about failed calls; uses methods and calls without real work.

import { EventEmitter } from "node:events";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { describe, expect, test, vi } from "vitest";
import {
  DeleteLockRequestSchema,
  DeleteLockResponseSchema,
  LockService,
  WatchLocksResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { Fault } from "../../server/engine/faults.ts";
import { FaultLog } from "../../server/grpc/fault-log.ts";
import { FAULT_LOG_INTERVAL_MS } from "../../server/grpc/grpc-bounds.ts";
import { type Run, streamHandler, unaryHandler } from "../../server/grpc/handler.ts";
import { ClientGone, lockInUse } from "../../server/grpc/messages/call-error.ts";
import { failureOf } from "../../server/grpc/messages/status.ts";
import { silentObserver } from "../support/harness.ts";

function frame() {
  const seen: string[] = [];
  const lines: { level: string; fields: Record<string, unknown>; words: string }[] = [];
  const line = (level: string) => (fields: Record<string, unknown>, words: string) =>
    lines.push({ level, fields, words });
  const logger = { debug() {}, info() {}, warn: line("warn"), error: line("error") } as never;
  const observer = {
    ...silentObserver,
    call: (method: string, code: string, seconds: number, via: string) =>
      seen.push(`${method} ${code} ${via} ${seconds < 1}`),
    streamOpened: () => seen.push("stream opened"),
    streamClosed: () => seen.push("stream closed"),
  };
  return { seen, lines, logger, context: { observer, faultLog: new FaultLog(logger) } };
}

const BYTES = Buffer.from(toBinary(DeleteLockRequestSchema, create(DeleteLockRequestSchema, { name: "a" })));
const callOf = (more: object = {}) => ({
  request: BYTES,
  cancelled: false,
  getDeadline: () => Number.POSITIVE_INFINITY,
  ...more,
});

async function unary(run: Run, call = callOf()) {
  const world = frame();
  const answers: unknown[][] = [];
  const handler = unaryHandler(LockService.method.deleteLock, run, world.context);
  await handler(call as never, ((...answer: unknown[]) => answers.push(answer)) as never);
  return { ...world, answers };
}

describe("a unary call", () => {
  test("is decoded, run, and answered once with what the method says", async () => {
    const asked: unknown[] = [];
    const { answers, seen } = await unary(async (message) => {
      asked.push(message);
      return { deleted: true };
    });
    expect(asked).toMatchObject([{ name: "a" }]);
    expect(answers).toHaveLength(1);
    const [error, bytes] = answers[0] as [null, Buffer];
    expect(error).toBeNull();
    expect(fromBinary(DeleteLockResponseSchema, bytes)).toMatchObject({ deleted: true });
    expect(seen).toEqual(["DeleteLock OK call true"]);
  });

  test("is answered with the bytes that its method has made itself", async () => {
    const made = Buffer.from([8, 1]);
    const { answers } = await unary(async () => made);
    expect(answers).toEqual([[null, made]]);
  });

  test("whose bytes are no message is refused, and its method not run", async () => {
    const run = vi.fn();
    const { answers, seen } = await unary(run, callOf({ request: Buffer.from([0x0a, 200]) }));
    expect(run).not.toHaveBeenCalled();
    expect(answers).toMatchObject([[{ code: status.INVALID_ARGUMENT }]]);
    expect(seen).toEqual(["DeleteLock INVALID_ARGUMENT call true"]);
  });

  test("that fails by a bug is answered without saying how, and the log says all of it", async () => {
    const bug = new TypeError("secret detail");
    const { answers, lines } = await unary(() => Promise.reject(bug));
    expect(answers).toMatchObject([
      [{ code: status.INTERNAL, details: expect.not.stringContaining("secret") }],
    ]);
    expect(lines).toMatchObject([{ level: "error", fields: { method: "DeleteLock", err: bug } }]);
  });

  test("that its caller did wrong is not in the log", async () => {
    const { answers, lines } = await unary(() => Promise.reject(lockInUse("a")));
    expect(answers).toMatchObject([[{ code: status.FAILED_PRECONDITION }]]);
    expect(lines).toEqual([]);
  });

  test("that its client gave up is counted as that, whatever became of it, and is not in the log", async () => {
    const { seen, lines } = await unary(() => Promise.reject(new ClientGone()), callOf({ cancelled: true }));
    expect([seen, lines]).toEqual([["DeleteLock CANCELLED call true"], []]);
    const done = await unary(async () => ({ deleted: true }), callOf({ cancelled: true }));
    expect(done.seen).toEqual(["DeleteLock CANCELLED call true"]);
  });

  test("whose time is over, or will be in a moment, is counted as that", async () => {
    for (const [inMs, code] of [
      [-1, "DEADLINE_EXCEEDED"],
      [50, "DEADLINE_EXCEEDED"],
      [5_000, "CANCELLED"],
    ] as const) {
      const call = callOf({ cancelled: true, getDeadline: () => Date.now() + inMs });
      const { seen } = await unary(() => Promise.reject(new ClientGone()), call);
      expect(seen).toEqual([`DeleteLock ${code} call true`]);
    }
  });
});

describe("a stream", () => {
  async function stream(run: Run, more: object = {}) {
    const world = frame();
    const written: Buffer[] = [];
    const errors: { code: number }[] = [];
    const state = { ended: 0, failure: null as Error | null };
    const call = Object.assign(new EventEmitter(), callOf(more), {
      request: Buffer.alloc(0),
      write: (bytes: Buffer, done: (error: Error | null) => void) => {
        written.push(bytes);
        done(state.failure);
      },
      end: () => {
        state.ended += 1;
      },
    });
    call.on("error", (error: { code: number }) => errors.push(error));
    await streamHandler(LockService.method.watchLocks, run, world.context)(call as never);
    return { ...world, call, written, errors, state };
  }

  test("sends each message, says when it was taken, and ends in good order", async () => {
    const taken: string[] = [];
    const { written, state, seen, errors } = await stream(async (_message, _call, send) => {
      send?.({ complete: true }, () => taken.push("taken"));
      send?.({ complete: false });
      return {};
    });
    expect(written.map((bytes) => fromBinary(WatchLocksResponseSchema, bytes).complete)).toEqual([
      true,
      false,
    ]);
    expect([taken, state.ended, errors]).toEqual([["taken"], 1, []]);
    expect(seen).toEqual(["stream opened", "WatchLocks OK call true", "stream closed"]);
  });

  test("ends with the status of what its method threw", async () => {
    const { errors, state, seen } = await stream(() => Promise.reject(lockInUse("a")));
    expect([errors.map(({ code }) => code), state.ended]).toEqual([[status.FAILED_PRECONDITION], 0]);
    expect(seen).toEqual(["stream opened", "WatchLocks FAILED_PRECONDITION call true", "stream closed"]);
  });

  test("whose client is gone is told nothing, neither a message nor the end", async () => {
    const { written, errors, seen } = await stream(
      async (_message, _call, send) => {
        send?.({ complete: true });
        throw new ClientGone();
      },
      { cancelled: true },
    );
    expect([written, errors]).toEqual([[], []]);
    expect(seen).toEqual(["stream opened", "WatchLocks CANCELLED call true", "stream closed"]);
  });

  test("that is cut off while it writes has not had its message taken", async () => {
    const taken = vi.fn();
    await stream(async (_message, call, send) => {
      const { write } = call as unknown as { write: (bytes: Buffer, done: (error: Error) => void) => void };
      Object.assign(call, {
        write: (bytes: Buffer, done: (error: Error) => void) => write(bytes, () => done(new Error("gone"))),
      });
      send?.({ complete: true }, taken);
      return {};
    });
    expect(taken).not.toHaveBeenCalled();
  });
});

describe("the log", () => {
  const away = new Fault("unavailable", "test", "away", { retryAfterMs: 10 });

  test("says that calls fail by the surroundings once in a while, and how often it did not say so", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const { lines, context } = frame();
      for (let index = 0; index < 3; index++) context.faultLog.failed("Acquire", failureOf(away), away);
      vi.advanceTimersByTime(FAULT_LOG_INTERVAL_MS);
      context.faultLog.failed("Renew", failureOf(away), away);
      expect(lines).toMatchObject([
        { level: "warn", fields: { method: "Acquire", reason: "DATABASE_UNAVAILABLE", suppressed: 0 } },
        { level: "warn", fields: { method: "Renew", reason: "DATABASE_UNAVAILABLE", suppressed: 2 } },
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([true, false])("leaves an outage to its own log where that takes it (%s)", (isTaken) => {
    const { logger, lines } = frame();
    const failed = vi.fn(() => isTaken);
    new FaultLog(logger, { failed }).failed("Acquire", failureOf(away), away);
    expect(failed.mock.calls).toEqual([[{ method: "Acquire" }, away]]);
    expect(lines).toHaveLength(isTaken ? 0 : 1);
  });
});
