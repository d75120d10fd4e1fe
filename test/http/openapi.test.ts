// openapi.json: it is a correct document, and its examples are answered with what it says.

import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import document from "#proto/openapi.json" with { type: "json" };
import { EXAMPLES, LEASE_ID } from "../../scripts/openapi-examples.ts";
import type { GrpcServer } from "../../server/grpc/server.ts";
import { startServer, type TestServer } from "../support/harness.ts";
import { type DoorStage, startDoor } from "./door-stage.ts";

let server: TestServer;
let door: DoorStage;
beforeAll(async () => {
  server = await startServer();
  door = await startDoor(server.grpc as GrpcServer);
});
afterAll(async () => {
  await door.stop();
  await server.stop();
});

const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
ajv.addSchema(document, "openapi.json");

function expectOf(kind: string, value: unknown): void {
  const validate = ajv.getSchema(`openapi.json#/components/schemas/${kind}`);
  expect([validate?.(value), validate?.errors]).toEqual([true, null]);
}

/** The first message of a stream; the whole answer otherwise. */
async function answered(verb: string, request: object): Promise<{ status: number; message: object }> {
  const aborter = new AbortController();
  const response = await door.post(verb, request, {}, aborter.signal);
  if (!/event-stream/.test(response.headers.get("content-type") ?? ""))
    return { status: response.status, message: (await response.json()) as object };
  let text = "";
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(bytes).toString();
    if (text.includes("\n\n")) break;
  }
  aborter.abort();
  return { status: response.status, message: JSON.parse(text.replace(/^data: ([^\n]*)[\s\S]*$/, "$1")) };
}

test("it is what OpenAPI says", async () => {
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
});

test("every verb has an example, which is answered with what the document says", async () => {
  const paths = Object.keys(document.paths).map((path) => path.split("/").at(-1) as string);
  expect(paths.toSorted()).toEqual(Object.keys(EXAMPLES).toSorted());
  let leaseId = "";
  for (const [verb, example] of Object.entries(EXAMPLES)) {
    const request = JSON.parse(JSON.stringify(example).replaceAll(LEASE_ID, leaseId)) as object;
    expectOf(`${verb}Request`, request);
    const { status, message } = await answered(verb, request);
    expect([verb, status, message]).toEqual([verb, 200, expect.anything()]);
    expectOf(`${verb}Response`, message);
    if (verb === "Acquire") leaseId = (message as { lease: { leaseId: string } }).lease.leaseId;
  }
});

test("an error is what the document says, and the server gives the document to whoever asks", async () => {
  const failed = await door.post("Acquire", { name: "" });
  expectOf("Error", await failed.json());
  const got = await fetch(new URL("/openapi.json", door.url));
  expect(await got.json()).toEqual(document);
});
