// The code around every call, and what the log says about failed calls; uses methods and calls without real work.

import { EventEmitter } from "node:events";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { describe, expect, test, vi } from "vitest";
import {
  DeleteRecordRequestSchema,
  DeleteRecordResponseSchema,
  LockService,
  WatchLocksResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { OPEN_GATE } from "../../server/access/access.ts";
import { Usage } from "../../server/access/usage.ts";
import { ClientGone, Fault } from "../../server/engine/faults.ts";
import { SharedAdmission } from "../../server/grpc/admission.ts";
import { NOTHING } from "../../server/grpc/authorize.ts";
import { type Answer, ConnectionCalls, type Send } from "../../server/grpc/call.ts";
import { FaultLog } from "../../server/grpc/call-observer.ts";
import { FAULT_LOG_INTERVAL_MS } from "../../server/grpc/grpc-bounds.ts";
import { streamHandler, unaryHandler } from "../../server/grpc/lock-service.ts";
import { lockInUse } from "../../server/grpc/messages/call-error.ts";
import { failureOf } from "../../server/grpc/messages/status.ts";
import type { AnyVerb } from "../../server/grpc/verbs.ts";
import { fakeCall } from "../support/fake-call.ts";
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

type Run = (message: unknown, send: Send<Answer>) => Promise<Answer | Buffer | undefined>;

/** A verb with this method, and what serves it. */
function served(of: AnyVerb["of"], run: Run) {
  const world = frame();
  const verb: AnyVerb = {
    of,
    check: (message) => message,
    begin: (_context, asked, call) =>
      void run(asked, (message, written) => call.send(message, written)).then(
        (answer) => call.answer(answer),
        (error) => call.fail(error),
      ),
    admission: "none",
    needs: { verb: of.name, right: "read" },
    touches: () => NOTHING,
    isWait: () => false,
    leases: () => [],
  };
  const connections = new ConnectionCalls(9, new SharedAdmission(), fakeCall().client.waits, new Usage());
  return {
    ...world,
    verb,
    connections,
    serving: { ...world.context, methods: {} as never, connections, gate: OPEN_GATE },
  };
}

const BYTES = Buffer.from(
  toBinary(DeleteRecordRequestSchema, create(DeleteRecordRequestSchema, { name: "a" })),
);
const callOf = (more: object = {}) => ({
  request: BYTES,
  cancelled: false,
  getPeer: () => "one:1",
  once() {},
  getDeadline: () => Number.POSITIVE_INFINITY,
  ...more,
});

async function unary(run: Run, call = callOf()) {
  const world = served(LockService.method.deleteRecord, run);
  const answers: unknown[][] = [];
  const handler = unaryHandler(world.verb, world.serving);
  await handler(call as never, ((...answer: unknown[]) => answers.push(answer)) as never);
  expect(world.connections.connections).toBe(0);
  return { ...world, answers };
}

describe("a unary call", () => {
  test("is decoded, run, and answered once with the method's result", async () => {
    const asked: unknown[] = [];
    const { answers, seen } = await unary(async (message) => {
      asked.push(message);
      return { deleted: true };
    });
    expect(asked).toMatchObject([{ name: "a" }]);
    expect(answers).toHaveLength(1);
    const [error, bytes] = answers[0] as [null, Buffer];
    expect(error).toBeNull();
    expect(fromBinary(DeleteRecordResponseSchema, bytes)).toMatchObject({ deleted: true });
    expect(seen).toEqual(["DeleteRecord OK call true"]);
  });

  test("is answered with the bytes that its method has encoded itself", async () => {
    const made = Buffer.from([8, 1]);
    const { answers } = await unary(async () => made);
    expect(answers).toEqual([[null, made]]);
  });

  test("whose bytes are no message is refused, and its method does not run", async () => {
    const run = vi.fn();
    const { answers, seen } = await unary(run, callOf({ request: Buffer.from([0x0a, 200]) }));
    expect(run).not.toHaveBeenCalled();
    expect(answers).toMatchObject([[{ code: status.INVALID_ARGUMENT }]]);
    expect(seen).toEqual(["DeleteRecord INVALID_ARGUMENT call true"]);
  });

  test("that fails with a bug is answered without details, and the log has all of them", async () => {
    const bug = new TypeError("secret detail");
    const { answers, lines } = await unary(() => Promise.reject(bug));
    expect(answers).toMatchObject([
      [{ code: status.INTERNAL, details: expect.not.stringContaining("secret") }],
    ]);
    expect(lines).toMatchObject([{ level: "error", fields: { method: "DeleteRecord", err: bug } }]);
  });

  test("with a mistake of its caller is not in the log", async () => {
    const { answers, lines } = await unary(() => Promise.reject(lockInUse("a")));
    expect(answers).toMatchObject([[{ code: status.FAILED_PRECONDITION }]]);
    expect(lines).toEqual([]);
  });

  test("that its client cancelled counts as cancelled, whatever its outcome, and is not in the log", async () => {
    const { seen, lines } = await unary(() => Promise.reject(new ClientGone()), callOf({ cancelled: true }));
    expect([seen, lines]).toEqual([["DeleteRecord CANCELLED call true"], []]);
    const done = await unary(async () => ({ deleted: true }), callOf({ cancelled: true }));
    expect(done.seen).toEqual(["DeleteRecord CANCELLED call true"]);
  });

  test("whose time is over, or will be in a moment, counts as timed out", async () => {
    for (const [inMs, code] of [
      [-1, "DEADLINE_EXCEEDED"],
      [50, "DEADLINE_EXCEEDED"],
      [5_000, "CANCELLED"],
    ] as const) {
      const call = callOf({ cancelled: true, getDeadline: () => Date.now() + inMs });
      const { seen } = await unary(() => Promise.reject(new ClientGone()), call);
      expect(seen).toEqual([`DeleteRecord ${code} call true`]);
    }
  });
});

describe("a stream", () => {
  async function stream(run: Run, more: object = {}, failure: Error | null = null) {
    const world = served(LockService.method.watchLocks, run);
    const written: Buffer[] = [];
    const errors: { code: number }[] = [];
    const state = { ended: 0 };
    const call = Object.assign(new EventEmitter(), callOf(more), {
      request: Buffer.alloc(0),
      write: (bytes: Buffer, done: (error: Error | null) => void) => {
        written.push(bytes);
        done(failure);
      },
      end: () => {
        state.ended += 1;
      },
    });
    call.on("error", (error: { code: number }) => errors.push(error));
    await streamHandler(world.verb, world.serving)(call as never);
    expect(world.connections.connections).toBe(0);
    return { ...world, call, written, errors, state };
  }

  test("sends each message, reports when it was written, and ends in good order", async () => {
    const taken: string[] = [];
    const { written, state, seen, errors } = await stream(async (_message, send) => {
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

  test("ends with the status of its method's error", async () => {
    const { errors, state, seen } = await stream(() => Promise.reject(lockInUse("a")));
    expect([errors.map(({ code }) => code), state.ended]).toEqual([[status.FAILED_PRECONDITION], 0]);
    expect(seen).toEqual(["stream opened", "WatchLocks FAILED_PRECONDITION call true", "stream closed"]);
  });

  test("whose client is gone sends nothing, neither a message nor the end", async () => {
    const { written, errors, seen } = await stream(
      async (_message, send) => {
        send?.({ complete: true });
        throw new ClientGone();
      },
      { cancelled: true },
    );
    expect([written, errors]).toEqual([[], []]);
    expect(seen).toEqual(["stream opened", "WatchLocks CANCELLED call true", "stream closed"]);
  });

  test("that is cut off during a write reports the message as not written", async () => {
    const taken = vi.fn();
    const run: Run = async (_message, send) => {
      send?.({ complete: true }, taken);
      return {};
    };
    await stream(run, {}, new Error("gone"));
    expect(taken).not.toHaveBeenCalled();
  });
});

describe("the log", () => {
  const away = new Fault("unavailable", "test", "away", { retryAfterMs: 10 });

  test("has failures caused by the environment now and then, with the number of suppressed lines", () => {
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

  test.each([true, false])("leaves an outage to its own log if that accepts it (%s)", (isTaken) => {
    const { logger, lines } = frame();
    const failed = vi.fn(() => isTaken);
    new FaultLog(logger, { failed }).failed("Acquire", failureOf(away), away);
    expect(failed.mock.calls).toEqual([[{ method: "Acquire" }, away]]);
    expect(lines).toHaveLength(isTaken ? 0 : 1);
  });
});
