// A server that sends its metrics to a collector.

import { expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { OtlpReceiver } from "./otlp-receiver.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const stage = processStage();

test("sends all of them while it runs and at its end, and says when nobody takes them", async () => {
  const collector = await OtlpReceiver.overHttp();
  stage.afterwards(() => collector.close());
  const url = await stage.database(freshSqlite);
  const env = {
    OTEL_METRICS_EXPORTER: "otlp",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_METRIC_EXPORT_INTERVAL: "500",
    OTEL_TRACES_EXPORTER: "none",
  };
  const server = stage.rowlock(serveArgs(url), env);
  await screenOf(server);
  await expect.poll(() => collector.metrics.length).toBeGreaterThan(1);
  const [first] = collector.metrics as [Buffer];
  const names = ["service.name", "rowlock_bound_used", "rowlock_build_info", "process_cpu_seconds_total"];
  expect(names.filter((name) => !first.includes(name))).toEqual([]);
  collector.close();
  await expect.poll(() => server.err).toMatch(/the collector takes no metrics/);
  server.kill("SIGTERM");
  expect(await server.exited).toMatchObject({ code: 0 });
});
