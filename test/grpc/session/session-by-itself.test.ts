// A session and a server's set of sessions by themselves: streams lead nowhere, the engine answers when a test says
// so, and timers belong to the test.

import { EventEmitter } from "node:events";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import type { SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { SessionRequestSchema, SessionResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { NOBODY, OPEN_GATE } from "../../../server/access/access.ts";
import { Usage } from "../../../server/access/usage.ts";
import { formatClaimId } from "../../../server/core/claim.ts";
import type { DeleteRecord } from "../../../server/core/command.ts";
import { isGivenUp } from "../../../server/engine/faults.ts";
import { Admission, SharedAdmission } from "../../../server/grpc/admission.ts";
import type { Call } from "../../../server/grpc/call.ts";
import { FaultLog } from "../../../server/grpc/call-observer.ts";
import {
  COMMANDS_PER_TICK_MAX,
  CROWDED_COMMANDS_PER_TICK_MAX,
  LATE_MS,
} from "../../../server/grpc/grpc-bounds.ts";
import { PlaceTurns } from "../../../server/grpc/methods/place-updates.ts";
import { OpenWaits } from "../../../server/grpc/open-waits.ts";
import { Session, type SessionContext } from "../../../server/grpc/session/session.ts";
import { Sessions } from "../../../server/grpc/session/sessions.ts";
import { begunVerbs } from "../../support/begun-verbs.ts";
import { silentObserver } from "../../support/harness.ts";
import { NO_BOUND } from "../../support/no-bound.ts";

const GRACE_MS = 10_000;
const SILENCE_MS = 5_000;
const LOOK_MS = SILENCE_MS / 4;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"],
  });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

class FakeStream extends EventEmitter {
  cancelled = false;
  readonly messages: SessionResponse[] = [];
  readonly flow: string[] = [];
  isTaking = true;
  ended = 0;
  getPeer() {
    return "peer";
  }
  write(message: Buffer, written: () => void) {
    this.messages.push(fromBinary(SessionResponseSchema, message));
    if (this.isTaking) written();
  }
  pause() {
    this.flow.push("pause");
  }
  resume() {
    this.flow.push("resume");
  }
  end() {
    this.ended += 1;
  }
}

interface Deciding {
  readonly name: string;
  readonly answer: () => void;
  readonly fail: (error: Error) => void;
}

function context() {
  const deciding: Deciding[] = [];
  const acquired: { owner: string; labels: object }[] = [];
  const waiting: AbortSignal[] = [];
  const lasted: number[] = [];
  const seen: string[] = [];
  const engine = {
    nowUs: () => 0,
    onLost: () => () => {},
    ask: ({ name }: DeleteRecord) =>
      new Promise((resolve, reject) => {
        // Only a release has no name.
        const answer = () => resolve({ outcome: { kind: name ? "unknown_lock" : "unknown_claim" } });
        deciding.push({ name, answer, fail: reject });
      }),
    acquire: (ask: { owner: string; labels: object }, _: unknown, call: Call) => {
      acquired.push(ask);
      waiting.push(call.signal);
      return new Promise(() => {});
    },
    capture: (ask: { owner: string; labels: object }) => {
      acquired.push(ask);
      return new Promise(() => {});
    },
  };
  const logged: unknown[] = [];
  const logger = {
    debug() {},
    info() {},
    warn: (...line: unknown[]) => logged.push(line),
    error: (...line: unknown[]) => logged.push(line),
  };
  const observer = {
    ...silentObserver,
    call: (method: string, code: string, seconds: number, via: string) => {
      seen.push(`${method} ${code} ${via}`);
      lasted.push(seconds);
    },
    sessionClosed: (code: string) => seen.push(`closed ${code}`),
    sessionMessage: (direction: string, items: number) => seen.push(`${direction} ${items}`),
  };
  const openWaits = new OpenWaits(9, NO_BOUND);
  const sessionContext = {
    methods: {
      engine: { ...engine, ...begunVerbs(engine) },
      turns: new PlaceTurns(),
      graceUs: GRACE_MS * 1_000,
    },
    openWaits,
    admission: new SharedAdmission(),
    observer,
    faultLog: new FaultLog(logger),
    gate: OPEN_GATE,
    usage: new Usage(),
    replica: "7",
    waitsMax: 3,
    commandsMax: 2,
    messageBytesMax: 65_536,
  } as unknown as SessionContext;
  return { sessionContext, deciding, acquired, waiting, lasted, seen, logged };
}

