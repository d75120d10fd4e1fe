// The code around every call, and what the log says about failed calls; uses methods and calls without real work.

import { EventEmitter } from "node:events";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test, vi } from "vitest";
import { DeleteRecordRequestSchema, LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { OPEN_GATE } from "../../server/access/access.ts";
import { Usage } from "../../server/access/usage.ts";
import { ClientGone, Fault } from "../../server/engine/faults.ts";
import { SharedAdmission } from "../../server/grpc/admission.ts";
import { NOTHING } from "../../server/grpc/authorize.ts";
import { type Answer, ConnectionCalls, type Send } from "../../server/grpc/call.ts";
import { FaultLog } from "../../server/grpc/call-observer.ts";
import { FAULT_LOG_INTERVAL_MS } from "../../server/grpc/grpc-bounds.ts";
import { streamHandler, unaryHandler } from "../../server/grpc/lock-service.ts";
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
