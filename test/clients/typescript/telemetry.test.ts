// What a program that has set up OpenTelemetry, or a log, learns of the client and its locks, on real servers.

import * as api from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import type {
  ConnectOptions,
  LogFields,
  LogLevel,
  OpenTelemetryApi,
} from "../../../clients/typescript/src/index.ts";
import { until } from "../../support/harness.ts";
import { setUpOpenTelemetry } from "./open-telemetry.ts";
import { aborted, client, start, waiting } from "./stage.ts";

type Logged = LogFields & { readonly level: LogLevel; readonly message: string };

async function stage(options: Partial<ConnectOptions> = {}) {
  const server = await start();
  const log: Logged[] = [];
  const rowlock = client(server.address, {
    log: (level, message, fields) => log.push({ level, message, ...fields }),
    ...options,
  });
  return { server, rowlock, log };
}

describe("spans", () => {
  test("of a lock that is free: the request, and the work under it, both in the span of the caller", async () => {
    const { spans, inSpan } = setUpOpenTelemetry();
    const { rowlock } = await stage();
    const [caller, within] = await inSpan(async (span) => [
      span.spanContext(),
      await rowlock.withLock("etl", { mode: "exclusive" }, async () =>
        api.trace.getActiveSpan()?.spanContext(),
      ),
    ]);
    const [request, ...more] = await spans("rowlock.lock");
    const [hold] = await spans("rowlock.hold");
    expect(more).toEqual([]);
    expect(request?.attributes).toEqual({
      "rowlock.lock.name": "etl",
      "rowlock.lock.mode": "exclusive",
      "rowlock.lock.permits": 1,
      "rowlock.outcome": "granted",
      "rowlock.waited": false,
      "rowlock.fencing_token": 1,
    });
    expect(request?.kind).toBe(api.SpanKind.CLIENT);
    expect(hold?.attributes).toEqual({
      "rowlock.lock.name": "etl",
      "rowlock.lock.mode": "exclusive",
      "rowlock.lock.permits": 1,
      "rowlock.fencing_token": 1,
      "rowlock.lost": false,
    });
    for (const span of [request, hold])
      expect([span?.parentSpanContext?.spanId, span?.spanContext().traceId]).toEqual([
        caller.spanId,
        caller.traceId,
      ]);
    expect(within?.spanId).toBe(hold?.spanContext().spanId);
  });

  test("of a lock that is busy: one that waits, one that is refused, and one that is given up", async () => {
    const { spans, metric } = setUpOpenTelemetry();
    const { rowlock } = await stage();
    const first = await rowlock.lock("etl");
    await expect(rowlock.lock("etl", { wait: 1 })).rejects.toMatchObject({ reason: "TIMED_OUT" });
    expect(await rowlock.tryLock("etl")).toBeNull();
    const bored = new AbortController();
    const given = rowlock.lock("etl", { signal: bored.signal, onPosition: () => bored.abort() });
    await expect(given).rejects.toThrow();
    const second = rowlock.lock("etl");
    await until(async () => (await waiting(rowlock, "etl")) === 1);
    expect(await metric("rowlock.client.waiting")).toEqual([{ attributes: {}, value: 1 }]);
    await first.release();
    await (await second).release();
    expect(await metric("rowlock.client.waiting")).toEqual([{ attributes: {}, value: 0 }]);
    const ends = (await spans("rowlock.lock")).map(({ attributes, status }) => [
      attributes["rowlock.outcome"],
      attributes["rowlock.waited"],
      status.code,
    ]);
    expect(ends).toEqual([
      ["granted", false, api.SpanStatusCode.UNSET],
      ["timed_out", true, api.SpanStatusCode.UNSET],
      ["busy", false, api.SpanStatusCode.UNSET],
      ["cancelled", true, api.SpanStatusCode.UNSET],
      ["granted", true, api.SpanStatusCode.UNSET],
    ]);
    expect(await metric("rowlock.client.wait.duration")).toMatchObject([
      { attributes: {}, value: { count: 2 } },
    ]);
  });

  test("of an error name its reason, and no id", async () => {
    const { spans, metric } = setUpOpenTelemetry();
    const { rowlock } = await stage({ addresses: "127.0.0.1:1", giveUpAfter: 50 });
    await expect(rowlock.lock("etl", { ttl: "forever" })).rejects.toMatchObject({ reason: "NO_SERVER" });
    const [span] = await spans("rowlock.lock");
    expect(span?.attributes["rowlock.outcome"]).toBe("error");
    expect(await metric("rowlock.client.waiting")).toEqual([{ attributes: {}, value: 0 }]);
    expect(span?.status).toEqual({ code: api.SpanStatusCode.ERROR, message: "NO_SERVER" });
  });
});

