// The verbs over the Connect protocol, in JSON and in binary.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { NOBODY } from "../../server/access/access.ts";
import { ROWS } from "../../server/grpc/verbs.ts";
import { connectListener } from "../../server/http/connect.ts";
import { startServer, type TestServer } from "../support/harness.ts";

let server: TestServer;
let url: string;
let close: () => void;
beforeAll(async () => {
  server = await startServer();
  const verbs = new Map(Object.values(ROWS).map((verb) => [verb.of.name, verb]));
  const listener = connectListener(server.grpc.served, verbs, () => NOBODY);
  const http = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  close = () => {
    http.close();
    http.closeAllConnections();
  };
});
afterAll(async () => {
  close();
  await server.stop();
});

const TRANSPORTS = {
  "Connect in JSON": (baseUrl: string) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect in binary": (baseUrl: string) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true }),
  "gRPC-Web": (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
};

describe.each(Object.entries(TRANSPORTS))("over %s", (kind, transport) => {
  test("a lock is taken, waited for with its place told, and given back", async () => {
    const client = createClient(LockService, transport(url));
    const name = `http/${kind}`;
    const { outcome } = await client.acquire({ name });
    expect(outcome.case).toBe("lease");
    const { leaseId } = outcome.value as { leaseId: string };
    const updates: (string | undefined)[] = [];
    for await (const { update } of client.waitInQueue({ target: { case: "request", value: { name } } })) {
      updates.push(update.case);
      if (update.case === "position") await client.release({ leaseId });
    }
    expect(updates).toEqual(["position", "granted"]);
  });

  test("errors have their codes and details", async () => {
    const client = createClient(LockService, transport(url));
    const failed = await client.acquire({ name: "" }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 3, rawMessage: expect.stringMatching(/name/) });
  });
});

test("there is no gRPC, whose calls have a port of their own", async () => {
  const { status } = await fetch(`${url}/rowlock.v1.LockService/Acquire`, {
    method: "POST",
    headers: { "content-type": "application/grpc" },
  });
  expect(status).toBe(415);
});

test("curl takes a lock", async () => {
  const response = await fetch(`${url}/rowlock.v1.LockService/Acquire`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "http/curl" }),
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ lease: { fencingToken: "1" } });
});

test("who hangs up gives the place back", async () => {
  const held = await fetch(`${url}/rowlock.v1.LockService/Acquire`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "http/hung-up" }),
  });
  expect(held.status).toBe(200);
  const controller = new AbortController();
  const waits = fetch(`${url}/rowlock.v1.LockService/Acquire`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "http/hung-up", wait: { maxWait: "60s" } }),
    signal: controller.signal,
  });
  const waiting = async () => Number((await server.client.shown("http/hung-up")).waiterCount);
  await expect.poll(waiting).toBe(1);
  controller.abort();
  await expect(waits).rejects.toThrow();
  await expect.poll(waiting).toBe(0);
});
