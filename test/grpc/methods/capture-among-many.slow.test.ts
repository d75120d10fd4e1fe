// A capture finds what it wants among thousands of other locks.

import { afterEach, describe, expect, test } from "vitest";
import * as asks from "../../support/asks.ts";
import type { TestServer } from "../../support/harness.ts";
import { startServer } from "../../support/harness.ts";
import type { TestCalls } from "../../support/test-calls.ts";

let server: TestServer;
afterEach(async () => {
  await server.stop();
  expect(server.loopFailures).toEqual([]);
});

/** Locks that are due before the wanted ones: more than one search can read one by one. */
const MANY = 8_000;

async function put(name: string, dueAtS: number): Promise<void> {
  await server.client.call("updateRecord", {
    name,
    status: "new",
    newNotBefore: { case: "notBefore", value: { seconds: BigInt(dueAtS), nanos: 0 } },
  });
}

async function captured(prefix: string): Promise<string[]> {
  const { leases } = await server.client.call("capture", {
    from: { case: "prefix", value: prefix },
    maxLeases: 1,
  });
  return leases.map(({ lockName }) => lockName);
}

async function pause(client: TestCalls, pattern: string): Promise<void> {
  await client.call("setLimit", {
    target: { case: "pattern", value: pattern },
    newLimit: { case: "limit", value: 0 },
  });
}

describe("a capture", () => {
  test("goes past more unavailable locks than it reads at a time", async () => {
    server = await startServer();
    const { client } = server;
    await pause(client, "t/no/*");
    const all = Array.from({ length: 700 }, (_, index) => `t/no/${1_000 + index}`);
    await Promise.all(all.map((name) => client.call("updateRecord", { name, status: "new" })));
    await put("t/yes", 1);
    expect(await captured("t/")).toEqual(["t/yes"]);
  });

  test("finds what is behind thousands of other names in its folder, and behind thousands of paused ones", async () => {
    server = await startServer();
    const { client, engine } = server;
    const update = {
      notBefore: undefined,
      attemptsLeft: undefined,
      status: "new",
      expectedVersion: undefined,
    };
    const others = Array.from({ length: MANY }, (_, index) => `jobs/mail-${10_000 + index}`);
    for (let at = 0; at < MANY; at += 1_000)
      await Promise.all(
        others.slice(at, at + 1_000).map((name) => engine.ask(asks.updateRecord({ ...update, name }))),
      );
    await put("jobs/report-1", 1);
    await put("jobs/report-2", 2);
    expect(await captured("jobs/report-")).toEqual(["jobs/report-1"]);
    await pause(client, "jobs/mail-*");
    expect(await captured("jobs/")).toEqual(["jobs/report-2"]);
  });
});
