// A client that cancels many calls keeps its connection, and all other calls on it. One that does nothing else is ended:
// test/attacks/frames.long.test.ts.

import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import { SHORT_CALLS_MAX } from "../../server/grpc/grpc-bounds.ts";
import { serverOfTest, until } from "../support/harness.ts";
import { callHeaders } from "../support/http2-frames.ts";
import { queued } from "../support/test-calls.ts";

const BUSY = queued({ name: "busy" });
/** More than Node's own limit for the resets of a connection. */
const BURST = 2_000;
const ROUND = 1_000;

test("a client that cancels many calls keeps its connection, and all other calls on it", async () => {
  const { client, openStreams } = await serverOfTest({ grpc: { streamsMax: 1_000 } });
  const { leaseId } = await client.lease({ name: "busy" });
  const witness = client.wait(BUSY);
  await witness.position();
  for (const count of [BURST, ROUND]) {
    const streams = Array.from({ length: count }, () => client.wait(BUSY));
    const failures = streams.map((stream) => stream.failure());
    // Not in the turn that starts the call: grpc-js does not report such a cancellation to the server.
    await new Promise(setImmediate);
    for (const stream of streams) stream.cancel();
    for (const { code } of await Promise.all(failures)) expect(code).toMatch(/CANCELLED|RESOURCE_EXHAUSTED/);
    // A slow server has not seen all of the cancellations yet.
    await until(() => openStreams() === 1);
    await client.call("renew", { leaseId });
  }
  await client.call("release", { leaseId });
  expect(await witness.granted()).toMatchObject({ lockName: "busy" });
});

test("a client that replaces them at once gets some refused, and keeps its connection", async () => {
  const { address } = await serverOfTest({ grpc: { streamsMax: 1 } });
  const session = connect(`http://${address}`);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  // From then on it may have as many calls open as it likes.
  const call = open(session, "/rowlock.v1.LockService/GetLock");
  call.end(Buffer.alloc(5));
  await Promise.all([closed(call), once(session, "remoteSettings")]);
  const given = Array.from({ length: SHORT_CALLS_MAX }, () => open(session));
  // Answered at once, after the server has seen everything sent before.
  expect(await closed(open(session, "/nothing"))).toBe(constants.NGHTTP2_NO_ERROR);
  // Fewer than are cancelled, so that the last call finds room, and all within one read of the server.
  for (let index = 0; index < ROUND - 100; index++) open(session);
  for (const stream of given.slice(0, ROUND)) stream.close(constants.NGHTTP2_CANCEL);
  let code: number | undefined;
  do code = await closed(open(session, "/nothing"));
  while (code === constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect(code).toBe(constants.NGHTTP2_NO_ERROR);
});

/** Opens a call whose message has not been sent yet. */
function open(session: ClientHttp2Session, path = "/rowlock.v1.LockService/WaitInQueue") {
  const stream = session.request(Object.fromEntries(callHeaders(path)));
  return stream.on("error", () => {}).resume();
}

/** The HTTP/2 code that the stream was closed with. */
function closed(stream: ReturnType<typeof open>): Promise<number | undefined> {
  return new Promise((resolve) => stream.once("close", () => resolve(stream.rstCode)));
}
