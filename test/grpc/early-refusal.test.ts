// A call that is refused before its request is read, and what a real client sees of that.

import { EventEmitter } from "node:events";
import { promisify } from "node:util";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FrontDoor } from "../../server/grpc/front-door.ts";
import { HEADER_BYTES_MAX } from "../../server/grpc/grpc-bounds.ts";
import { OpenStreams } from "../../server/grpc/open-streams.ts";
import { Standing } from "../../server/grpc/standing.ts";
import { limitConnections } from "../../server/grpc/transport-limits.ts";
import { queued, TestCalls } from "../support/test-calls.ts";

const REFUSED = {
  code: "RESOURCE_EXHAUSTED",
  reason: "OVERLOADED",
  metadata: { bound: "calls_on_connection" },
  retryAfterMs: 4_700,
};
/** The server has no methods, so this is what a call gets that was not refused. */
const PASSED = { code: "UNIMPLEMENTED" };

let server: Server;
let door: FrontDoor;
let client: TestCalls;
const late = vi.fn((_peer: string): number | undefined => 4_700);
const call = vi.fn();
const failed = vi.fn();

beforeEach(async () => {
  for (const mock of [call, failed]) mock.mockClear();
  late.mockReset().mockReturnValue(4_700);
  server = new Server();
  const standing = new Standing({ openMax: 100 });
  door = new FrontDoor({
    ...{ headerBytesMax: HEADER_BYTES_MAX, isOpen: true, withoutHeader: null, standing },
    streams: new OpenStreams({}),
    reading: { opened: () => 1 },
    frame: { observer: { call }, faultLog: { failed } },
    retryAfterIfLate: late,
  });
  limitConnections(server, {
    openMax: 100,
    connectionsMax: 10,
    ...{ door, standing },
  });
  const bind = promisify(server.bindAsync.bind(server));
  client = new TestCalls(`127.0.0.1:${await bind("127.0.0.1:0", ServerCredentials.createInsecure())}`);
});
afterEach(() => {
  client.close();
  server.forceShutdown();
});

test("a call or stream for something new on a connection whose calls wait for too long is refused, counted and logged", async () => {
  await expect(client.call("acquire", { name: "any" })).rejects.toMatchObject(REFUSED);
  expect(await client.wait(queued({ name: "any" })).failure()).toMatchObject(REFUSED);
  expect(late.mock.calls).toEqual(Array(2).fill([expect.stringMatching(/^127\.0\.0\.1:\d+$/)]));
  const methods = ["Acquire", "WaitInQueue"];
  expect(call.mock.calls).toEqual(methods.map((method) => [method, "RESOURCE_EXHAUSTED", 0, "call"]));
  const overloaded = expect.objectContaining({ reason: "OVERLOADED" });
  expect(failed.mock.calls.map((told) => told.slice(0, 3))).toEqual(
    methods.map((method) => [method, overloaded, expect.any(Error)]),
  );
});

test("renewals and releases are not refused, nor what comes on other connections", async () => {
  for (const verb of ["renew", "release"] as const)
    await expect(client.call(verb, { leaseId: "any" })).rejects.toMatchObject(PASSED);
  late.mockReturnValue(undefined);
  await expect(client.call("acquire", { name: "any" })).rejects.toMatchObject(PASSED);
  expect(call).not.toHaveBeenCalled();
});

test("sessions and other services are never refused", async () => {
  const isBegun = (path: string) =>
    new Promise((resolve) => {
      const stream = Object.assign(new EventEmitter(), {
        ...{ session: {}, respond: () => resolve(false), resume() {}, close() {} },
      });
      vi.spyOn(Standing.prototype, "peerOf").mockReturnValue("one:1");
      door.take(stream as never, { ":path": path }, [], () => resolve(true));
    });
  for (const path of [
    "/rowlock.v1.LockService/Session",
    "/grpc.health.v1.Health/Check",
    "/rowlock.v1.LockService/Renew",
  ])
    expect(await isBegun(path)).toBe(true);
  expect(await isBegun("/rowlock.v1.LockService/Capture")).toBe(false);
  vi.restoreAllMocks();
});
