// The examples of the client, and programs that are asked to end, as processes with the installed package; and its test
// server.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer } from "../../../clients/typescript/src/testing.ts";
import { until } from "../../support/harness.ts";
import { installClient } from "../../support/npm-packages.ts";
import { afterwards, client, start } from "./stage.ts";

const root = join(import.meta.dirname, "../../..");
const ROWLOCK_BIN = join(root, "bin/rowlock.mjs");

let program: string;
beforeAll(() => {
  program = mkdtempSync(join(tmpdir(), "rowlock-examples-"));
  installClient(program);
  symlinkSync(join(root, "node_modules/express"), join(program, "node_modules/express"));
  cpSync(join(root, "clients/typescript/examples"), program, { recursive: true });
  writeFileSync(join(program, "package.json"), '{ "type": "module" }\n');
});
afterAll(() => rmSync(program, { recursive: true, force: true }));

/** Starts a program of that folder; `said` is what it has printed so far. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(process.execPath, args, {
    cwd: program,
    env: { ...process.env, ROWLOCK_BIN, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  afterwards(() => {
    child.kill("SIGKILL");
  });
  const printed = { text: "" };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (printed.text += chunk));
  const ended = once(child, "close");
  return { child, printed, ended };
}

describe("the example", () => {
  test("of Express serves one request for a table at a time", async () => {
    const server = await start();
    const { printed, child, ended } = run(["express.ts"], { ROWLOCK_ADDR: server.address, PORT: "0" });
    await until(() => /listening on \d+/.test(printed.text));
    const port = /listening on (\d+)/.exec(printed.text)?.[1];
    const load = (ms: number) => fetch(`http://127.0.0.1:${port}/load/orders?ms=${ms}`, { method: "POST" });
    const first = load(3_000);
    const operator = client(server.address);
    await until(async () => (await operator.getLock("load/orders")).holderCount === 1);
    expect((await load(0)).status).toBe(503);
    const answer = await first;
    expect([answer.status, await answer.text()]).toEqual([200, "loaded, with fencing token 1\n"]);
    child.kill("SIGTERM");
    expect(await ended).toEqual([null, "SIGTERM"]);
  });

  test("of a fetch-style handler answers one of two requests", async () => {
    const server = await start();
    const { printed, ended } = run(["fetch.ts"], { ROWLOCK_ADDR: server.address });
    expect(await ended).toEqual([0, null]);
    const lines = printed.text.trim().split("\n");
    expect(lines.sort()).toEqual(["200 loaded, with fencing token 1", "503 Busy: try again later."]);
  });

  test("of a worker does the tasks that are there, until it is asked to stop", async () => {
    const server = await start();
    const operator = client(server.address);
    for (const task of [1, 2, 3]) await operator.updateRecord(`task/${task}`, { status: "new" });
    const { printed, child, ended } = run(["worker.ts"], { ROWLOCK_ADDR: server.address });
    const isDone = async (task: number) => (await operator.getLock(`task/${task}`)).record?.status === "done";
    await until(async () => (await Promise.all([1, 2, 3].map(isDone))).every(Boolean));
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(printed.text).toMatch(/^(works on task\/\d, with fencing token 1\n){3}stopped\n$/);
  });

  test("of a test passes on a server of its own", async () => {
    const { printed, ended } = run(["--test", "own-test.test.ts"]);
    const [status] = await ended;
    expect(printed.text).toContain("pass 2");
    expect(status).toBe(0);
  });
});

describe("a program that is asked to end", () => {
  const holding = (options: string, more = "") => `import { connect } from "@rowlock/client";
const rowlock = connect({ addresses: process.env.ROWLOCK_ADDR, ${options} });
await rowlock.lock("etl");
${more}
console.log("held");
`;
  async function ended(code: string) {
    const server = await start();
    writeFileSync(join(program, "holding.mjs"), code);
    const { printed, child, ended } = run(["holding.mjs"], { ROWLOCK_ADDR: server.address });
    await until(() => printed.text.includes("held\n"));
    child.kill("SIGTERM");
    const how = await ended;
    return { how, printed, holders: (await client(server.address).getLock("etl")).holderCount };
  }

  test("frees its locks first if it wants that, and ends by the signal", async () => {
    expect(await ended(holding("releaseOnExit: true"))).toMatchObject({ how: [null, "SIGTERM"], holders: 0 });
  });

  test("leaves them to their ttl otherwise", async () => {
    expect(await ended(holding(""))).toMatchObject({ how: [null, "SIGTERM"], holders: 1 });
  });

  test("decides itself when it ends, if it listens for the signal", async () => {
    const own = "process.once('SIGTERM', () => setTimeout(() => process.exit(7), 3_000));";
    expect(await ended(holding("releaseOnExit: true", own))).toMatchObject({ how: [7, null], holders: 0 });
  });
});

describe("a test server", () => {
  test("says how to get the command that it lacks, and what a wrong one did", async () => {
    await expect(startTestServer({ command: "/no/such/rowlock" })).rejects.toThrow(
      "There is no command /no/such/rowlock to start a test server: install the server, or set ROWLOCK_BIN to its path",
    );
    await expect(startTestServer({ command: "false" })).rejects.toThrow("has ended (1) instead of serving");
  });
});
