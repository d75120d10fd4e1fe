// Deadlines of calls that no timer can hold: they count as none, and others count.

import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import { decoder, encode, pathOf } from "../../clients/typescript/src/bare/methods.ts";
import { mendHeaders } from "../../server/grpc/front-door.ts";
import { serverOfTest, type TestServer } from "../support/harness.ts";

const DAY_MS = 86_400_000;

/** An Acquire that waits, by a client that sends whatever deadline it is given. */
function waits(server: TestServer, deadlineMs: number): Promise<string> {
  const client = new Client(server.address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const request = encode("acquire", { name: "job", whenBusy: { case: "wait", value: {} } });
  return new Promise((resolve) =>
    client.makeUnaryRequest(
      pathOf("acquire"),
      (bytes: Buffer) => bytes,
      decoder("acquire"),
      request,
      { deadline: Date.now() + deadlineMs },
      (error: ServiceError | null, answer) =>
        resolve(error ? (status[error.code] as string) : String(answer?.outcome.case)),
    ),
  );
}

test.each([25 * DAY_MS, 30 * DAY_MS, 60 * DAY_MS, 4_000_000 * DAY_MS])(
  "a call with a deadline of %i ms waits",
  async (deadlineMs) => {
    const server = await serverOfTest();
    const { leaseId } = await server.client.lease({ name: "job" });
    const answer = waits(server, deadlineMs);
    await server.event(({ kind }) => kind === "enqueued");
    await server.client.call("release", { leaseId });
    expect(await answer).toBe("lease");
  },
);

test("a call whose deadline has passed ends", async () => {
  const server = await serverOfTest();
  await server.client.lease({ name: "job" });
  expect(await waits(server, 50)).toBe("DEADLINE_EXCEEDED");
});

test("a bare call of the client with such a timeout waits, too", async () => {
  const server = await serverOfTest();
  for (const timeout of [30 * DAY_MS, Number.MAX_VALUE, Number.POSITIVE_INFINITY])
    expect(await server.client.call("getLock", { name: "job" }, { timeout })).toBeDefined();
});

describe("a deadline", () => {
  const left = (timeout: string) => {
    const headers: Record<string, string> = { "grpc-timeout": timeout };
    mendHeaders(headers, undefined);
    return headers["grpc-timeout"];
  };
  test.each(["2147483647m", "596H", "35791S", "99999999u", "99999999n", "0m", "nonsense"])(
    "of %s is left to grpc-js",
    (timeout) => expect(left(timeout)).toBe(timeout),
  );
  test.each(["597H", "2592000S", "99999999H", "43200M", "99999999M"])("of %s counts as none", (timeout) =>
    expect(left(timeout)).toBeUndefined(),
  );
});