type Request = MessageInitShape<typeof SessionRequestSchema>;
const bytesOf = (request: Request) =>
  Buffer.from(toBinary(SessionRequestSchema, create(SessionRequestSchema, request)));
const remove = (call: bigint, name = `lock ${call}`, more = {}) => ({
  call,
  command: { case: "deleteRecord" as const, value: { name } },
  ...more,
});
const cancel = (call: bigint) => ({ command: { case: "cancel" as const, value: call } });

async function stage(
  open: Request["open"] | null = { owner: "etl", labels: { host: "a1" } },
  changes: Partial<SessionContext> = {},
) {
  const world = context();
  Object.assign(world.sessionContext, changes);
  const stream = new FakeStream();
  const session = new Session(world.sessionContext, stream as never, NOBODY);
  let end: unknown = "not ended";
  session.run().then(
    () => {
      end = "in good order";
    },
    (error: unknown) => {
      end = error;
    },
  );
  const send = async (request: Request) => {
    stream.emit("data", bytesOf(request));
    await turn();
    await turn();
  };
  if (open) await send({ open });
  /** The result of each call. */
  const results = () =>
    stream.messages.flatMap((message) =>
      message.results.map(({ call, result }) =>
        result.case === "error" || result.case === "rejected"
          ? `${call} ${result.case} ${result.value.code}`
          : `${call} ${result.case}`,
      ),
    );
  const cutOff = async () => {
    stream.cancelled = true;
    stream.emit("cancelled");
    await turn();
  };
  return { ...world, session, stream, send, results, cutOff, end: () => end };
}

