// When the client opens the next connection, with fake channels and the test's own timers.

import { EventEmitter } from "node:events";
import { create, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";
import { Connections } from "../../../clients/typescript/src/connection/connections.ts";
import { settingsOf } from "../../../clients/typescript/src/options.ts";
import { RowlockError } from "../../../clients/typescript/src/rowlock-error.ts";
import { SessionResponseSchema } from "../../../proto/gen/rowlock/v1/lock_service_pb.js";

interface Opened {
  readonly address: string;
  readonly atMs: number;
  readonly stream: EventEmitter;
}

const channels: Opened[] = vi.hoisted(() => []);
vi.mock("../../../clients/typescript/src/channels.ts", () => ({
  metadataOf: () => ({}),
  openChannel: (address: string) => {
    const stream = Object.assign(new EventEmitter(), { write() {}, cancel() {}, end() {} });
    channels.push({ address, atMs: Date.now(), stream });
    return { makeBidiStreamRequest: () => stream, waitForReady() {}, close() {} };
  },
}));

const LASTS_MS = 1_000;
let connections: Connections | undefined;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(async () => {
  await close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function close(): Promise<void> {
  const closed = connections?.close(0);
  await vi.advanceTimersByTimeAsync(1);
  await closed;
  channels.length = 0;
}

async function stage(...addresses: string[]) {
  connections = new Connections({
    settings: settingsOf({ addresses, connectTimeout: Number.POSITIVE_INFINITY }),
    clock: new Clock(() => performance.now()),
    isNeeded: () => true,
    onBegun() {},
    onNews() {},
    onLeaving() {},
    onEnded() {},
    onHopeless() {},
  });
  connections.need();
  await vi.advanceTimersByTimeAsync(0);
  expect(channels).toHaveLength(1);
  return connections;
}

const latest = () => channels.at(-1) as Opened;

function open(): void {
  const response = create(SessionResponseSchema, { opened: { messageBytesMax: 65_536 }, heard: 1n });
  latest().stream.emit("data", Buffer.from(toBinary(SessionResponseSchema, response)));
}

/** Ends the latest connection. Resolves with the time until the next one was opened, and its address. */
async function lose(): Promise<[number, string]> {
  const [count, atMs] = [channels.length, Date.now()];
  latest().stream.emit("error", { code: status.UNAVAILABLE, details: "gone" });
  for (let passedMs = 0; channels.length === count && passedMs < 10_000; passedMs += 10)
    await vi.advanceTimersByTimeAsync(10);
  expect(channels).toHaveLength(count + 1);
  return [latest().atMs - atMs, latest().address];
}

test("after each round in which all servers failed there is a pause, longer each time, up to two seconds", async () => {
  await stage("a", "b");
  const seen: [number, string][] = [];
  for (let index = 0; index < 14; index++) seen.push(await lose());
  const pauses = [100, 200, 400, 800, 1_600, 2_000].flatMap((pauseMs) => [
    [0, "b"],
    [pauseMs, "a"],
  ]);
  expect(seen.slice(0, 12)).toEqual(pauses);
});

test("a connection that has not lasted for a second counts as a failure", async () => {
  await stage("a");
  open();
  await vi.advanceTimersByTimeAsync(LASTS_MS - 1);
  expect(await lose()).toEqual([100, "a"]);
  open();
  await vi.advanceTimersByTimeAsync(LASTS_MS - 1);
  expect(await lose()).toEqual([200, "a"]);
});

test("after a connection that lasted, the next one opens at once and the failure count starts again", async () => {
  await stage("a");
  expect(await lose()).toEqual([100, "a"]);
  open();
  await vi.advanceTimersByTimeAsync(LASTS_MS);
  expect(await lose()).toEqual([0, "a"]);
  expect(await lose()).toEqual([100, "a"]);
});

test("a server that cannot do a call is replaced after a second, unless it is the only one", async () => {
  const why = new RowlockError("DATABASE_UNAVAILABLE", "UNAVAILABLE", "away");
  const several = await stage("a", "b");
  several.leave(why);
  open();
  several.leave(why);
  await vi.advanceTimersByTimeAsync(LASTS_MS - 1);
  several.leave(why);
  await vi.advanceTimersByTimeAsync(0);
  expect(several.open?.address).toBe("a");
  await vi.advanceTimersByTimeAsync(1);
  several.leave(why);
  await vi.advanceTimersByTimeAsync(0);
  expect(latest().address).toBe("b");
  await close();
  const alone = await stage("a");
  open();
  await vi.advanceTimersByTimeAsync(10 * LASTS_MS);
  alone.leave(why);
  expect(alone.open?.address).toBe("a");
});
