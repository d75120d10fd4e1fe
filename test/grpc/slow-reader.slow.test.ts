// A client that holds a stream and does not read it: the server must buffer little for it.

import { connect } from "node:http2";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  WaitInQueueRequestSchema,
  WaitInQueueResponseSchema,
  WatchLocksRequestSchema,
  WatchLocksResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { Follower } from "../../server/engine/answers.ts";
import type { TestServer } from "../support/harness.ts";
import { replacing, startServer, until } from "../support/harness.ts";
import { callHeaders, grpcMessage } from "../support/http2-frames.ts";

const callOf = (method: string) => Object.fromEntries(callHeaders(`/rowlock.v1.LockService/${method}`));
const UPDATES = 20_000;
const CHANGES = 60;

let server: TestServer;
const followed = Promise.withResolvers<Follower>();
beforeAll(async () => {
  server = await startServer({
    wrapEngine: (engine) =>
      replacing(engine, {
        async acquire(ask, waiter) {
          const answer = await engine.acquire(ask, waiter);
          if (waiter) followed.resolve(waiter);
          return answer;
        },
      }),
  });
});
afterAll(() => server.stop());

test("the server buffers one position for a client that does not read, and then the grant", async () => {
  const { leaseId } = await server.client.lease({ name: "slow" });
  // A zero window: the server may send headers but no byte of a message.
  const session = connect(`http://${server.address}`, { settings: { initialWindowSize: 0 } });
  const stream = session.request(callOf("WaitInQueue"));
  const received: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => received.push(chunk));
  const request = create(WaitInQueueRequestSchema, {
    target: { case: "request", value: { name: "slow" } },
    minUpdateInterval: { seconds: 0n, nanos: 0 },
  });
  stream.end(grpcMessage(toBinary(WaitInQueueRequestSchema, request)));
  const waiter = await followed.promise;

  for (let step = 0; step < UPDATES; step++) {
    waiter.placed?.({ ahead: UPDATES - step, permitsAhead: UPDATES - step, queueLength: UPDATES }, 1);
    if (step % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const granted = server.event(
    ({ kind, ...event }) => kind === "granted" && "queued" in event && event.queued,
  );
  await server.client.call("release", { leaseId });
  await granted;
  expect(received).toEqual([]);

  session.settings({ initialWindowSize: 1_000_000 });
  await new Promise((resolve) => stream.on("end", resolve));
  const updates = messages(WaitInQueueResponseSchema, received).map(({ update }) => update.case);
  expect(updates.length).toBeLessThanOrEqual(3);
  expect(updates.at(-1)).toBe("granted");
  session.close();
});

test("the server buffers one message for a watch that is not read, and then the final state", async () => {
  const { client } = server;
  const session = connect(`http://${server.address}`, { settings: { initialWindowSize: 0 } });
  const stream = session.request(callOf("WatchLocks"));
  const received: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => received.push(chunk));
  const request = create(WatchLocksRequestSchema, { prefix: "watched/" });
  stream.end(grpcMessage(toBinary(WatchLocksRequestSchema, request)));
  await until(() => server.watchEvents.some(({ kind }) => kind === "watch_sent"));
  const told = () => server.watchEvents.filter(({ kind }) => kind === "watch_sent").length;
  for (let round = 0; round < CHANGES; round++)
    for (const name of ["watched/a", "watched/b"])
      await client.call("release", {
        leaseId: (await client.lease({ name, terms: { owner: `round ${round}` } })).leaseId,
      });
  await client.lease({ name: "watched/b", terms: { owner: "the last" } });
  expect(told()).toBe(1);
  expect(received).toEqual([]);

  session.settings({ initialWindowSize: 1_000_000 });
  const lastOf = (name: string) =>
    messages(WatchLocksResponseSchema, received)
      .flatMap(({ locks }) => locks)
      .findLast((lock) => lock.name === name);
  await until(
    () => lastOf("watched/b")?.holders[0]?.owner === "the last" && lastOf("watched/a") !== undefined,
  );
  expect(messages(WatchLocksResponseSchema, received).length).toBeLessThanOrEqual(4);
  expect(lastOf("watched/a")?.holderCount).toBe(0);
  session.destroy();
});

/** The complete messages. */
function messages<Schema extends DescMessage>(
  schema: Schema,
  received: readonly Buffer[],
): MessageShape<Schema>[] {
  const bytes = Buffer.concat(received);
  const found: MessageShape<Schema>[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    found.push(fromBinary(schema, bytes.subarray(at + 5, end)));
    at = end;
  }
  return found;
}