describe("a session", () => {
  test("refuses what is new while the next command has waited for long, says when to come back, and takes releases", async () => {
    const changes = { admission: new SharedAdmission(1, 1), commandsMax: 9 };
    const { send, deciding, results, seen, stream, cutOff } = await stage(undefined, changes);
    await send({ commands: [remove(1n), remove(2n)] });
    vi.advanceTimersByTime(LATE_MS + 1);
    const leaseId = formatClaimId({ lockId: 7n, ticketNumber: 1n, secret: "abcdefghijklmnopqrstuv" });
    await send({ commands: [remove(3n), { call: 4n, command: { case: "release", value: { leaseId } } }] });
    expect(results()).toEqual([`3 error ${status.RESOURCE_EXHAUSTED}`]);
    expect(seen).toContain("DeleteRecord RESOURCE_EXHAUSTED session");
    const { result } = stream.messages.at(-1)?.results[0] ?? {};
    const details = result?.case === "error" ? result.value.details : [];
    const retryInfo = details.map((detail) => anyUnpack(detail, RetryInfoSchema)).find((detail) => detail);
    expect(retryInfo?.retryDelay?.seconds).toBe(2n);
    // The release is the next command.
    deciding[0]?.answer();
    await turn();
    deciding[1]?.answer();
    await turn();
    await turn();
    expect(results()).toContain(`4 error ${status.NOT_FOUND}`);
    expect(deciding[2]).toMatchObject({ name: "lock 2" });
    await cutOff();
  });

  test("gives its owner and labels also to captures, and to waits in the queue", async () => {
    const { send, acquired, cutOff } = await stage();
    const capture = {
      case: "capture" as const,
      value: { from: { case: "names" as const, value: { names: ["a"] } }, maxLeases: 1 },
    };
    const target = { case: "request" as const, value: { name: "b" } };
    const wait = { case: "waitInQueue" as const, value: { target } };
    await send({
      commands: [
        { call: 1n, command: capture },
        { call: 2n, command: wait },
      ],
    });
    const own = { owner: "etl", labels: { host: "a1" } };
    expect(acquired).toMatchObject([own, own]);
    await cutOff();
  });

  test("has room for commands beside its waits, which are ended with it", async () => {
    const { send, results, waiting, cutOff } = await stage();
    const wait = (call: bigint) => ({
      call,
      command: {
        case: "acquire" as const,
        value: { name: "a", whenBusy: { case: "wait" as const, value: {} } },
      },
    });
    await send({ commands: [wait(1n), wait(2n), wait(3n), remove(4n), remove(5n)] });
    expect(results()).toEqual([]);
    await send({ commands: [cancel(1n)] });
    expect(waiting.map((signal) => [signal.aborted, isGivenUp(signal)])).toEqual([
      [true, true],
      [false, false],
      [false, false],
    ]);
    await cutOff();
    expect(waiting.map((signal) => [signal.aborted, isGivenUp(signal)])).toEqual([
      [true, true],
      [true, false],
      [true, false],
    ]);
  });

  test("names the mistake in a command, and its number", async () => {
    const { send, stream, cutOff } = await stage();
    await send({ commands: [remove(0n), remove(1n), remove(1n), { call: 2n }] });
    const wrong = stream.messages.flatMap(({ results }) =>
      results.flatMap(({ result }) =>
        result.case === "error" || result.case === "rejected"
          ? RowlockError.ofStatus(result.value).violations.map((one) => `${one.field} ${one.description}`)
          : [],
      ),
    );
    expect(wrong.toSorted()).toEqual([
      expect.stringMatching(/^call is 0:/),
      expect.stringMatching(/^call is 1, the number of an open call/),
      expect.stringMatching(/^command is required/),
    ]);
    await cutOff();
  });

  test("reports each call's duration to the metrics, and bugs to the log; an answered call has no timeout any more", async () => {
    const { send, deciding, lasted, logged, cutOff } = await stage();
    const timers = vi.getTimerCount();
    await send({ commands: [remove(1n, "a", { timeout: { seconds: 60n } }), remove(2n)] });
    await vi.advanceTimersByTimeAsync(500);
    deciding[0]?.answer();
    deciding[1]?.fail(new Error("a bug"));
    await turn();
    expect(lasted).toEqual([0.5, 0.5]);
    expect(logged).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(timers);
    await cutOff();
  });

  const numberless = (count: number) => ({ commands: Array.from({ length: count }, () => ({ call: 1n })) });

  test("lets other sessions run after many commands in a turn, also of one request", async () => {
    const { send, stream, cutOff } = await stage();
    for (let turns = 0; turns < 2; turns++) await send(numberless(COMMANDS_PER_TICK_MAX - 1));
    expect(stream.flow).toEqual([]);
    await send(numberless(COMMANDS_PER_TICK_MAX));
    expect(stream.flow).toEqual(["pause", "resume"]);
    // Two requests in one turn fill it together.
    stream.flow.splice(0);
    stream.emit("data", bytesOf(numberless(1)));
    await send(numberless(COMMANDS_PER_TICK_MAX - 1));
    expect(stream.flow).toEqual(["pause", "resume"]);
    // One of them fills the turn, and so does one of the others.
    stream.flow.splice(0);
    await send(numberless(1 + 2 * COMMANDS_PER_TICK_MAX));
    await turn();
    expect(stream.flow).toEqual(["pause", "pause", "resume"]);
    await cutOff();
  });

  test("after a full turn has shorter turns while other clients are served", async () => {
    const { send, stream, sessionContext, cutOff } = await stage();
    const { admission } = sessionContext;
    for (let clients = 0; clients < 2; clients++)
      new Admission(admission, "bound").enter({ call: { isUrgent: false }, begin() {}, drop() {} });
    await send(numberless(COMMANDS_PER_TICK_MAX - 1));
    expect(stream.flow).toEqual([]);
    await send(numberless(COMMANDS_PER_TICK_MAX + 2 * CROWDED_COMMANDS_PER_TICK_MAX + 1));
    await turn();
    await turn();
    expect(stream.flow).toEqual(["pause", "pause", "pause", "resume"]);
    // A turn that was not full is followed by one of the usual length.
    stream.flow.splice(0);
    await send(numberless(COMMANDS_PER_TICK_MAX - 1));
    expect(stream.flow).toEqual([]);
    await cutOff();
  });
});

