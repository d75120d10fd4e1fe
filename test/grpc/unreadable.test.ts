// What a unary call can carry that is not a request: bytes that are not a message, and messages and headers that are
// too large.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import type { TestServer } from "../support/harness.ts";
import { startServer } from "../support/harness.ts";
import { TestCalls } from "../support/test-calls.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe("bytes that are no message", () => {
  const cases: [string, number[]][] = [
    ["text that is not UTF-8", [0x0a, 1, 0xff]],
    ["text that is cut off in the middle of a character", [0x0a, 1, 0xc3]],
    ["a surrogate in UTF-8", [0x0a, 3, 0xed, 0xa0, 0x80]],
    ["a field that ends too early", [0x0a, 200]],
    ["a tag of no field", [0xff, 0xff]],
  ];
  test.each(cases)("are refused: %s", async (_, bytes) => {
    const malformed = { code: "INVALID_ARGUMENT", reason: "MALFORMED_MESSAGE" };
    await expect(server.client.call("acquire", Buffer.from(bytes))).rejects.toMatchObject(malformed);
    expect(await server.client.wait(Buffer.from(bytes)).failure()).toMatchObject(malformed);
  });

  test("a message with unknown fields is accepted", async () => {
    const unknownField = [0xfa, 0x01, 1, 65];
    const answer = await server.client.call("listLocks", Buffer.from(unknownField));
    expect(answer.locks).toEqual([]);
  });
});

describe("a too large message", () => {
  const tooLarge = {
    code: "RESOURCE_EXHAUSTED",
    reason: "MESSAGE_TOO_LARGE",
    metadata: { bytes_max: "65536" },
  };

  test.each([65_537, 1_000_000, 8_000_000])("of %i bytes is refused with a reason", async (size) => {
    await expect(server.client.call("acquire", Buffer.alloc(size))).rejects.toMatchObject(tooLarge);
    expect(await server.client.wait(Buffer.alloc(size)).failure()).toMatchObject(tooLarge);
  });

  test("of just the limit is read", async () => {
    await expect(server.client.call("acquire", { name: "n".repeat(65_532) })).rejects.toMatchObject({
      reason: "BAD_REQUEST",
    });
  });
});

test("headers that are too large are refused, and the server lives", async () => {
  const headers = { "x-large": "x".repeat(200_000) };
  const client = new TestCalls(server.address, { headers });
  await expect(client.call("listLocks", {})).rejects.toBeInstanceOf(RowlockError);
  client.close();
  expect((await server.client.call("listLocks", {})).locks).toEqual([]);
});
