// Output that cannot be written, as on a full disk: a sentence and an exit code, no stack; no lease is left behind, and a
// server goes on.

import { describe, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const stage = processStage();
const { sh } = stage;

const SENTENCE = "rowlock: The output cannot be written (ENOSPC).\n";

describe.skipIf(process.platform !== "linux")("at a full device", () => {
  test.each(["--help", "completion bash"])("rowlock %s fails with a sentence", async (words) => {
    expect(await sh(`exec bin/rowlock.mjs ${words} >/dev/full`).ended()).toMatchObject({
      code: 1,
      err: SENTENCE,
    });
  });

  test("a lease that cannot be printed is released", async () => {
    const { client, grpcAddress } = await stage.serving(await stage.database(freshSqlite));
    const env = { ROWLOCK_ADDR: grpcAddress };
    const acquired = await sh("exec bin/rowlock.mjs acquire job --ttl 10m >/dev/full", env).ended();
    expect(acquired).toMatchObject({ code: 1, err: SENTENCE });
    expect((await client.call("getLock", { name: "job" })).lock?.holderCount).toBe(0);
    // What rowlock itself says of it is lost; the command is not.
    const run = await sh("exec bin/rowlock.mjs run job no-such-command 2>/dev/full", env).ended();
    expect(run.code).toBe(127);
  });

  test("a server whose log cannot be written serves on", async () => {
    const url = await stage.database(freshSqlite);
    const server = sh(`exec bin/rowlock.mjs ${serveArgs(url).join(" ")} 2>/dev/full`);
    const [, metrics] = await server.said(/metrics +(http:\S+)\/metrics/);
    for (const signal of ["SIGHUP", "SIGHUP"] as const) server.kill(signal);
    expect((await fetch(`${metrics}/readyz`)).status).toBe(200);
    server.kill("SIGTERM");
    expect((await server.ended()).code).toBe(0);
  });
});

test.each([
  { how: "that goes where its output goes", end: "2>&1" },
  { how: "of a program that wants no banner", end: "--banner=false" },
])("a log $how has no line but JSON", async ({ end }) => {
  const url = await stage.database(freshSqlite);
  const server = sh(`exec bin/rowlock.mjs ${serveArgs(url).join(" ")} ${end}`);
  await (end === "2>&1" ? server.said(/"msg":"serving"/) : server.logged(/"msg":"serving"/));
  server.kill("SIGTERM");
  const { code, out, err } = await server.ended();
  expect(code).toBe(0);
  const lines = `${out}${err}`.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).msg)).toContain("stopped");
});