test("a lost lock ends the span of its work with the reason, is counted, and is logged", async () => {
  const { spans, metric } = setUpOpenTelemetry();
  const { server, rowlock, log } = await stage();
  const operator = client(server.address);
  const work = rowlock.withLock("etl", async ({ signal }) => {
    await operator.forceRelease({ name: "etl" }, "maintenance");
    await aborted(signal);
    const [hold] = await spans("rowlock.hold");
    expect(hold?.attributes).toMatchObject({ "rowlock.lost": true, "rowlock.reason": "force_released" });
    expect(hold?.status.code).toBe(api.SpanStatusCode.ERROR);
  });
  await expect(work).rejects.toMatchObject({ reason: "LEASE_LOST" });
  expect(await spans("rowlock.hold")).toHaveLength(1);
  expect(await metric("rowlock.client.lost")).toEqual([
    { attributes: { "rowlock.reason": "force_released" }, value: 1 },
  ]);
  expect(await metric("rowlock.client.held")).toEqual([{ attributes: {}, value: 0 }]);
  expect(log.filter(({ level }) => level === "warn")).toEqual([
    {
      level: "warn",
      message: expect.stringContaining('"etl" is lost (force_released)'),
      lock: "etl",
      fencingToken: 1,
      reason: "force_released",
    },
  ]);
});

describe("OpenTelemetry", () => {
  test("that the program passes is used, whatever else there is", async () => {
    const { spans } = setUpOpenTelemetry();
    // This also checks that the types of the package fit.
    const passed: OpenTelemetryApi = api;
    const { rowlock } = await stage({ openTelemetry: passed });
    await (await rowlock.lock("etl")).release();
    expect(await spans("rowlock.lock")).toHaveLength(1);
  });

  test("that the program sets up after it has connected is found", async () => {
    const { rowlock } = await stage();
    const early = await rowlock.lock("early");
    const { spans, metric } = setUpOpenTelemetry();
    await early.release();
    await (await rowlock.lock("late")).release();
    expect(await spans("rowlock.lock")).toMatchObject([{ attributes: { "rowlock.lock.name": "late" } }]);
    // What was held before was not counted, so its end is not counted either.
    expect(await metric("rowlock.client.held")).toEqual([{ attributes: {}, value: 0 }]);
  });

  test("is left alone with `false`", async () => {
    const { spans, metric } = setUpOpenTelemetry();
    const { rowlock } = await stage({ openTelemetry: false });
    await rowlock.withLock("etl", () => {});
    expect([await spans("rowlock.lock"), await metric("rowlock.client.held")]).toEqual([[], []]);
  });
});

test("the log names each connection that opens or ends, and why", async () => {
  const { server, rowlock, log } = await stage();
  const { address } = server;
  await (await rowlock.lock("etl")).release();
  expect(log).toEqual([
    {
      level: "info",
      message: `Connected to ${address}.`,
      address,
      via: "session",
      replica: expect.any(String),
    },
  ]);
  await server.stop();
  await until(() => log.length === 3);
  expect(log.slice(1)).toMatchObject([
    { level: "info", message: expect.stringContaining("is going away"), address },
    { level: "info", message: expect.stringContaining(`no connection to ${address}`), address },
  ]);
});

test("the log has one warning, with what was found, if a connection that is needed stays away", async () => {
  const { server, rowlock, log } = await stage();
  await rowlock.lock("etl");
  await server.stop();
  const warnings = () => log.filter(({ level, lock }) => level === "warn" && lock === undefined);
  await until(() => warnings().length > 0);
  await until(() => log.filter(({ message }) => message.includes("no connection to")).length > 4);
  expect(warnings()).toEqual([
    {
      level: "warn",
      message: expect.stringContaining(`${server.address}: nobody listens there`),
      reason: "NO_SERVER",
    },
  ]);
});
