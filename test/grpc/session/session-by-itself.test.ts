// A session by itself: its turns, its timers and what it reports of its calls. Its stream leads nowhere, the engine
// answers when a test says so, and timers belong to the test.

import { EventEmitter } from "node:events";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SessionRequestSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { NOBODY, OPEN_GATE } from "../../../server/access/access.ts";
import { Usage } from "../../../server/access/usage.ts";
import { Admission, SharedAdmission } from "../../../server/grpc/admission.ts";
import { FaultLog } from "../../../server/grpc/call-observer.ts";
import { COMMANDS_PER_TICK_MAX, CROWDED_COMMANDS_PER_TICK_MAX } from "../../../server/grpc/grpc-bounds.ts";
import { PlaceTurns } from "../../../server/grpc/methods/wait-in-queue.ts";
import { OpenWaits } from "../../../server/grpc/open-waits.ts";
import { Session, type SessionContext } from "../../../server/grpc/session/session.ts";
import { begunVerbs } from "../../support/begun-verbs.ts";
import { silentObserver } from "../../support/harness.ts";
import { NO_BOUND } from "../../support/no-bound.ts";

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

type Request = MessageInitShape<typeof SessionRequestSchema>;
const bytesOf = (request: Request) =>
  Buffer.from(toBinary(SessionRequestSchema, create(SessionRequestSchema, request)));

/** An open session, which the test cuts off. */
async function stage() {
  const deciding: PromiseWithResolvers<unknown>[] = [];
  const ask = () => {
    deciding.push(Promise.withResolvers());
    return deciding.at(-1)?.promise;
  };
  const engine = { nowUs: () => 0, onLost: () => () => {}, ask, ...begunVerbs({ ask }) };
  const logged: unknown[] = [];
  const log = (...line: unknown[]) => logged.push(line);
  const lasted: number[] = [];
  const call = (_method: string, _code: string, seconds: number) => lasted.push(seconds);
  const admission = new SharedAdmission();
  const context = {
    methods: { engine, turns: new PlaceTurns(), graceUs: 10_000_000 },
    openWaits: new OpenWaits(9, NO_BOUND),
    admission,
    observer: { ...silentObserver, call },
    faultLog: new FaultLog({ debug() {}, info() {}, warn: log, error: log }),
    ...{ gate: OPEN_GATE, usage: new Usage(), replica: "7" },
    ...{ waitsMax: 3, commandsMax: 2, messageBytesMax: 65_536 },
  } as unknown as SessionContext;
  const flow: string[] = [];
  const stream = Object.assign(new EventEmitter(), {
    cancelled: false,
    getPeer: () => "peer",
    write: (_message: Buffer, written: () => void) => written(),
    pause: () => flow.push("pause"),
    resume: () => flow.push("resume"),
    end() {},
  });
  new Session(context, stream as never, NOBODY).run().catch(() => {});
  const send = async (request: Request) => {
    stream.emit("data", bytesOf(request));
    await turn();
    await turn();
  };
  const cutOff = async () => {
    stream.cancelled = true;
    stream.emit("cancelled");
    await turn();
  };
  await send({ open: {} });
  return { admission, deciding, lasted, logged, flow, stream, send, cutOff };
}

const many = (count: number) => ({ commands: Array.from({ length: count }, () => ({ call: 1n })) });

test("each call's duration is reported to the metrics, and bugs to the log; an answered call has no timeout any more", async () => {
  const { send, deciding, lasted, logged, cutOff } = await stage();
  const timers = vi.getTimerCount();
  const command = { case: "deleteRecord" as const, value: { name: "a" } };
  await send({
    commands: [
      { call: 1n, command, timeout: { seconds: 60n } },
      { call: 2n, command },
    ],
  });
  await vi.advanceTimersByTimeAsync(500);
  deciding[0]?.resolve({ outcome: { kind: "unknown_lock" } });
  deciding[1]?.reject(new Error("a bug"));
  await turn();
  expect(lasted).toEqual([0.5, 0.5]);
  expect(logged).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(timers);
  await cutOff();
});

test("other sessions run after many commands in a turn, also of one request", async () => {
  const { send, stream, flow, cutOff } = await stage();
  for (let turns = 0; turns < 2; turns++) await send(many(COMMANDS_PER_TICK_MAX - 1));
  expect(flow).toEqual([]);
  await send(many(COMMANDS_PER_TICK_MAX));
  expect(flow).toEqual(["pause", "resume"]);
  // Two requests in one turn fill it together.
  flow.splice(0);
  stream.emit("data", bytesOf(many(1)));
  await send(many(COMMANDS_PER_TICK_MAX - 1));
  expect(flow).toEqual(["pause", "resume"]);
  // One of them fills the turn, and so does one of the others.
  flow.splice(0);
  await send(many(1 + 2 * COMMANDS_PER_TICK_MAX));
  await turn();
  expect(flow).toEqual(["pause", "pause", "resume"]);
  await cutOff();
});

test("a session that had a full turn has shorter turns while other clients are served", async () => {
  const { send, flow, admission, cutOff } = await stage();
  for (let clients = 0; clients < 2; clients++)
    new Admission(admission, "bound").enter({ call: { isUrgent: false }, begin() {}, drop() {} });
  await send(many(COMMANDS_PER_TICK_MAX - 1));
  expect(flow).toEqual([]);
  await send(many(COMMANDS_PER_TICK_MAX + 2 * CROWDED_COMMANDS_PER_TICK_MAX + 1));
  await turn();
  await turn();
  expect(flow).toEqual(["pause", "pause", "pause", "resume"]);
  // A turn that was not full is followed by one of the usual length.
  flow.splice(0);
  await send(many(COMMANDS_PER_TICK_MAX - 1));
  expect(flow).toEqual([]);
  await cutOff();
});
