// The ETL example: the unchanged program, with the client installed as by npm, while an operator raises the limit.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { Progress } from "../../examples/etl/progress.ts";
import { Warehouse } from "../../examples/etl/warehouse.ts";
import { processStage, type ServingServer } from "../process/stage.ts";
import { freshSqlite } from "../support/database.ts";
import { installClient } from "../support/npm-packages.ts";
import { until } from "../support/until.ts";

/** The test starts many programs, which are slow on a machine with other work. */
vi.setConfig({ testTimeout: 120_000 });

const stage = processStage("after all");
const example = join(import.meta.dirname, "../../examples/etl");
const readme = readFileSync(join(example, "README.md"), "utf8");

let server: ServingServer;
let program: string;
beforeAll(async () => {
  const folder = stage.folder();
  program = join(folder, "etl");
  cpSync(example, program, { recursive: true, filter: (path) => !path.includes("node_modules") });
  installClient(program);
  server = await stage.serving(await stage.database(freshSqlite));
});

/** Runs the unchanged command line that the README gives to operators. */
async function operator(line: RegExp): Promise<void> {
  const [, words = ""] = line.exec(readme) ?? [];
  const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
  const { code, err } = await stage.rowlock(args, { ROWLOCK_ADDR: server.grpcAddress }).exited;
  expect([code, err]).toEqual([0, ""]);
}

/** Starts main.ts. */
function started(warehouse: string) {
  const env = { PATH: process.env.PATH, ROWLOCK_ADDR: server.grpcAddress, WAREHOUSE: warehouse };
  const child = spawn(process.execPath, ["main.ts"], { cwd: program, env });
  stage.afterwards(() => child.kill("SIGKILL"));
  const run = { out: "", ended: once(child, "close") };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (run.out += chunk));
  return run;
}

/** The number of loads in progress after each output line. */
function atATime(lines: readonly string[]): number[] {
  let loading = 0;
  return lines.map((line) => {
    if (line.includes(" loads")) loading += 1;
    if (line.endsWith(" done")) loading -= 1;
    return loading;
  });
}

describe("ten workers", () => {
  test("keep to a limit that is raised while they run, and report their places meanwhile", async () => {
    const name = "etl/load";
    const lock = async () => (await server.client.call("getLock", { name })).lock;
    await operator(/^rowlock (limit etl\/load 2 .*)$/m);
    const run = started("warehouse.db");
    await until(async () => (await lock())?.waiterCount === 8);
    await operator(/^rowlock (limit etl\/load 5 .*)$/m);
    await until(() => Math.max(...atATime(run.out.split("\n"))) === 5);
    expect(await run.ended).toEqual([0, null]);

    const lines = run.out.trim().split("\n");
    const most = atATime(lines);
    expect(Math.max(...most)).toBe(5);
    // The third load begins only after the limit was raised or one of the first two was done.
    expect(most.slice(0, lines.findIndex((line) => line.includes("waits, 7 before it")) + 1)).not.toContain(
      3,
    );
    expect(lines.filter((line) => line.includes(" loads, with token "))).toHaveLength(10);
    // Waiters move up one place at a time or faster.
    const places = lines
      .filter((line) => line.startsWith("part-10 waits"))
      .map((line) => /\d+ before/.exec(line)?.[0]);
    expect(places[0]).toBe("7 before");
    expect(places.length).toBeGreaterThan(1);
    expect(lines.at(-1)).toBe("10000 rows in the warehouse, 0 parts failed");
    expect(await lock()).toMatchObject({ holderCount: 0, waiterCount: 0 });
  });

  test("fail with a message if they lose the lock", async () => {
    const run = started("lost.db");
    await until(() => run.out.includes(" loads"));
    await server.client.limit("etl/load", 5);
    await server.client.call("forceRelease", { target: { case: "name", value: "etl/load" }, reason: "test" });
    expect(await run.ended).toEqual([1, null]);
    expect(run.out).toMatch(/part-\d+ failed: /);
    expect(run.out).toMatch(/[1-9]\d* parts failed\n$/);
  });
});

test("the warehouse refuses a worker whose token is older than the last one", () => {
  using warehouse = new Warehouse(":memory:");
  warehouse.load("p", [{ id: 1, cents: 5 }], 7n);
  warehouse.load("p", [{ id: 2, cents: 5 }], 7n);
  warehouse.load("p", [{ id: 1, cents: 6 }], 9n);
  expect(() => warehouse.load("p", [{ id: 3, cents: 5 }], 7n)).toThrow(/too old/);
  warehouse.load("q", [{ id: 3, cents: 5 }], 1n);
  expect(warehouse.rows()).toBe(3);
});

test("on a terminal the display is one table that is drawn over and over", () => {
  const written: string[] = [];
  const progress = new Progress({ isTTY: true, write: (text) => written.push(text) });
  progress.tell("a", "waits, 0 before it");
  progress.tell("b", "loads, with token 1");
  progress.count("b", 50);
  expect(written).toEqual([
    "a             0 rows  waits, 0 before it\n",
    "\x1b[1A\x1b[Ja             0 rows  waits, 0 before it\nb             0 rows  loads, with token 1\n",
    "\x1b[2A\x1b[Ja             0 rows  waits, 0 before it\nb            50 rows  loads, with token 1\n",
  ]);
});
