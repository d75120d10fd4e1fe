// The package, packed from its sources and unpacked as npm would, beside its two dependencies, and used by a program
// that knows nothing of this repository; and its declarations, used by a TypeScript program.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StartOptions } from "../../support/harness.ts";
import { knownCallers } from "../../support/known-callers.ts";
import { installClient } from "../../support/npm-packages.ts";
import { start } from "./stage.ts";

const root = join(import.meta.dirname, "../../..");
const modules = join(root, "node_modules");
const manifestOf = (path: string) => JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));

let program: string;
beforeAll(() => {
  program = mkdtempSync(join(tmpdir(), "rowlock-client-"));
  installClient(program);
});
afterAll(() => rmSync(program, { recursive: true, force: true }));

test("has the version of the server, and its versions of the packages that both need", () => {
  const [server, client] = [manifestOf("."), manifestOf("clients/typescript")];
  expect(client.version).toBe(server.version);
  for (const [name, version] of Object.entries(client.dependencies))
    expect(server.dependencies[name], name).toBe(version);
});

test("contains what is built from its sources, what is generated, and nothing else", () => {
  const installed = join(program, "node_modules/@rowlock/client");
  const files = globSync("**", { cwd: installed, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(installed, join(entry.parentPath, entry.name)));
  const sources = globSync("**/*.ts", { cwd: join(root, "clients/typescript/src") });
  const built = sources.flatMap((path) =>
    [".js", ".js.map", ".d.ts"].map((end) => `dist/${path.slice(0, -".ts".length)}${end}`),
  );
  const generated = globSync("{google/rpc,rowlock/v1}/*", { cwd: join(root, "proto/gen") });
  expect(generated.length).toBeGreaterThan(0);
  expect(files.sort()).toEqual(
    [
      ...built,
      ...generated.map((path) => `dist/gen/${path}`),
      "dist/package.json",
      "LICENSE",
      "README.md",
      "package.json",
    ].sort(),
  );
});

/** Runs a program, and returns what it prints. */
async function run(code: string): Promise<{ status: number | null; out: string }> {
  writeFileSync(join(program, "program.mjs"), code);
  const running = spawn(process.execPath, ["program.mjs"], {
    cwd: program,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [running.stdout, running.stderr]) stream.on("data", (chunk) => (out += chunk));
  const [status] = await once(running, "close");
  return { status, out };
}

/** Runs an example of the README against a server of the test. */
async function runExample(which: number, options: StartOptions = {}) {
  const server = await start(options);
  const readme = readFileSync(join(root, "clients/typescript/README.md"), "utf8");
  const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code as string);
  const [example = ""] = examples.filter((code) => code.includes("import {")).slice(which);
  expect(example.trim().split("\n").length).toBeLessThanOrEqual(10);
  expect(example).toContain("127.0.0.1:50051");
  return await run(example.replace("127.0.0.1:50051", server.address));
}

test("runs the first example of its README, and lets the process end", async () => {
  expect(await runExample(0)).toEqual({ status: 0, out: expect.stringContaining("fencing token 1") });
});

test("runs the example of bare calls, and lets the process end", async () => {
  expect(await runExample(1)).toEqual({ status: 0, out: "granted\n" });
});

test("runs the example of a token, which a server demands, and lets the process end", async () => {
  const { access, tokens } = knownCallers(["program"], null);
  writeFileSync(join(program, "token"), `${tokens.program}\n`);
  const found = await runExample(2, { grpc: { gate: access } });
  expect(found).toEqual({ status: 0, out: expect.stringContaining("fencing token 1") });
});

test("uses the OpenTelemetry of the program, and says so if it cannot load it", async () => {
  const { address } = await start();
  const using = `import { connect } from "@rowlock/client";
const log = (level, message) => console.log(level, message.slice(0, 31));
const rowlock = connect({ addresses: "${address}", log });
await rowlock.withLock("etl/load", () => {});
await rowlock.close();
`;
  const bundled = `globalThis[Symbol.for("opentelemetry.js.api.1")] = {};\n`;
  const connected = `info Connected to 127.0.0.1:`;
  const alone = await run(using);
  expect(alone).toEqual({ status: 0, out: expect.stringMatching(new RegExp(`^${connected}\\d+\\.\n$`)) });
  const without = await run(bundled + using);
  expect(without.out).toContain("warn The program uses OpenTelemetry,");
  expect(without).toEqual({ status: 0, out: expect.stringContaining(connected) });

  for (const needed of ["api", "core", "resources", "sdk-trace", "semantic-conventions"]) {
    const path = join("node_modules/@opentelemetry", needed);
    mkdirSync(join(program, path, ".."), { recursive: true });
    symlinkSync(join(root, path), join(program, path));
  }
  const setUp = `import { trace } from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
`;
  const spans = "for (const { name } of exporter.getFinishedSpans()) console.log(name);";
  const { status, out } = await run(setUp + using + spans);
  expect([status, out.split("\n").slice(1)]).toEqual([0, ["rowlock.lock", "rowlock.hold", ""]]);
});

test("declares its exports", () => {
  writeFileSync(
    join(program, "typed.mts"),
    `import { connect, RowlockError, type Lock, type Refusal } from "@rowlock/client";
import { BareCalls, Mode } from "@rowlock/client/bare";
const rowlock = connect({ addresses: "127.0.0.1:1" });
export const lock: Promise<Lock> = rowlock.lock("a", { wait: "forever", mode: "shared", ttl: 5_000 });
export const token: Promise<bigint | undefined> = rowlock.tryLock("a").then((lock) => lock?.token);
export function limitOf(refusal: Refusal): number | undefined {
  return refusal.reason === "NEVER_FITS" ? refusal.limit?.permits : undefined;
}
// @ts-expect-error: there is no such mode.
void rowlock.lock("a", { mode: "both" });
export const failed = (error: unknown) => error instanceof RowlockError && error.reason === "LEASE_LOST";
const calls = new BareCalls("127.0.0.1:1", { tls: true });
export const released: Promise<boolean> = calls.call("release", { leaseId: "a" }).then((answer) => answer.released);
export async function places(): Promise<number[]> {
  const target = { case: "request", value: { name: "a", mode: Mode.SHARED } } as const;
  return Array.fromAsync(calls.stream("waitInQueue", { target }), ({ update }) =>
    update.case === "position" ? update.value.ahead : 0,
  );
}
// @ts-expect-error: it answers with a stream.
void calls.call("waitInQueue", {});
// @ts-expect-error: there is no such field.
void calls.call("release", { lease: "a" });
`,
  );
  const options = ["--module", "nodenext", "--target", "esnext", "--strict", "--noEmit", "--types", "node"];
  const types = ["--typeRoots", join(modules, "@types")];
  const tsc = spawnSync(join(modules, ".bin/tsc"), [...options, ...types, "typed.mts"], {
    cwd: program,
    encoding: "utf8",
  });
  expect(tsc.stdout + tsc.stderr).toBe("");
  expect(tsc.status).toBe(0);
});
