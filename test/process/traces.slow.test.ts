import { describe, expect, test } from "vitest";
import { freshSqlite, testDatabases } from "../support/database.ts";
import { newTrace } from "../support/span-tree.ts";
import { leaseIn, TestCalls } from "../support/test-calls.ts";
import { OtlpReceiver } from "./otlp-receiver.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const ACQUIRE = "rowlock.v1.LockService/Acquire";
const stage = processStage();

async function serving(env: Record<string, string>, url: string, ...args: string[]) {
  const server = await screenOf(stage.rowlock(serveArgs(url, ...args), env));
  const client = (headers = {}) => {
    const calls = new TestCalls(server.grpcAddress, { headers });
    stage.afterwards(() => calls.close());
    return calls;
  };
  return { ...server, client };
}

describe.each(testDatabases())("a server on $label", ({ fresh, kind }) => {
  test("shows a collector where the time of a waiting Acquire went, and its log has the same ids", async () => {
    const collector = await OtlpReceiver.overHttp();
    stage.afterwards(() => collector.close());
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=locks",
      OTEL_SERVICE_NAME: "locks-of-the-shop",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      OTEL_BSP_SCHEDULE_DELAY: "10",
    };
    const { process, client } = await serving(env, await stage.database(fresh), "--log-level", "debug");
    await process.logged(/"sampling":.*"calls are traced"/);
    const { traceId, traceparent } = newTrace();
    const { traceId: holdersTrace, traceparent: holders } = newTrace();
    const holder = client({ traceparent: holders });
    const { leaseId } = await holder.lease({ name: "etl/load", terms: { owner: "first" } });
    const request = {
      name: "etl/load",
      whenBusy: { case: "wait" as const, value: {} },
      terms: { owner: "second" },
    };
    const granted = client({ traceparent }).call("acquire", request);
    await process.logged(/"owner":"second".*"queued"/);
    await holder.call("release", { leaseId });
    leaseIn(await granted);
    const trace = await collector.of(traceId, ACQUIRE, "queue", "transaction", "statement");
    const call = trace.one(ACQUIRE);
    expect(call.resource).toMatchObject({
      "service.name": "locks-of-the-shop",
      "service.instance.id": expect.stringMatching(/^\d+$/),
      "deployment.environment.name": "test",
    });
    expect(call.headers).toMatchObject({ "x-tenant": "locks" });
    expect(trace.parts(call).map(({ name }) => name)).toEqual(["transaction", "queue"]);
    expect(trace.parts(trace.one("transaction"))[0]?.attributes).toMatchObject({ "db.system.name": kind });
    const released = "rowlock.v1.LockService/Release";
    const release = (await collector.of(holdersTrace, released)).one(released);
    expect(trace.one("queue").links).toEqual([release.spanId]);
    for (const line of ["queued", "granted"])
      expect(process.err).toMatch(
        new RegExp(`"owner":"second".*"trace_id":"${traceId}","span_id":"${call.spanId}".*"${line}"`),
      );
    expect(process.err).toMatch(new RegExp(`"trace_id":"${holdersTrace}".*"reason":"released"`));
    process.kill("SIGTERM");
    expect(await process.ended()).toMatchObject({ code: 0 });
  });
});

test("a collector takes traces over gRPC, and what has ended shortly before the server stops", async () => {
  const collector = await OtlpReceiver.overGrpc();
  stage.afterwards(() => collector.close());
  const env = {
    OTEL_TRACES_EXPORTER: "otlp",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    // Far longer than the test: only the stop sends them.
    OTEL_BSP_SCHEDULE_DELAY: "600000",
  };
  const { process, client } = await serving(env, await stage.database(freshSqlite));
  const { traceId, traceparent } = newTrace();
  await client({ traceparent }).lease({ name: "x" });
  process.kill("SIGTERM");
  expect(await process.ended()).toMatchObject({ code: 0 });
  const trace = await collector.of(traceId, ACQUIRE);
  expect(trace.one(ACQUIRE).resource).toMatchObject({ "service.name": "rowlock" });
});
