// The door at an address of its own: web sites that may call, what is at which path, and waits that last.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GrpcServer } from "../../server/grpc/server.ts";
import type { Door } from "../../server/http/door.ts";
import { startServer, type TestServer } from "../support/harness.ts";
import { type DoorStage, startDoor } from "./door-stage.ts";

const APP = "https://app.example";

let server: TestServer;
let door: Door;
let url: string;
let post: DoorStage["post"];
let stage: DoorStage;
beforeAll(async () => {
  server = await startServer();
  stage = await startDoor(server.grpc as GrpcServer, [APP]);
  ({ door, url, post } = stage);
});
afterAll(async () => {
  await stage.stop();
  await server.stop();
  expect(stage.errors).toEqual([]);
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
  const stream = await post("WaitInQueue", { request: { name: "door/stop" } });
  const text = stream.text();
  await (server.grpc as GrpcServer).drain(1_000);
  expect(await text).toMatch(/event: end\ndata: .*SHUTTING_DOWN/);
});
