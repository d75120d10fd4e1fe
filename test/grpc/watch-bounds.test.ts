// How many watches one connection, or one session, may have open.

import { expect, test } from "vitest";
import { serverOfTest } from "../support/harness.ts";

test("a watch counts as an open wait", async () => {
  const server = await serverOfTest({ grpc: { streamsMax: 1, sessionWaitsMax: 1 } });
  const { client } = server;
  const watched = client.watch("");
  await watched.complete();
  const failure = await client.watch("").failure();
  expect(failure).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "OVERLOADED" });
  expect(["waits_on_connection", "session_waits"]).toContain(failure.metadata.bound);
  await client.lease({ name: "a" });
  await watched.shows("a");
});
