// The life of a server: what it serves besides its own API, TLS, and draining.

import { execFile } from "node:child_process";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { credentials, makeGenericClientConstructor, type ServiceError } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { createGrpcServer, type GrpcServer } from "../../server/grpc/server.ts";
import { selfSignedCertificate } from "../process/certificate.ts";
import {
  clientOfTest,
  replacing,
  silentObserver,
  serverOfTest as start,
  type TestServer,
  until,
} from "../support/harness.ts";
import { NO_BOUND } from "../support/no-bound.ts";
import { queued as acquire, leaseIn, TestCalls } from "../support/test-calls.ts";

const BUF = fileURLToPath(new URL("../../node_modules/.bin/buf", import.meta.url));
const SHUTTING_DOWN = { code: "UNAVAILABLE", reason: "SHUTTING_DOWN", retryAfterMs: 100 };
const DRAIN_MS = 5_000;
/** A drain with nobody to wait for takes almost none of this time, even on a busy machine. */
const LONG_DRAIN_MS = 20_000;

/** A second gRPC server over the same engine, not started yet. */
function unstarted({ engine }: TestServer): GrpcServer {
  return createGrpcServer({
    engine,
    observer: silentObserver,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    tls: null,
    graceMs: 10_000,
    capacity: NO_BOUND,
    streamsMax: 1,
    replica: "1",
    sessionWaitsMax: 1,
    sessionCommandsMax: 1,
    receiveBytesMax: 1_024,
    reflection: false,
  });
}

describe("health", () => {
  const HealthClient = makeGenericClientConstructor(healthService, "Health");

  function check(address: string, service: string): Promise<string> {
    const client = new HealthClient(address, credentials.createInsecure());
    return new Promise<string>((resolve, reject) => {
      client.check?.({ service }, (error: ServiceError | null, answer: { status: string }) =>
        error ? reject(RowlockError.ofCall(error)) : resolve(answer.status),
      );
    }).finally(() => client.close());
  }

  test("is reported for the server and for the service, and follows the readiness", async () => {
    const { address, grpc } = await start();
    expect(await check(address, "")).toBe("SERVING");
    expect(await check(address, "rowlock.v1.LockService")).toBe("SERVING");
    await expect(check(address, "other")).rejects.toMatchObject({ code: "NOT_FOUND" });
    grpc.setServing(false);
    expect(await check(address, "rowlock.v1.LockService")).toBe("NOT_SERVING");
    grpc.setServing(true);
    expect(await check(address, "")).toBe("SERVING");
  });

  test("turns to NOT_SERVING when the server drains, and its streams end", async () => {
    const { address, grpc } = await start();
    const client = new HealthClient(address, credentials.createInsecure());
    const stream = client.watch?.({ service: "" });
    const seen: string[] = [];
    const first = Promise.withResolvers<void>();
    stream.on("data", ({ status }: { status: string }) => {
      seen.push(status);
      first.resolve();
    });
    const ended = new Promise<ServiceError>((resolve) => stream.on("error", resolve));
    await first.promise;
    const startedMs = performance.now();
    await grpc.drain(LONG_DRAIN_MS);
    expect(performance.now() - startedMs).toBeLessThan(LONG_DRAIN_MS / 2);
    expect(RowlockError.ofCall(await ended)).toMatchObject(SHUTTING_DOWN);
    expect(seen).toEqual(["SERVING", "NOT_SERVING"]);
    grpc.setServing(true);
    client.close();
  });
});

describe("reflection", () => {
  const OVER_GRPC = ["curl", "--protocol", "grpc", "--http2-prior-knowledge"];
  const curl = (address: string, path: string, ...args: string[]) =>
    promisify(execFile)(BUF, [...OVER_GRPC, ...args, `http://${address}${path}`]);

  test("lists the services, and lets a client without stubs make a call", async () => {
    const { address, client } = await start();
    const { stdout } = await curl(address, "", "--list-services");
    expect(stdout.split("\n")).toEqual(
      expect.arrayContaining(["rowlock.v1.LockService", "grpc.health.v1.Health"]),
    );
    const request = { name: "generic", limit: 0, expectedVersion: "0" };
    const path = "/rowlock.v1.LockService/SetLimit";
    const answer = JSON.parse((await curl(address, path, "-d", JSON.stringify(request))).stdout);
    expect(answer).toEqual({ version: "1" });
    const { lock } = await client.call("getLock", { name: "generic" });
    expect(lock?.limit?.permits).toBe(0);
    const refused = curl(address, path, "-d", '{"name":"generic"}');
    await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining("google.rpc.BadRequest") });
  });

  test("describes health and itself, so that a client without stubs can call them, too", async () => {
    const { address } = await start();
    const listed = (await curl(address, "", "--list-methods")).stdout.split("\n");
    expect(listed).toEqual(
      expect.arrayContaining([
        "grpc.health.v1.Health/Watch",
        "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      ]),
    );
    const asked = async (path: string, request: object) =>
      JSON.parse((await curl(address, path, "-d", JSON.stringify(request))).stdout);
    expect(await asked("/grpc.health.v1.Health/Check", {})).toEqual({ status: "SERVING" });
    expect(await asked("/grpc.health.v1.Health/List", {})).toMatchObject({
      statuses: { "rowlock.v1.LockService": { status: "SERVING" } },
    });
    const symbol = { fileContainingSymbol: "grpc.health.v1.Health" };
    expect(await asked("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", symbol)).toMatchObject({
      fileDescriptorResponse: { fileDescriptorProto: [expect.any(String)] },
    });
  });
});

