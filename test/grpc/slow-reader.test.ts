// A client that holds a stream and does not read from it: what the server keeps for it must stay small.

import { connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WaitInQueueResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { WaitInQueueRequestSchema, WaitInQueueResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Follower } from "../../server/engine/lock-engine.ts";
import type { TestServer } from "../support/harness.ts";
import { replacing, startServer } from "../support/harness.ts";

const UPDATES = 20_000;

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

test("a reader that never reads is owed one position at a time, and the grant in the end", async () => {
  const { leaseId } = await server.client.lease({ name: "slow" });
  // No window: the server may send headers, and not a byte of a message.
  const session = connect(`http://${server.address}`, { settings: { initialWindowSize: 0 } });
  const stream = session.request({
    ":method": "POST",
    ":path": "/rowlock.v1.LockService/WaitInQueue",
    "content-type": "application/grpc",
    te: "trailers",
  });
  const received: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => received.push(chunk));
  stream.end(frame());
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
  const updates = messages(Buffer.concat(received)).map(({ update }) => update.case);
  expect(updates.length).toBeLessThanOrEqual(3);
  expect(updates.at(-1)).toBe("granted");
  session.close();
});

function frame(): Buffer {
  const request = create(WaitInQueueRequestSchema, {
    target: { case: "acquire", value: { name: "slow" } },
    minUpdateInterval: { seconds: 0n, nanos: 0 },
  });
  const bytes = toBinary(WaitInQueueRequestSchema, request);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function messages(bytes: Buffer): WaitInQueueResponse[] {
  const found: WaitInQueueResponse[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    found.push(fromBinary(WaitInQueueResponseSchema, bytes.subarray(at + 5, at + 5 + length)));
    at += 5 + length;
  }
  return found;
}
