// The programs of the pages in docs/coming-from, as they stand there, against a server.

import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { processStage } from "../process/stage.ts";
import { freshSqlite } from "../support/database.ts";

/** Compilers, on a machine with other work. */
vi.setConfig({ testTimeout: 300_000 });

const root = join(import.meta.dirname, "../..");
const PROGRAMS = join(root, "examples/coming-from");
const PYTHON = join(root, "clients/python/.venv/bin/python");
const CLASS_PATH = join(root, "clients/java/target/class-path");

const stage = processStage();

/** In CI, every client is built. */
const has = (path: string) => existsSync(path) || process.env.CI !== undefined;

async function ran(address: string, command: string, ...args: string[]) {
  const running = spawn(command, args, {
    env: { ...process.env, ROWLOCK_ADDR: address },
    stdio: ["ignore", "pipe", "inherit"],
  });
  stage.afterwards(() => running.kill("SIGKILL"));
  let out = "";
  running.stdout.on("data", (chunk) => (out += chunk));
  const code = await new Promise((resolve) => running.on("close", resolve));
  return { code, out };
}

async function serving() {
  return await stage.serving(await stage.database(freshSqlite));
}

describe.skipIf(!has(PYTHON))("in Python", () => {
  test("the program that used Redis loads, or says who has the lock", async () => {
    const { grpcAddress, client } = await serving();
    const run = () => ran(grpcAddress, PYTHON, join(PROGRAMS, "redis.py"));
    expect(await run()).toEqual({ code: 0, out: "loads, with token 1\n" });
    await client.lease({ name: "etl/load" });
    const late = await run();
    expect(late.code).toBe(0);
    expect(late.out).toContain("etl/load");
    expect(late.out).not.toContain("loads");
  });

  test("the program that used GET_LOCK loads, or says who has the lock", async () => {
    const { grpcAddress, client } = await serving();
    const run = () => ran(grpcAddress, PYTHON, join(PROGRAMS, "get_lock.py"));
    expect(await run()).toEqual({ code: 0, out: "loads, with token 1\n" });
    await client.lease({ name: "etl/load" });
    const late = await run();
    expect(late.code).toBe(0);
    expect(late.out).not.toContain("loads");
  });
});

describe.skipIf(!has(CLASS_PATH))("in Java", () => {
  const run = async (address: string, program: string) => {
    const classes = `${join(root, "clients/java/target/classes")}:${readFileSync(CLASS_PATH, "utf8")}`;
    return await ran(address, "java", "-cp", classes, join(PROGRAMS, program));
  };

  test("the job that ShedLock ran on one machine is run by one, and not again within a minute", async () => {
    const { grpcAddress } = await serving();
    expect(await run(grpcAddress, "ShedLock.java")).toEqual({
      code: 0,
      out: "writes the report, with token 1\n",
    });
    expect(await run(grpcAddress, "ShedLock.java")).toEqual({
      code: 0,
      out: "another machine writes the report, or has just done so\n",
    });
  });

  test("the program that used Redisson loads", async () => {
    const { grpcAddress } = await serving();
    expect(await run(grpcAddress, "Redisson.java")).toEqual({ code: 0, out: "loads, with token 1\n" });
  });
});

describe.skipIf(!has(join(root, "clients/go/bin/driver")))("in Go", () => {
  test("the program that used etcd loads", async () => {
    const { grpcAddress } = await serving();
    const folder = stage.folder();
    copyFileSync(join(PROGRAMS, "etcd.go"), join(folder, "main.go"));
    const go = (...args: string[]) =>
      execFileSync("go", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    go("mod", "init", "example.com/program");
    go("work", "init", ".", join(root, "clients/go"));
    go("build", "-o", "program", ".");
    expect(await ran(grpcAddress, join(folder, "program"))).toEqual({
      code: 0,
      out: "loads, with token 1\n",
    });
  });
});
