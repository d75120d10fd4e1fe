// Bad days of a shell user: in every case the user sees one sentence that says what to do, no stack trace, and no
// lock is left held.

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { until } from "../support/harness.ts";
import { HAS_PTY, Pty } from "./pty.ts";
import { type RowlockProcess, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";
import { Terminal } from "./terminal.ts";

const stage = processStage();

async function shell(...flags: string[]) {
  const server = await stage.serving(await stage.database(freshSqlite), ...flags);
  const env = { ROWLOCK_ADDR: server.grpcAddress };
  return {
    server,
    env,
    rowlock: (...args: string[]) => stage.rowlock(args, env),
    ran: (...args: string[]) => stage.rowlock(args, env).ended(),
    /** Holders and waiters of the lock. */
    async counts(name: string) {
      const { lock } = await server.client.call("getLock", { name });
      return { held: lock?.holderCount, waiting: lock?.waiterCount };
    },
  };
}

const stateOf = (pid: number) => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
const isGone = (pid: number) => !existsSync(`/proc/${pid}`) || stateOf(pid) === "Z";
/** The ids of the command and of its `rowlock run`, as the command prints them. */
const pids = async (running: RowlockProcess) =>
  (await running.said(/pids (\d+) (\d+)/)).slice(1).map(Number) as [number, number];

const FREE = { held: 0, waiting: 0 };

describe("the machine sleeps", () => {
  test("for longer than the lease: the command is stopped at once, with the reason", async () => {
    const { rowlock, ran, counts } = await shell();
    const flags = "run slept --ttl 3s -- sh -c".split(" ");
    const running = rowlock(...flags, 'echo "pids $$ $PPID"; exec sleep 1000');
    const [command, parent] = await pids(running);
    // Both processes, because a machine that sleeps stops everything at once.
    process.kill(parent, "SIGSTOP");
    process.kill(command, "SIGSTOP");
    await until(() => stateOf(parent) === "T" && stateOf(command) === "T");
    // Nobody else had the lock before this.
    expect(await ran("run", "slept", "--wait", "20s", "--quiet", "--", "true")).toMatchObject({ code: 0 });
    process.kill(parent, "SIGCONT");
    const { code, err } = await running.ended();
    expect([code, err]).toEqual([
      76,
      expect.stringMatching(/^rowlock: The lock "slept" was lost.*slept\.\n$/),
    ]);
    await until(() => isGone(command));
    expect(await counts("slept")).toEqual(FREE);
  });
});

test("a command that ignores SIGTERM keeps its lock for as long as it runs, and not longer", async () => {
  const STUBBORN = 'trap "" TERM; echo "pids $$ $PPID"; while :; do sleep 0.05; done';
  const { rowlock, counts } = await shell();
  const running = rowlock("run", "stubborn", "--", "sh", "-c", STUBBORN);
  const [command] = await pids(running);
  running.kill("SIGTERM");
  running.kill("SIGTERM");
  expect(await counts("stubborn")).toEqual({ held: 1, waiting: 0 });
  process.kill(command, "SIGKILL");
  expect(await running.exited).toMatchObject({ code: 137, err: "" });
  expect(await counts("stubborn")).toEqual(FREE);
});

describe("no lock stays behind after rowlock acquire", () => {
  test("if the script is ended while it waits", async () => {
    const { server, rowlock, counts } = await shell();
    const held = await server.client.lease({ name: "given up" });
    const waiting = rowlock("acquire", "given up", "--ttl", "1h");
    await waiting.logged(/next in the queue/);
    waiting.kill("SIGTERM");
    expect(await waiting.exited).toMatchObject({ code: 143, out: "" });
    await server.client.call("release", { leaseId: held.leaseId });
    expect(await counts("given up")).toEqual(FREE);
  });

  test("if nobody reads its lease", async () => {
    const { env, counts } = await shell();
    const terminal = new Terminal(env);
    stage.afterwards(() => terminal.close());
    await terminal.run(`node server/main.ts acquire unread --ttl 1h | :; echo "code \${PIPESTATUS[0]}"`);
    await terminal.shows(/code 1/);
    expect(await counts("unread")).toEqual(FREE);
  });

  test("if nobody reads what it captured, and the capture is no run", async () => {
    const { server, env, counts, ran } = await shell();
    for (const name of ["task/1", "task/2"]) await server.client.put(name);
    const terminal = new Terminal(env);
    stage.afterwards(() => terminal.close());
    const line = "node server/main.ts capture task/ --count 2 --ttl 1h --at-most-every 1h";
    await terminal.run(`${line} | :; echo "code \${PIPESTATUS[0]}"`);
    await terminal.shows(/code 1/);
    for (const name of ["task/1", "task/2"]) expect(await counts(name)).toEqual(FREE);
    const { lock } = await server.client.call("getLock", { name: "task/1" });
    expect(lock).toMatchObject({ lastFencingToken: 1n, record: { status: "new" } });
    expect(await ran("capture", "task/1", "--", "true")).toMatchObject({ code: 0 });
  });

  test.skipIf(!HAS_PTY)("if Ctrl-C ends it at a terminal, which keeps its line", async () => {
    const { server, env, counts } = await shell();
    await server.client.lease({ name: "typed" });
    const pty = new Pty(`exec ${process.execPath} server/main.ts run typed -- true`, env);
    stage.afterwards(() => pty.destroy());
    await pty.shows(/waiting for "typed": next in the queue/);
    pty.press("\x03");
    expect(await pty.ended()).toBe(130);
    expect(pty.screen).toMatch(/␛\[K$/);
    expect(await counts("typed")).toEqual({ held: 1, waiting: 0 });
  });
});

test("a server started by `rowlock run` does not read the shell's variables as settings", async () => {
  const { rowlock } = await shell();
  const url = await stage.database(freshSqlite);
  const inner = [process.execPath, "server/main.ts", ...serveArgs(url)];
  const running = rowlock("run", "leader", "--", ...inner);
  await running.said(/LockService\/Acquire\n\n/);
  running.kill("SIGTERM");
  expect((await running.exited).code).toBe(0);
});
