// The streams of the contract as server-sent events.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NOBODY } from "../../server/access/access.ts";
import { ROWS } from "../../server/grpc/verbs.ts";
import { answerWithEvents } from "../../server/http/events.ts";
import { startServer, type TestServer } from "../support/harness.ts";

let server: TestServer;
let url: string;
let close: () => void;
beforeAll(async () => {
  server = await startServer();
  const http = createServer((request, response) => {
    const name = (request.url ?? "").split("/").at(-1) as string;
    const verb = Object.values(ROWS).find(({ of }) => of.name === name);
    if (verb) void answerWithEvents(server.grpc.served, verb, () => NOBODY, request, response);
  }).listen(0, "127.0.0.1");
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

const stream = (verb: string, body: unknown, headers = {}) =>
  fetch(`${url}/${verb}`, { method: "POST", headers, body: JSON.stringify(body) });

test("a wait tells the place and the grant", async () => {
  const { leaseId } = await server.client.lease({ name: "events/wait" });
  const response = await stream("WaitInQueue", { request: { name: "events/wait" } });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const texts: string[] = [];
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    texts.push(Buffer.from(chunk).toString());
    if (texts.length === 1) await server.client.call("release", { leaseId });
  }
  const events = texts
    .join("")
    .split("\n\n")
    .filter((event) => event.startsWith("data: "))
    .map((event) => JSON.parse(event.slice(6)));
  expect(events).toMatchObject([{ position: { queueLength: 1 } }, { granted: { fencingToken: "2" } }]);
});

test.each([
  [{ request: { name: "" } }, {}, 400, "invalid_argument"],
  [{ request: { nam: "x" } }, {}, 400, "invalid_argument"],
])("%j with %j is refused with %i", async (body, headers, status, code) => {
  const response = await stream("WaitInQueue", body, headers);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ code, details: expect.any(Array) });
});
