// The door at an address of its own: web sites that may call, what is at which path, and waits that last.

import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Access } from "../../server/access/access.ts";
import type { GrpcServer } from "../../server/grpc/server.ts";
import type { Door } from "../../server/http/door.ts";
import { doorAlone } from "../../server/start-http.ts";
import { startServer, type TestServer } from "../support/harness.ts";
import { type DoorStage, startDoor } from "./door-stage.ts";

const APP = "https://app.example";
const JSON_TYPE = { "content-type": "application/json" };

const bodyOf = async (answer: Response) =>
  (await answer.json()) as { readonly message: string; readonly details?: readonly { debug: object }[] };

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
    expect((await bodyOf(answer)).message).toMatch(/ROWLOCK_HTTP_ORIGINS/);
    const crossSite = await post("Acquire", { name: "door/site" }, { "sec-fetch-site": "cross-site" });
    expect([crossSite.status, (await bodyOf(crossSite)).message]).toEqual([
      403,
      expect.stringMatching(/ROWLOCK_HTTP_ORIGINS/),
    ]);
  });
});

test.each([
  ["POST", "/rowlock.v1.LockService/Acquire"],
  ["LOCK", "/terraform/state"],
])("%s %s by a name is refused to any program, with what to do", async (method, path) => {
  const sent = request(new URL(path, url), { method, headers: { host: "rowlock", ...JSON_TYPE } });
  sent.end('{"name":"door/named"}');
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  expect([answer.statusCode, JSON.parse(await text(answer)).message]).toEqual([
    403,
    'This server asks nobody who calls, so it answers every caller only at an IP address or localhost, and not at "rowlock": ' +
      "call it by its IP address, or set ROWLOCK_TOKENS_FILE.",
  ]);
});

describe.each(["Acquire", "WaitInQueue"])("a body of %s that cannot be read", (verb) => {
  const within = (request: object) => (verb === "Acquire" ? request : { request });
  const path = (field: string) => (verb === "Acquire" ? field : `request.${field}`);
  const refused = async (body: string | Uint8Array<ArrayBuffer>) => {
    const answer = await fetch(`${url}/${verb}`, { method: "POST", headers: JSON_TYPE, body });
    const { message, details = [] } = await bodyOf(answer);
    return { status: answer.status, message, details: details.map(({ debug }) => debug) };
  };

  test.each(["60", 60, "1m", true])("for a time that is %j, names the field and the form", async (ttl) => {
    const body = within({ name: "door/x", terms: { ttl } });
    const description = 'is not in seconds: write it as "60s"';
    expect(await refused(JSON.stringify(body))).toEqual({
      status: 400,
      message: `${path("terms.ttl")}: ${description}`,
      details: [
        { reason: "BAD_REQUEST", domain: "rowlock" },
        { fieldViolations: [{ field: path("terms.ttl"), description }] },
      ],
    });
  });

  test.each([
    ["is no JSON", '{"name":', "in JSON"],
    [
      "has an unknown field",
      JSON.stringify(within({ name: "door/x", waitt: "1s" })),
      'key "waitt" is unknown',
    ],
    ["is not UTF-8", Buffer.from('{"name":"\xff"}', "latin1"), "utf-8"],
    ["has another type", JSON.stringify(within({ name: 1 })), "name"],
  ])("because it %s, has a reason", async (_why, body, message) => {
    expect(await refused(body)).toEqual({
      status: 400,
      message: expect.stringContaining(message),
      details: [{ reason: "MALFORMED_MESSAGE", domain: "rowlock" }],
    });
  });
});

test("a point in time in another form names its field and the form, too", async () => {
  const answer = await post("ListChanges", { from: "yesterday", until: "2026-11-30T16:00:00Z" });
  expect((await bodyOf(answer)).message).toBe('from: is not a time: write it as "2027-01-31T12:00:00Z"');
});

test("a caller without a token is not told of certificates, which count for gRPC alone", async () => {
  const access = new Access({ tokens: new Map(), certificates: "cn" });
  const asking = await startDoor(server.grpc, [], access);
  const answer = await asking.post("Acquire", { name: "door/x" });
  await asking.stop();
  expect([answer.status, (await bodyOf(answer)).message]).toEqual([
    401,
    "This server wants to know who calls: send `authorization: Bearer TOKEN`.",
  ]);
});

test("a field with a typing error is refused, and so is what is no verb", async () => {
  const misspelt = await post("Acquire", { name: "door/x", waitt: { maxWait: "1s" } });
  expect([misspelt.status, await misspelt.json()]).toMatchObject([400, { code: "invalid_argument" }]);
  expect((await post("Acquir", {})).status).toBe(501);
  expect((await post("Session", {})).status).toBe(501);
});

test("an address without the page says what there is", async () => {
  const { served } = server.grpc as GrpcServer;
  const config = {
    access: null,
    allowPlaintextTokens: false,
    httpOrigins: [],
    proxyAddresses: null,
  } as never;
  const { listener } = await doorAlone(null, (error) => expect.unreachable(String(error)), {
    config,
    served,
    gate: null,
  });
  const { port } = await listener.start({ host: "127.0.0.1", port: 0 });
  const answer = await fetch(`http://127.0.0.1:${port}/other`);
  expect([answer.status, await answer.text()]).toEqual([
    404,
    "Not found. There are /rowlock.v1.LockService/, /terraform/ and /openapi.json.\n",
  ]);
  await listener.stop();
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
