// What each command loads: a command that must start fast loads no more than it needs. The tests do not measure time,
// because the machine also does other work.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { TestCalls } from "../support/test-calls.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const stage = processStage();
const house = join(import.meta.dirname, "../..");
/** Prints at exit which packages were loaded, and how many modules in all. */
const WATCH = `
  import { registerHooks } from "node:module";
  const urls = [];
  registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
  process.on("exit", () => {
    const packages = urls.flatMap((url) => /.*node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? []);
    console.error(JSON.stringify({ packages: [...new Set(packages)].sort(), count: urls.length }));
  });`;

function loaded(...args: string[]): { packages: string[]; count: number } {
  const hook = `data:text/javascript,${encodeURIComponent(WATCH)}`;
  const command = ["--import", hook, "server/main.ts", ...args];
  const { stderr, status } = spawnSync(process.execPath, command, { cwd: house, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return JSON.parse(stderr);
}

/** The packages that a server has loaded when it has granted a lease and stopped. */
async function loadedByServer(env: Record<string, string>): Promise<string[]> {
  const { url, drop } = await freshSqlite();
  stage.afterwards(drop);
  const hook = `--import=data:text/javascript,${encodeURIComponent(WATCH)}`;
  const server = await screenOf(stage.rowlock(serveArgs(url), { NODE_OPTIONS: hook, ...env }));
  const client = new TestCalls(server.grpcAddress);
  stage.afterwards(() => client.close());
  await client.lease({ name: "x" });
  server.process.kill("SIGTERM");
  const { err } = await server.process.ended();
  return (JSON.parse(err.trim().split("\n").at(-1) as string) as { packages: string[] }).packages;
}

test("a server loads OpenTelemetry only if the environment asks for traces", async () => {
  // prom-client loads the API, which is types and little more.
  const isOfTraces = (name: string) => /^@opentelemetry\/(?!api$)/.test(name);
  const without = await loadedByServer({ OTEL_SERVICE_NAME: "locks" });
  expect(without).toContain("@grpc/grpc-js");
  expect(without.filter(isOfTraces)).toEqual([]);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  expect((await loadedByServer(endpoint)).filter(isOfTraces)).toContain("@opentelemetry/sdk-trace");
});

test("help and version load nothing of the server, nor of the client", () => {
  for (const args of [["--version"], ["--help"], ["run", "--help"], ["help", "ls"]]) {
    const { packages, count } = loaded(...args);
    expect(packages).toEqual(["commander"]);
    expect(count).toBeLessThan(60);
  }
});

test("a command that asks a server loads the client and its two packages, and nothing of the server", async () => {
  const server = await stage.serving(await stage.database(freshSqlite));
  const { packages } = loaded("ls", "--addr", server.grpcAddress);
  expect(packages).toEqual(["@bufbuild/protobuf", "@grpc/grpc-js", "@js-sdsl/ordered-map", "commander"]);
});
