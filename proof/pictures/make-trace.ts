// Makes docs/pictures/trace.svg from a real collector: a server on MariaDB, a holder, and an Acquire that waits for it.
// Needs MariaDB on this machine, and an OpenTelemetry collector that takes OTLP over HTTP and prints what it gets with
// the exporter `debug` and `verbosity: detailed`.
//
//   npm run pictures:trace -- --endpoint http://127.0.0.1:4318 --log collector.log

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { DatabaseServers } from "../../bench/systems/database-servers.ts";
import { RowlockProcess, screenOf, serveArgs } from "../../test/process/server-process.ts";
import { newTrace } from "../../test/support/span-tree.ts";
import { leaseIn, TestCalls } from "../../test/support/test-calls.ts";
import { until } from "../../test/support/until.ts";
import { drawTrace, printedSpans } from "./trace.ts";

const PICTURES = join(import.meta.dirname, "../../docs/pictures");
const NAME = "etl/load";
/** Short, so that what takes a few milliseconds can be seen beside it. */
const HELD_MS = 100;
/** The first calls compile what the later ones run. */
const BEFORE = 300;

const { values } = parseArgs({ options: { endpoint: { type: "string" }, log: { type: "string" } } });
const { endpoint, log } = values;
if (endpoint === undefined || log === undefined) throw new Error("needs --endpoint and --log");
const directory = mkdtempSync(join(tmpdir(), "rowlock-trace-"));
const databases = new DatabaseServers(directory);
const stops: (() => unknown)[] = [() => databases.stop()];
try {
  const { url } = await databases.database("mariadb", "rowlock_trace");
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_TRACES_SAMPLER: "parentbased_always_off",
    OTEL_BSP_SCHEDULE_DELAY: "100",
  };
  const server = await screenOf(new RowlockProcess(serveArgs(url), env));
  stops.unshift(() => server.process.destroy());
  const { waiting, released } = { waiting: newTrace(), released: newTrace() };
  const client = (headers = {}) => new TestCalls(server.grpcAddress, { headers });
  const holder = client({ traceparent: released.traceparent });
  const waiter = client({ traceparent: waiting.traceparent });
  const warm = client();
  stops.unshift(() => {
    for (const one of [holder, waiter, warm]) one.close();
  });

  for (let call = 0; call < BEFORE; call++) {
    const { leaseId } = await warm.lease({ name: NAME });
    await warm.call("release", { leaseId });
  }
  // Opens the connections: that is no part of what the picture shows.
  for (const one of [holder, waiter]) await one.call("getLock", { name: NAME });
  const { leaseId } = await warm.lease({ name: NAME });
  const granted = waiter.call("acquire", { name: NAME, whenBusy: { case: "wait", value: {} } });
  await sleep(HELD_MS);
  await holder.call("release", { leaseId });
  leaseIn(await granted);

  const spans = () => printedSpans(readFileSync(log, "utf8"));
  const of = ({ traceId }: { traceId: string }, method: string) =>
    spans().find((span) => span.traceId === traceId && span.name.endsWith(`/${method}`));
  await until(() => of(waiting, "Acquire") !== undefined && of(released, "Release") !== undefined);
  const call = of(waiting, "Acquire");
  if (!call) throw new Error("the collector has printed no Acquire");
  mkdirSync(PICTURES, { recursive: true });
  writeFileSync(
    join(PICTURES, "trace.svg"),
    drawTrace("An Acquire that waits, and the Release that makes room for it", call, spans()),
  );
  console.log("wrote docs/pictures/trace.svg");
} finally {
  for (const stop of stops) await stop();
  rmSync(directory, { recursive: true, force: true });
}
