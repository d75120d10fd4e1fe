// What the log says of a collector, and of what the packages warn of.

import { diag } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { afterEach, expect, test } from "vitest";
import { LoggedExporter, logWarnings } from "../../server/tracing/otel-tracer.ts";

afterEach(() => diag.disable());

function recording() {
  const lines: [message: string, fields: object][] = [];
  const log = {
    info: (fields: object, message: string) => void lines.push([message, fields]),
    warn: (fields: object, message: string) => void lines.push([message, fields]),
  };
  return { lines, log };
}

test("a collector that is away is logged once, and once when it is back, with the number of lost spans", () => {
  const { lines, log } = recording();
  let result: ExportResult = { code: ExportResultCode.SUCCESS };
  const exporter = new LoggedExporter({ export: (_, done) => done(result), shutdown: async () => {} }, log);
  const results: ExportResult[] = [];
  const send = (count: number) =>
    exporter.export(
      Array.from({ length: count }, () => ({}) as ReadableSpan),
      (seen) => results.push(seen),
    );
  send(1);
  result = { code: ExportResultCode.FAILED, error: new Error("connect ECONNREFUSED") };
  send(2);
  send(3);
  result = { code: ExportResultCode.SUCCESS };
  send(4);
  send(5);
  result = { code: ExportResultCode.FAILED };
  send(6);
  expect(lines).toEqual([
    ["the collector takes no traces: they are lost until it does", { cause: "connect ECONNREFUSED" }],
    ["the collector takes traces again", { lost: 5 }],
    ["the collector takes no traces: they are lost until it does", { cause: undefined }],
  ]);
  expect(results.map(({ code }) => code)).toEqual([0, 1, 1, 0, 0, 1]);
});

test("what the packages warn of is logged seldom, and without the value of a header", () => {
  const { lines, log } = recording();
  logWarnings(log);
  for (const dropped of [7, 8, 9]) diag.warn(`Dropped ${dropped} spans because maxQueueSize reached`);
  diag.warn('Header "authorization" has invalid value (Bearer hush) and will be ignored');
  diag.error("an export has failed, which LoggedExporter has logged");
  expect(lines).toEqual([
    ["OpenTelemetry warns: Dropped 7 spans because maxQueueSize reached", { suppressed: 0 }],
    [
      'OpenTelemetry warns: Header "authorization" has an invalid value and will be ignored',
      { suppressed: 0 },
    ],
  ]);
});
