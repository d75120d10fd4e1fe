// The verbs that the page calls answer what gRPC answers, fail as gRPC fails, and are counted and logged as any call.

import { toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { replacing } from "../support/harness.ts";
import { lasting } from "../support/lasting.ts";
import { RecordedSpans } from "../support/recorded-spans.ts";
import { type PageServer, startPageServer } from "./page-stage.ts";
import { posted } from "./requests.ts";

const REQUEST_ID = "the-request-id-of-the-holder";

/** A lock with a holder, a waiter that wants another one, too, a limit of its own, a record and a change. */
async function busyLock({ client }: PageServer, name: string) {
  await client.lease({
    name,
    requestId: REQUEST_ID,
    terms: { ...lasting("anna"), labels: { team: "etl" } },
  });
  await client.ticket({ name, also: [{ name: `${name}/also` }], terms: lasting("ben") });
  await client.call("updateRecord", { name, status: "new" });
}

const NAME = "etl/load";

/** Reads, whose answers do not change from one call to the next. */
const READS = [
  ["getLock", { name: NAME }, { name: NAME }],
  ["getLock", { name: "nobody/used/it" }, { name: "nobody/used/it" }],
  ["listLocks", { prefix: "etl/", busyOnly: true }, { prefix: "etl/", busyOnly: true }],
  ["listLimits", {}, {}],
  ["listClaims", { lockName: NAME }, { locks: { case: "lockName", value: NAME } }],
  ["listClaims", { prefix: "etl/", pageSize: 1 }, { locks: { case: "prefix", value: "etl/" }, pageSize: 1 }],
  ["listChanges", { lockName: NAME }, { locks: { case: "lockName", value: NAME } }],
  ["explainWait", { name: NAME }, { target: { case: "name", value: NAME } }],
] as const;

/** A part that only a clock changes from one call to the next. */
function withoutTimes(json: unknown): unknown {
  return JSON.parse(
    JSON.stringify(json, (key, value) => (/^(held|waited|ttl|.*For|.*Left|.*In)$/.test(key) ? null : value)),
  );
}

describe("reads", () => {
  test.each(READS)("%s %j answers what gRPC answers", async (verb, body, request) => {
    const server = await startPageServer();
    await busyLock(server, NAME);
    await server.client.limit("etl/other", 3, { reason: "night" });
    const { name, output } = LockService.method[verb];
    const byGrpc = toJson(output, (await server.client.call(verb, request as never)) as never);
    const byPage = await server.ask(`/rowlock.v1.LockService/${name}`, posted(body));
    expect(byPage.status).toBe(200);
    expect(withoutTimes(byPage.json)).toEqual(withoutTimes(byGrpc));
    expect(byPage.text).not.toContain(REQUEST_ID);
  });

  test("show the holder and the waiter, so that the comparison is about something", async () => {
    const server = await startPageServer();
    await busyLock(server, NAME);
    const { lock } = await server.call("GetLock", { name: NAME });
    expect(lock).toMatchObject({
      holders: [{ owner: "anna" }],
      waiters: [{ owner: "ben", also: [{ lockName: `${NAME}/also`, permits: 1 }] }],
      record: { status: "new" },
    });
  });
});

test("acts force a release, set a limit and a rate, and update a lock", async () => {
  const server = await startPageServer();
  await busyLock(server, NAME);
  expect(await server.call("SetLimit", { name: NAME, limit: 3, reason: "night shift" })).toMatchObject({
    limit: 3,
  });
  expect(await server.call("UpdateRecord", { name: NAME, status: "paused" })).toMatchObject({
    record: { status: "paused" },
  });
  const rate = { permits: 500, per: "60s", burst: 20 };
  expect(await server.call("SetLimit", { name: NAME, rate, reason: "quota" })).toMatchObject({
    limit: 3,
    rate,
  });
  const released = await server.call("ForceRelease", { name: NAME, reason: "it hangs" });
  expect(released).toMatchObject({ ended: [{ owner: "anna" }, { owner: "ben" }] });
  const { changes } = await server.client.call("listChanges", { locks: { case: "lockName", value: NAME } });
  expect(changes.map(({ reason }) => reason)).toEqual([
    "it hangs",
    "it hangs",
    "quota",
    "",
    "night shift",
    "",
  ]);
});

describe("failures", () => {
  const same = async (
    server: PageServer,
    verb: "getLock" | "setLimit" | "forceRelease",
    request: object,
    body: object,
  ) => {
    const failure: unknown = await server.client
      .call(verb, request as never)
      .catch((error: unknown) => error);
    if (!(failure instanceof RowlockError)) throw new Error("It has not failed.");
    const { name } = LockService.method[verb];
    const answer = await server.ask(`/rowlock.v1.LockService/${name}`, posted(body));
    const { code, reason, message, violations } = failure;
    expect(answer.json).toMatchObject({
      code: code.toLowerCase(),
      reason,
      message,
      ...(violations.length > 0 && { violations }),
    });
    return answer.status;
  };

  test("have the code, the reason, the sentence and the violations that gRPC gives", async () => {
    const server = await startPageServer();
    const target = (value: string) => ({ case: "name" as const, value });
    expect(await same(server, "forceRelease", { target: target("") }, { name: "" })).toBe(400);
    const [unknown, asked] = [
      { target: target("x"), reason: "y" },
      { name: "x", reason: "y" },
    ];
    expect(await same(server, "forceRelease", unknown, asked)).toBe(404);
    await server.client.limit("x", 2);
    const wrong = { newLimit: { case: "limit" as const, value: 2 }, expectedVersion: 7n };
    const body = { name: "x", limit: 2, expectedVersion: "7" };
    expect(await same(server, "setLimit", { ...wrong, target: target("x") }, body)).toBe(409);
  });

  test("of a limit and a rate together name what is wrong with both", async () => {
    const server = await startPageServer();
    const [newLimit, newRate] = [
      { case: "limit", value: 2_000_000 },
      { case: "rate", value: { permits: 0, per: { seconds: 0n, nanos: 0 } } },
    ];
    const request = { target: { case: "name", value: "x" }, newLimit, newRate };
    const body = { name: "x", limit: 2_000_000, rate: { permits: 0, per: "0s" } };
    expect(await same(server, "setLimit", request, body)).toBe(400);
    const { json } = await server.ask("/rowlock.v1.LockService/SetLimit", posted(body));
    const fields = json.violations.map(({ field }: { field: string }) => field);
    expect(fields).toEqual(["limit", "rate.permits", "rate.per"]);
  });

  test("of the server itself show nothing of their cause, and are in the log with it", async () => {
    const server = await startPageServer({
      wrapEngine: (engine) => replacing(engine, { view: () => Promise.reject(new TypeError("hush")) }),
    });
    const answer = await server.ask("/rowlock.v1.LockService/GetLock", posted({ name: "x" }));
    expect([answer.status, answer.json.reason]).toEqual([500, "INTERNAL"]);
    expect(answer.text).not.toContain("hush");
    expect(server.logLines).toMatchObject([{ level: "error", fields: { method: "GetLock" } }]);
  });

  test.each([
    ["no JSON", "{", "JSON"],
    ["another message", '{"nonsense": 1}', '"nonsense" is unknown'],
    ["a field of another type", '{"name": 1}', "name"],
    ["no object", "[]", "GetLockRequest"],
    ["nothing", "", "JSON"],
    ["no UTF-8", Buffer.from([0x7b, 0xff]), "GetLockRequest"],
  ])("a body with %s is refused with what is wrong", async (_what, body, says) => {
    const server = await startPageServer();
    const answer = await server.ask("/rowlock.v1.LockService/GetLock", { ...posted({}), body });
    expect([answer.status, answer.json.code]).toEqual([400, "invalid_argument"]);
    expect(answer.json.message).toContain(says);
  });
});

test("each call is counted as one of the page", async () => {
  const server = await startPageServer();
  await server.call("GetLock", { name: "x" });
  await server.call("GetLock", { name: "" });
  expect(server.calls.map(({ method, code, via }) => [method, code, via])).toEqual([
    ["GetLock", "OK", "http"],
    ["GetLock", "INVALID_ARGUMENT", "http"],
  ]);
});

test("a call continues the trace of whoever forwards it", async () => {
  const spans = new RecordedSpans();
  const server = await startPageServer({ tracer: spans.tracer });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const asked = posted({ name: "x" });
  const headers = { ...asked.headers, traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  await server.ask("/rowlock.v1.LockService/GetLock", { ...asked, headers });
  expect((await spans.of(traceId, "rowlock.v1.LockService/GetLock")).all).toHaveLength(1);
  await spans.stop();
});

test("each verb of the contract is at the door, but sessions", async () => {
  const server = await startPageServer();
  for (const { name } of LockService.methods) {
    const { status } = await server.ask(`/rowlock.v1.LockService/${name}`, {
      ...posted({ unknown: [] }),
      headers: { "content-type": "application/json", accept: "text/event-stream" },
    });
    expect([name, status]).toEqual([name, name === "Session" ? 501 : 400]);
  }
});
