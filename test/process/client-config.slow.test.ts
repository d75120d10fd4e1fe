// The client configuration in docs/clients.md: it moves calls to another server when one dies, and repeats no call
// that must not be repeated.

import { readFileSync } from "node:fs";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import { AcquireRequestSchema, AcquireResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { reportLeftOut, testServers } from "../support/database.ts";
import { leaseIn } from "../support/test-calls.ts";
import type { ServingServer } from "./stage.ts";
import { metric, processStage } from "./stage.ts";

const DOCUMENT = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
const [serviceConfig = "", channelOptions = ""] = [...DOCUMENT.matchAll(/```json\n([\s\S]*?)```/g)].map(
  ([, json]) => json as string,
);

/** Time to start two servers and stop one, on a machine that also runs other tests. */
const LONG_MS = 120_000;

const stage = processStage();
reportLeftOut(testServers());

/** A client of several servers, configured as the document says. */
class ConfiguredClient {
  readonly #client: Client;

  constructor(servers: readonly ServingServer[]) {
    const addresses = servers.map(({ grpcAddress }) => grpcAddress).join(",");
    this.#client = new Client(`ipv4:${addresses}`, credentials.createInsecure(), {
      ...(JSON.parse(channelOptions) as Record<string, number>),
      "grpc.service_config": serviceConfig,
    });
    stage.afterwards(() => this.#client.close());
  }

  async acquire(name: string, requestId: string): Promise<Lease> {
    const request = create(AcquireRequestSchema, { name, requestId, whenBusy: { case: "wait", value: {} } });
    const answer = Promise.withResolvers<Lease>();
    this.#client.makeUnaryRequest(
      "/rowlock.v1.LockService/Acquire",
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes) => fromBinary(AcquireResponseSchema, bytes),
      toBinary(AcquireRequestSchema, request),
      new Metadata({ waitForReady: true }),
      (error, response) => {
        if (error || !response) answer.reject(error);
        else answer.resolve(leaseIn(response));
      },
    );
    return await answer.promise;
  }
}

const answeredBy = (server: ServingServer) =>
  metric(server, 'rowlock_grpc_calls_total{method="Acquire",via="call",code="OK"}');

describe.each(testServers())("a client with the documented configuration, on $label", ({ fresh }) => {
  test.each(["SIGKILL", "SIGTERM"] as const)(
    "goes on at another server after a %s",
    { timeout: LONG_MS },
    async (signal) => {
      const url = await stage.database(fresh);
      const dying = await stage.serving(url);
      const staying = await stage.serving(url);
      const client = new ConfiguredClient([dying, staying]);
      // Waits until the client is connected to both servers; from then on it alternates between them.
      for (let call = 0; (await answeredBy(dying)) === 0 || (await answeredBy(staying)) === 0; call++) {
        await client.acquire(`free ${call}`, `free ${call}`);
      }

      const { leaseId } = await staying.client.lease({ name: "l", requestId: "holder" });
      const waiting = [client.acquire("l", "first"), client.acquire("l", "second")];
      await untilWaiting(staying, 2);
      dying.process.kill(signal);
      await dying.process.exited;
      await staying.client.limit("l", 2);
      await staying.client.call("release", { leaseId });
      const leases = await Promise.all(waiting);
      expect(leases.map(({ requestId }) => requestId)).toEqual(["first", "second"]);
      for (let call = 0; call < 10; call++) await client.acquire(`later ${call}`, `later ${call}`);
    },
  );
});

/** Resolves when this many clients wait for the lock `l`. */
async function untilWaiting({ client }: ServingServer, count: number): Promise<void> {
  for (;;) {
    const { lock } = await client.call("getLock", { name: "l" });
    if (lock?.waiterCount === count) return;
  }
}
