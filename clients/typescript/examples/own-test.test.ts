// A test of one's own code against a server of its own, here with the test runner of Node:
//
//   node --test own-test.test.ts

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { RowlockClient } from "@rowlock/client";
import { startTestServer, type TestServer } from "@rowlock/client/testing";

/** The code under test. */
async function load(rowlock: RowlockClient, work: (signal: AbortSignal) => Promise<void>): Promise<string> {
  const lock = await rowlock.tryLock("etl/load");
  if (!lock) return "somebody else loads";
  try {
    await work(lock.signal);
    return lock.state === "lost" ? "lost" : "loaded";
  } finally {
    await lock.release();
  }
}

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

test("one loads, and the other does not", async () => {
  const other = server.connect({ owner: "other" });
  assert.equal(
    await load(server.client, async () => {
      assert.equal(await load(other, async () => {}), "somebody else loads");
    }),
    "loaded",
  );
});

test("who has lost the lock stops", async () => {
  const outcome = load(server.client, async (signal) => {
    const isLost = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await server.lose("etl/load");
    await isLost;
  });
  assert.equal(await outcome, "lost");
});