describe("TLS", () => {
  const server = selfSignedCertificate();
  const certificate = { certificate: server.cert, key: server.key };

  test("serves those who trust the certificate, and no plain text", async () => {
    const { address } = await start({ grpc: { tls: { ...certificate, clientCa: null } } });
    // By name, because certificates are checked against names.
    const as = (tls: boolean | { ca: string }) =>
      clientOfTest(new TestCalls(address.replace("127.0.0.1", "localhost"), { tls }));
    expect((await as({ ca: server.cert }).lease({ name: "tls" })).fencingToken).toBe(1n);
    for (const tls of [false, true])
      await expect(as(tls).call("acquire", { name: "x" }, { timeout: 60_000 })).rejects.toMatchObject({
        code: "UNAVAILABLE",
      });
  });
});

describe("a server that drains", () => {
  test("ends streams and blocked calls, and keeps the places of callers that can come back", async () => {
    const server = await start();
    await server.client.lease({ name: "drain" });
    const stream = server.client.wait(acquire({ name: "drain" }));
    await stream.position();
    const waiting = ["", "can-return"].map((requestId) =>
      server.client.call("acquire", { name: "drain", requestId, whenBusy: { case: "wait", value: {} } }),
    );
    const settled = Promise.allSettled([stream.granted(), ...waiting]);
    await until(() => server.engine.waiterCount === 3);
    await server.grpc.drain(DRAIN_MS);
    expect(await settled).toMatchObject(Array(3).fill({ reason: SHUTTING_DOWN }));
    expect([server.engine.waiterCount, server.openStreams()]).toEqual([0, 0]);
    const shown = await server.engine.view("drain");
    expect(shown?.waiters).toMatchObject([
      { state: "waiting", replica: null },
      { requestId: "can-return", replica: null },
    ]);
  });

  test("lets running calls finish", async () => {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(engine, {
          async acquire(...args) {
            reached.resolve();
            await gate.promise;
            return engine.acquire(...args);
          },
        }),
    });
    const call = server.client.call("acquire", { name: "slow" });
    await reached.promise;
    const drained = server.grpc.drain(DRAIN_MS);
    expect(server.grpc.drain(0)).toBe(drained);
    gate.resolve();
    expect(leaseIn(await call).lockName).toBe("slow");
    await drained;
  });

  test("gives a stream that begins to wait only now its ticket, and ends it", async () => {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(engine, {
          async acquire(ask, waiter) {
            if (waiter) {
              reached.resolve();
              await gate.promise;
            }
            return engine.acquire(ask, waiter);
          },
        }),
    });
    await server.client.lease({ name: "late" });
    const stream = server.client.wait(acquire({ name: "late" }));
    await reached.promise;
    const drained = server.grpc.drain(DRAIN_MS);
    gate.resolve();
    expect((await stream.position()).ahead).toBe(0);
    expect(await stream.failure()).toMatchObject(SHUTTING_DOWN);
    await drained;
    expect((await server.engine.view("late"))?.waiters).toMatchObject([{ replica: null }]);
  });

  test("cuts off what does not finish in time", async () => {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<never>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(engine, {
          view: () => {
            reached.resolve();
            return gate.promise;
          },
        }),
    });
    const call = server.client.call("getLock", { name: "stuck" });
    const failed = expect(call).rejects.toBeInstanceOf(RowlockError);
    await reached.promise;
    await server.grpc.drain(50);
    await failed;
    gate.reject(new Error("at last"));
  });

  test("can do so before it has started", async () => {
    await expect(unstarted(await start()).drain(DRAIN_MS)).resolves.toBeUndefined();
  });
});

test("an address in use is reported to the caller", async () => {
  const server = await start();
  const port = Number(server.address.split(":")[1]);
  await expect(unstarted(server).start({ host: "127.0.0.1", port })).rejects.toThrow(
    /EADDRINUSE|No address added/,
  );
});

test("a frozen client is given up, and its ticket left to the grace period", async () => {
  const server = await start({ grpc: { keepalive: { intervalMs: 250, timeoutMs: 250 } } });
  await server.client.lease({ name: "frozen" });
  const relay = await startRelay(server.address);
  const client = clientOfTest(new TestCalls(relay.address));
  const stream = client.wait(acquire({ name: "frozen" }));
  await stream.position();
  relay.freeze();
  await until(() => server.engine.waiterCount === 0);
  await until(() =>
    server.calls.some(({ method, code }) => method === "WaitInQueue" && code === "CANCELLED"),
  );
  expect((await server.engine.view("frozen"))?.waiters).toMatchObject([{ state: "waiting", replica: null }]);
});

/** Forwards bytes until told to stop, and then closes nothing: to the server, this looks like a frozen client. */
async function startRelay(address: string) {
  const [host, port] = address.split(":");
  const sockets: Socket[] = [];
  const relay = createServer((near) => {
    const far = connect(Number(port), host);
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return {
    address: `127.0.0.1:${(relay.address() as AddressInfo).port}`,
    freeze() {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}
