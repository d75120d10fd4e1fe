// The callers of the load check: each takes a lock, releases it, and begins again until the time is over. Prints one
// JSON object. Messages are encoded by hand-picked descriptors once or by the library; nothing here is Rowlock's server.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
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
const asIs = (bytes: Buffer) => bytes;

const [address = "", names = "distinct", callers = "64", seconds = "5"] = process.argv.slice(2);
const clients = Array.from(
  { length: Math.ceil(Number(callers) / CALLERS_PER_CONNECTION) },
  // Each with a connection of its own, which gRPC would otherwise share.
  () => new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 }),
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
for (const client of clients) client.close();

async function takeTurns(index: number): Promise<void> {
  const client = clients[index % clients.length] as Client;
  const name = names === "hot" ? "bench/hot" : `bench/${index}`;
  const acquire = Buffer.from(
    toBinary(AcquireRequestSchema, create(AcquireRequestSchema, { name, whenBusy: WhenBusy.WAIT })),
  );
  while (performance.now() < endMs) {
    const askedMs = performance.now();
    const { outcome } = fromBinary(AcquireResponseSchema, await call(client, "Acquire", acquire));
    if (outcome.case !== "lease") throw new Error(`no lease but ${outcome.case}`);
    const grantedMs = performance.now();
    if (grantedMs >= measuredFromMs && grantedMs < endMs) acquireMs.push(grantedMs - askedMs);
    const release = create(ReleaseRequestSchema, { leaseId: outcome.value.leaseId });
    await call(client, "Release", Buffer.from(toBinary(ReleaseRequestSchema, release)));
  }
}

function call(client: Client, method: string, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/rowlock.v1.LockService/${method}`,
      asIs,
      asIs,
      request,
      (error: Error | null, response?: Buffer) => {
        if (error || !response) reject(error ?? new Error("an empty answer"));
        else resolve(response);
      },
    );
  });
}
