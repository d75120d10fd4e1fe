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
import { NOBODY, OPEN_GATE } from "../../../server/access/access.ts";
import { Usage } from "../../../server/access/usage.ts";
import { formatClaimId } from "../../../server/core/claim.ts";
import type { DeleteRecord } from "../../../server/core/command.ts";
import { Admission, SharedAdmission } from "../../../server/grpc/admission.ts";
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
    frame: { observer, faultLog: new FaultLog(logger) },
    gate: OPEN_GATE,
    usage: new Usage(),
    replica: "7",
    waitsMax: 3,
    commandsMax: 2,
    messageBytesMax: 65_536,
  } as unknown as SessionContext;
  return { sessionContext, deciding, lasted, seen, logged };
}

type Request = MessageInitShape<typeof SessionRequestSchema>;
const bytesOf = (request: Request) =>
  Buffer.from(toBinary(SessionRequestSchema, create(SessionRequestSchema, request)));
const remove = (call: bigint, name = `lock ${call}`, more = {}) => ({
  call,
  command: { case: "deleteRecord" as const, value: { name } },
  ...more,
});

async function stage(changes: Partial<SessionContext> = {}) {
  const world = context();
  Object.assign(world.sessionContext, changes);
  const stream = new FakeStream();
  const session = new Session(world.sessionContext, stream as never, NOBODY);
  session.run().catch(() => {});
  const send = async (request: Request) => {
    stream.emit("data", bytesOf(request));
    await turn();
    await turn();
  };
  await send({ open: {} });
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
  return { ...world, session, stream, send, results, cutOff };
}

describe("a session", () => {
  test("refuses what is new while the next command has waited for long, says when to come back, and takes releases", async () => {
    const changes = { admission: new SharedAdmission(1, 1), commandsMax: 9 };
    const { send, deciding, results, seen, stream, cutOff } = await stage(changes);
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

describe("a session that begins", () => {
  test("ends at once if its client was gone before it began", async () => {
    const { sessionContext } = context();
    const stream = Object.assign(new FakeStream(), { cancelled: true });
    const session = new Session(sessionContext, stream as never, NOBODY);
    await expect(session.run()).rejects.toThrow("does not wait any more");
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
});