describe("a session ends", () => {
  test("at once if its client was gone before it began", async () => {
    const { sessionContext } = context();
    const stream = Object.assign(new FakeStream(), { cancelled: true });
    const session = new Session(sessionContext, stream as never, NOBODY);
    await expect(session.run()).rejects.toThrow("does not wait any more");
  });

  test("when nothing is heard of its client in four looks, and no sooner", async () => {
    const { send, end, stream, deciding } = await stage();
    await vi.advanceTimersByTimeAsync(4 * LOOK_MS);
    expect(end()).toBe("not ended");
    await send({});
    await vi.advanceTimersByTimeAsync(4 * LOOK_MS);
    expect(end()).toBe("not ended");
    await vi.advanceTimersByTimeAsync(LOOK_MS);
    expect(end()).toMatchObject({ reason: "SESSION_SILENT" });
    // Its stream is still open, and the server sends nothing more on it.
    const { length } = stream.messages;
    await send({ commands: [remove(1n)] });
    expect([stream.messages.length, deciding.length]).toEqual([length, 0]);
  });
});

describe("the sessions of a server", () => {
  function open(sessions: Sessions) {
    const stream = new FakeStream();
    const failures: { code: number }[] = [];
    stream.on("error", (error: { code: number }) => failures.push(error));
    const handler = sessions.handler as unknown as (one: FakeStream) => Promise<void>;
    return { stream, failures, done: handler(stream) };
  }

  test("are counted as they begin and end, in good order, by a failure, or with their client", async () => {
    const { sessionContext, seen, logged } = context();
    const sessions = new Sessions(sessionContext, NO_BOUND);
    const [good, bad, gone] = [open(sessions), open(sessions), open(sessions)];
    expect(sessions.bounds[0]).toMatchObject({ bound: "server_sessions", used: 3 });
    good.stream.emit("data", bytesOf({ open: {} }));
    good.stream.emit("end");
    await good.done;
    bad.stream.emit("data", bytesOf({}));
    await bad.done;
    gone.stream.cancelled = true;
    gone.stream.emit("cancelled");
    await gone.done;
    expect([good, bad, gone].map(({ stream, failures }) => [stream.ended, failures.length])).toEqual([
      [1, 0],
      [0, 1],
      [0, 0],
    ]);
    expect(bad.failures).toMatchObject([{ code: 3 }]);
    expect(sessions.bounds[0]).toMatchObject({ used: 0 });
    expect(seen.filter((one) => /closed/.test(one))).toEqual([
      "closed OK",
      "closed INVALID_ARGUMENT",
      "closed CANCELLED",
    ]);
    expect(logged).toEqual([]);
  });

  test("are bounded, and refused while memory is short", async () => {
    const { sessionContext } = context();
    const room = { ...NO_BOUND, sessions: 1 };
    const sessions = new Sessions(sessionContext, room);
    const first = open(sessions);
    const second = open(sessions);
    await second.done;
    expect(second.failures).toMatchObject([{ code: 8 }]);
    first.stream.cancelled = true;
    first.stream.emit("cancelled");
    await first.done;
    const third = open(sessions);
    expect(sessions.bounds[0]).toEqual({ bound: "server_sessions", kind: "room", used: 1, max: 1 });
    third.stream.emit("cancelled");
    await third.done;
    const short = open(new Sessions(sessionContext, { ...NO_BOUND, isShort: () => true }));
    await short.done;
    expect(short.failures).toMatchObject([{ code: 8 }]);
  });

  test("all hear of the stop, even later ones; only existing ones are sent elsewhere", async () => {
    const { sessionContext } = context();
    const sessions = new Sessions(sessionContext, NO_BOUND);
    const first = open(sessions);
    first.stream.emit("data", bytesOf({ open: {} }));
    sessions.sendElsewhere();
    await first.done;
    expect(first.failures).toMatchObject([{ code: 14 }]);
    const second = open(sessions);
    second.stream.emit("data", bytesOf({ open: {} }));
    await turn();
    expect(second.failures).toEqual([]);
    sessions.drain();
    sessions.drain();
    await second.done;
    const third = open(sessions);
    await third.done;
    for (const { stream, failures } of [second, third]) {
      expect(stream.messages.filter(({ goingAway }) => goingAway)).toHaveLength(1);
      expect(failures).toMatchObject([{ code: 14 }]);
    }
  });
});
