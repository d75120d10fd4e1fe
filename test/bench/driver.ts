// The callers of the load check: each takes a lock, releases it, and begins again until the time is over. Prints one
// JSON object. Speaks gRPC on bare HTTP/2, because a full gRPC client in Node would cost as much as the server and so
// measure itself.

import { type ClientHttp2Session, connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import {
  AcquireRequestSchema,
  AcquireResponseSchema,
  ReleaseRequestSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";

export interface DriverResult {
  readonly pairsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const CALLERS_PER_CONNECTION = 16;
const WARM_UP_MS = 1_000;
/** Before each message: not compressed, and its length in four bytes. */
const FRAME_BYTES = 5;

const [address = "", names = "distinct", callers = "64", seconds = "5"] = process.argv.slice(2);
const sessions = Array.from({ length: Math.ceil(Number(callers) / CALLERS_PER_CONNECTION) }, () =>
  connect(`http://${address}`),
);
const startedMs = performance.now();
const measuredFromMs = startedMs + WARM_UP_MS;
const endMs = measuredFromMs + Number(seconds) * 1_000;
const acquireMs: number[] = [];

await Promise.all(Array.from({ length: Number(callers) }, (_, index) => takeTurns(index)));
acquireMs.sort((a, b) => a - b);
const result: DriverResult = {
  pairsPerSecond: acquireMs.length / Number(seconds),
  p50Ms: acquireMs[Math.floor(acquireMs.length * 0.5)] ?? Number.NaN,
  p99Ms: acquireMs[Math.floor(acquireMs.length * 0.99)] ?? Number.NaN,
};
process.stdout.write(JSON.stringify(result));
for (const session of sessions) session.close();

async function takeTurns(index: number): Promise<void> {
  const session = sessions[index % sessions.length] as ClientHttp2Session;
  const name = names === "hot" ? "bench/hot" : `bench/${index}`;
  const acquire = framed(
    toBinary(AcquireRequestSchema, create(AcquireRequestSchema, { name, whenBusy: WhenBusy.WAIT })),
  );
  while (performance.now() < endMs) {
    const askedMs = performance.now();
    const { outcome } = fromBinary(AcquireResponseSchema, await call(session, "Acquire", acquire));
    if (outcome.case !== "lease") throw new Error(`no lease but ${outcome.case}`);
    const grantedMs = performance.now();
    if (grantedMs >= measuredFromMs && grantedMs < endMs) acquireMs.push(grantedMs - askedMs);
    const release = create(ReleaseRequestSchema, { leaseId: outcome.value.leaseId });
    await call(session, "Release", framed(toBinary(ReleaseRequestSchema, release)));
  }
}

function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(FRAME_BYTES + message.length);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, FRAME_BYTES);
  return bytes;
}

/** One unary call; the message of the answer. */
function call(session: ClientHttp2Session, method: string, request: Buffer): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": `/rowlock.v1.LockService/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("trailers", (trailers) => {
      if (trailers["grpc-status"] === "0") resolve(Buffer.concat(chunks).subarray(FRAME_BYTES));
      else reject(new Error(`${method}: ${trailers["grpc-status"]} ${trailers["grpc-message"]}`));
    });
    stream.on("error", reject);
    stream.end(request);
  });
}
