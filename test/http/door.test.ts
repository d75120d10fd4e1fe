// The door at an address of its own: web sites that may call, what is at which path, and waits that last.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MetricsTokens } from "../../server/access/bearer.ts";
import type { GrpcServer } from "../../server/grpc/server.ts";
import { Callers } from "../../server/http/callers.ts";
import { Door } from "../../server/http/door.ts";
import { CALLS, CONNECTIONS, STREAMS } from "../../server/http/http-bounds.ts";
import { HttpListener } from "../../server/http/listener.ts";
import { startServer, type TestServer } from "../support/harness.ts";

const APP = "https://app.example";

let server: TestServer;
let listener: HttpListener;
let door: Door;
let url: string;
const errors: unknown[] = [];
beforeAll(async () => {
  server = await startServer();
  const { served } = server.grpc as GrpcServer;
  door = new Door({
    served,
    callers: new Callers({
      gate: null,
      takesTokens: false,
      allowPlaintextTokens: false,
      metricsTokens: new MetricsTokens(null),
      strangersMayAct: true,
    }),
    origins: new Set([APP]),
    open: { calls: ["http_calls", CALLS], streams: ["http_streams", STREAMS] },
  });
  listener = new HttpListener({
    bound: "http_connections",
    connections: CONNECTIONS,
    tls: null,
    onError: (error) => errors.push(error),
    answer: (request, response, identified) => door.answer(request.url ?? "", request, response, identified),
  });
  const { port } = await listener.start({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${port}/rowlock.v1.LockService`;
});
afterAll(async () => {
  await listener.stop();
  await server.stop();
  expect(errors).toEqual([]);
});

const post = (verb: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url}/${verb}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("a web site", () => {
  test("that the operator has named may ask and read", async () => {
    const preflight = await fetch(`${url}/Acquire`, {
      method: "OPTIONS",
      headers: { origin: APP, "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, APP]);
    expect(preflight.headers.get("access-control-allow-headers")).toMatch(/authorization.*content-type/i);
    const answer = await post(
      "Acquire",
      { name: "door/site" },
      { origin: APP, "sec-fetch-site": "cross-site" },
    );
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, APP]);
  });

  test("that nobody has named may not", async () => {
    const answer = await post("Acquire", { name: "door/site" }, { origin: "https://evil.example" });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });
});

test("a field with a typing error is refused, and so is what is no verb", async () => {
  const misspelt = await post("Acquire", { name: "door/x", waitt: { maxWait: "1s" } });
  expect([misspelt.status, await misspelt.json()]).toMatchObject([400, { code: "invalid_argument" }]);
  expect((await post("Acquir", {})).status).toBe(501);
  expect((await post("Session", {})).status).toBe(501);
});

test("a call that waits has its place among those that are open, until it is answered", async () => {
  const { leaseId } = await server.client.lease({ name: "door/wait" });
  const waits = post("Acquire", { name: "door/wait", wait: { maxWait: "60s" } });
  const used = () => door.bounds.find(({ bound }) => bound === "http_calls")?.used;
  await expect.poll(used).toBe(1);
  await server.client.call("release", { leaseId });
  expect(await (await waits).json()).toMatchObject({ lease: { lockName: "door/wait" } });
  await expect.poll(used).toBe(0);
});

test("a server that stops ends streams at once, and says so", async () => {
  const { leaseId } = await server.client.lease({ name: "door/stop" });
  expect(leaseId).toBeTruthy();
  const stream = await post(
    "WaitInQueue",
    { request: { name: "door/stop" } },
    { accept: "text/event-stream" },
  );
  const text = stream.text();
  await (server.grpc as GrpcServer).drain(1_000);
  expect(await text).toMatch(/event: end\ndata: .*SHUTTING_DOWN/);
});
