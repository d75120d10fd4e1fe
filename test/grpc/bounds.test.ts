// What a server reports about the use of its bounds: each bound that the contract names is there, and the numbers are
// those of what clients have open.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Usage } from "../../server/access/usage.ts";
import type { BoundUse } from "../../server/core/bound-use.ts";
import { serverOfTest, type TestServer, until } from "../support/harness.ts";
import { acquire, sessionOfTest } from "../support/session-client.ts";

let server: TestServer;

const all = () => [...server.engine.bounds, ...server.grpc.bounds()];
const named = (name: string) => all().find(({ bound }) => bound === name) as BoundUse;
const used = (...names: readonly string[]) => names.map((name) => named(name).used);

test("each bound of the contract's errors is among them, once", async () => {
  server = await serverOfTest();
  const usage = new Usage();
  const quota = { claims: 1, waiters: 1, sessions: 1, records: 1, callsPerSecond: 1, newNamesPerMinute: 1 };
  usage.call({ principal: "token:a", quota });
  const contract = readFileSync(new URL("../../proto/rowlock/v1/errors.proto", import.meta.url), "utf8");
  const [, paragraph = ""] =
    /a bound of the server is reached([\s\S]*?)ERROR_REASON_OVERLOADED/.exec(contract) ?? [];
  const promised = [...paragraph.matchAll(/`([a-z_]+)`/g)]
    .map(([, name]) => name)
    .filter((name) => name !== "bound");
  expect(promised.length).toBeGreaterThan(20);
  const reported = [...all(), ...usage.bounds].map(({ bound }) => bound);
  expect(reported).toEqual(expect.arrayContaining(promised));
  expect(new Set(reported).size).toBe(reported.length);
});

test("open connections, sessions, waits and watches are counted, of the whole server or of the client with most", async () => {
  server = await serverOfTest({ grpc: { sessionWaitsMax: 4 } });
  const { client } = server;
  await client.lease({ name: "a" });
  const names = ["server_connections", "server_sessions", "server_waits", "waits_on_connection", "watches"];
  expect(used(...names)).toEqual([1, 0, 0, 0, 0]);

  const [busy, idle] = [sessionOfTest(client), sessionOfTest(client)];
  await Promise.all([busy, idle].map((session) => session.until(([first]) => first)));
  busy.ask(
    ...["a", "a", "a"].map((name) => acquire({ name, whenBusy: { case: "wait" as const, value: {} } })),
  );
  const stream = client.wait({ target: { case: "request", value: { name: "a" } } });
  await stream.position();
  const watch = client.watch("a");
  await watch.shows("a");
  await until(() => server.engine.waiterCount === 4);
  expect(used("server_sessions", "server_waits", "waits_on_connection", "watches", "watched_locks")).toEqual([
    2, 5, 2, 1, 1,
  ]);
  expect(named("session_waits")).toEqual({ bound: "session_waits", kind: "client", used: 3, max: 4 });
  expect(named("calls_on_connection").used).toBe(2);

  for (const session of [busy, idle]) session.end();
  watch.cancel();
  stream.cancel();
  await server.grpc.drain(1_000);
  await until(() => used("server_sessions", "session_waits").every((count) => count === 0));
});
