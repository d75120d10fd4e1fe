// The shell commands as a user runs them: `rowlock run` and what happens to its command, and the commands that show
// locks and change them.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { until } from "../support/harness.ts";
import { lasting } from "../support/lasting.ts";
import type { Exit } from "./server-process.ts";
import { processStage } from "./stage.ts";

const stage = processStage();

/** Starts a server, and the shell beside it. */
async function shell(...flags: string[]) {
  const server = await stage.serving(await stage.database(freshSqlite), ...flags);
  const env = { ROWLOCK_ADDR: server.grpcAddress };
  return {
    server,
    rowlock: (...args: string[]) => stage.rowlock(args, env),
    /** Runs a command to its end. */
    ran: (...args: string[]): Promise<Exit> => stage.rowlock(args, env).exited,
    lock: async (name: string) => (await server.client.call("getLock", { name })).lock,
  };
}

/** Whether the process still runs: a dead process stays listed if nobody waits for it. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const ONE_SENTENCE = /^rowlock: [^\n]+\n$/;

describe("rowlock run", () => {
  test("runs a command while it holds the lock, and returns the command's exit code", async () => {
    const { ran, lock } = await shell();
    const script = 'echo "$ROWLOCK_NAME $ROWLOCK_TOKEN $ROWLOCK_LEASE"; exit 7';
    const { code, out, err } = await ran("run", "job", "--", "sh", "-c", script);
    expect([code, err]).toEqual([7, ""]);
    expect(out).toMatch(/^job 1 \S{20,}\n$/);
    expect(await lock("job")).toMatchObject({ holderCount: 0, lastFencingToken: 1n });
  });

  test("names the holder if it does not wait, or waits in vain", async () => {
    const { server, ran } = await shell();
    await server.client.lease({ name: "busy", terms: { owner: "nightly" } });
    const busy = await ran("run", "busy", "--no-wait", "--", "true");
    expect(busy).toMatchObject({ code: 75, out: "", err: 'rowlock: "busy" is busy: nightly holds it.\n' });
    const late = await ran("run", "busy", "--wait", "50ms", "--", "true");
    expect(late).toMatchObject({
      code: 75,
      err: expect.stringMatching(/did not become free in time: nightly holds it\.\n$/),
    });
    const quiet = await ran("run", "busy", "--wait", "50ms", "--quiet", "--", "true");
    expect(quiet).toMatchObject({ code: 75, out: "", err: "" });
    const never = await ran("run", "busy", "--permits", "3", "--", "true");
    expect(never).toMatchObject({ code: 75, err: expect.stringMatching(/limit of 1.*fewer permits/) });
  });

  test("stops the command and all its children when the lock is taken away", async () => {
    const { rowlock, ran } = await shell();
    const script = 'trap "" TERM; sleep 1000 & echo "pids $$ $!"; while :; do wait; done';
    const running = rowlock("run", "forced", "--ttl", "10s", "--", "sh", "-c", script);
    const pids = (await running.said(/pids (\d+) (\d+)/)).slice(1).map(Number);
    const forced = await ran("release", "forced", "--force", "--reason", "stuck");
    expect(forced).toMatchObject({ code: 0, out: expect.stringContaining("ended #1") });
    const { code, err } = await running.exited;
    expect([code, err]).toEqual([76, expect.stringMatching(/"forced" was lost.*operator/)]);
    await until(() => !pids.some(isAlive));
  });

  test("stops the command before the lease can have ended when no server answers", async () => {
    const { server, rowlock } = await shell();
    const script = `trap "" TERM; echo ready; while :; do date +%s%N; sleep 0.01; done`;
    const running = rowlock("run", "silent", "--ttl", "8s", "--", "sh", "-c", script);
    await running.said(/ready\n\d/);
    const frozenMs = Date.now();
    server.process.kill("SIGSTOP");
    const { code, out, err } = await running.exited;
    server.process.kill("SIGCONT");
    expect(code).toBe(76);
    expect(err).toMatch(/could not be renewed in time/);
    // The server can have made the last renewal only before it was frozen.
    const lastMs = Number(out.trim().split("\n").at(-1)) / 1e6;
    expect(lastMs).toBeGreaterThan(frozenMs);
    expect(lastMs).toBeLessThan(frozenMs + 8_000);
  });
});

describe("in a script", () => {
  test("a lock is acquired, renewed and released by its lease", async () => {
    const { ran, lock } = await shell();
    const acquired = await ran("acquire", "it's", "--ttl", "5m", "--owner", "script");
    expect(acquired).toMatchObject({ code: 0, err: "" });
    const [, lease] =
      /^ROWLOCK_NAME='it'\\''s'\nROWLOCK_LEASE='(\S+)'\nROWLOCK_TOKEN=1\nROWLOCK_TOKENS='{"it'\\''s":1}'\n$/.exec(
        acquired.out,
      ) ?? [];
    expect(await lock("it's")).toMatchObject({ holders: [{ owner: "script" }] });
    const renewed = await ran("renew", lease as string, "--ttl", "10m", "--json");
    expect(JSON.parse(renewed.out)).toMatchObject({ name: "it's", token: 1, leaseId: lease });
    expect(await ran("acquire", "it's", "--no-wait")).toMatchObject({ code: 75, out: "" });
    expect(await ran("release", lease as string)).toMatchObject({ code: 0, out: "Released.\n" });
    expect(await ran("release", lease as string)).toMatchObject({
      code: 0,
      out: "The lease had already ended.\n",
    });
    const late = await ran("renew", lease as string);
    expect(late).toMatchObject({ code: 1, err: expect.stringMatching(/acquire the lock again/) });
  });
});

describe("rowlock capture", () => {
  test("runs a command for one due lock, whose exit code sets the status", async () => {
    const { server, ran, lock } = await shell();
    for (const name of ["task/1", "task/2"]) await server.client.put(name);
    const one = "capture task/ --if-status new --status-done done --status-failed failed".split(" ");
    const done = await ran(...one, "--", "sh", "-c", 'echo "$ROWLOCK_NAME $ROWLOCK_TOKEN $ROWLOCK_LEASE"');
    expect(done).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^task\/1 1 \S{20,}\n$/) });
    expect(await ran(...one, "--", "no-such-command")).toMatchObject({ code: 127 });
    expect((await lock("task/2"))?.record?.status).toBe("new");
    expect(await ran(...one, "--", "sh", "-c", "exit 7")).toMatchObject({ code: 7, err: "" });
    expect((await lock("task/1"))?.record).toMatchObject({ status: "done", lastRun: { status: "done" } });
    expect((await lock("task/2"))?.record).toMatchObject({ status: "failed" });
    expect(await ran(...one, "--", "true")).toMatchObject({
      code: 75,
      err: expect.stringMatching(ONE_SENTENCE),
    });
  });

  test("sets the status of a lost lock when its command is stopped, and waits for the next one", async () => {
    const { server, ran, rowlock, lock } = await shell();
    await server.client.put("task/1");
    const one = ["capture", "task/", "--status-failed", "failed", "--wait", "forever", "--"];
    const running = rowlock(...one, "sh", "-c", "echo begun; exec sleep 1000");
    await running.said(/begun/);
    const next = rowlock(...one, "echo", "second");
    await ran("release", "task/1", "--force", "--reason", "stuck");
    expect((await running.exited).code).toBe(76);
    expect(await next.exited).toMatchObject({ code: 0, out: "second\n" });
    expect((await lock("task/1"))?.record).toMatchObject({ status: "failed", lastRun: { fencingToken: 2n } });
  });
});

describe("rowlock run, if the lock has a record", () => {
  test("runs at most once in an interval, however that run has ended", async () => {
    const { ran, lock } = await shell();
    const hourly = ["run", "report", "--at-most-every", "1h", "--no-wait", "--"];
    // This did not count as a run: another machine may have the command.
    expect(await ran(...hourly, "no-such-command")).toMatchObject({ code: 127 });
    expect((await lock("report"))?.record?.lastRun).toMatchObject({ fencingToken: 1n });
    expect(await ran(...hourly, "false")).toMatchObject({ code: 1, err: "" });
    const early = await ran(...hourly, "true");
    expect(early).toMatchObject({
      code: 75,
      err: expect.stringMatching(/not due yet: it will be in (60|59) min\.\n$/),
    });
  });

  test("reports that no server has heard how it has ended", async () => {
    const { server, rowlock } = await shell();
    const once = ["run", "once", "--status-done", "done", "--"];
    const script = 'trap "exit 0" TERM; echo begun; while :; do sleep 0.02; done';
    const running = rowlock(...once, "sh", "-c", script);
    await running.said(/begun/);
    server.process.kill("SIGKILL");
    await server.process.exited;
    running.kill("SIGTERM");
    const { code, err } = await running.exited;
    expect([code, err]).toEqual([0, expect.stringMatching(/may not have recorded this run of "once".*\n$/)]);
  });

  test("runs again soon after a command that has failed, and only then", async () => {
    const { ran } = await shell();
    const job = "run report --at-most-every 1h --cool-down-failed 0s --no-wait --".split(" ");
    expect(await ran(...job, "false")).toMatchObject({ code: 1, err: "" });
    expect(await ran(...job, "true")).toMatchObject({ code: 0, err: "" });
    expect(await ran(...job, "true")).toMatchObject({ code: 75 });
    const task = "capture task/ --cool-down-failed 1h".split(" ");
    await ran("update", "task/1", "--status", "new");
    expect(await ran(...task, "--", "false")).toMatchObject({ code: 1 });
    expect(await ran(...task, "--", "true")).toMatchObject({ code: 75 });
    expect(await ran(...task)).toMatchObject({
      code: 64,
      err: expect.stringContaining("add one after the prefix"),
    });
  });
});

describe("an operator", () => {
  test("lists locks, looks at one, and turns limits", async () => {
    // The place of a client that only has a ticket must last for all of these commands.
    const { server, ran } = await shell("--grace", "2m");
    expect(await ran("ls")).toMatchObject({ code: 0, out: "There are no such locks.\n" });
    expect(await ran("limit")).toMatchObject({ code: 0, out: expect.stringContaining("each lock has 1") });
    await server.client.lease({ name: "etl/load", terms: { ...lasting("nightly"), labels: { host: "a1" } } });
    await server.client.ticket({ name: "etl/load", terms: lasting("hourly") });
    const listed = await ran("ls", "etl/");
    expect(listed.out).toMatch(/^NAME +LIMIT +HELD +WAITING +HOLDERS\netl\/load +1 +1 +1 +nightly\n$/);
    const shown = await ran("show", "etl/load");
    expect(shown.out).toMatch(/limit +1 \(nothing was set\)/);
    expect(shown.out).toMatch(/holders\n#1 +1 permit +for \S+ m?s +\S+ \w+ left +token 1 +nightly host=a1/);
    expect(shown.out).toMatch(/waiters\n#2 +1 permit +for \S+ m?s +for 1 permit, 0 free +hourly\n/);
    const paused = await ran("limit", "--pattern", "etl/*", "0", "--reason", "upgrade");
    expect(paused.out).toContain("etl/*: limit 0 (version 1); 1 held, more than the limit allows: it drains");
    expect((await ran("limit", "etl/load")).out).toContain("0 (from etl/*, version 1, upgrade)");
    const raised = await ran("limit", "etl/load", "2", "--if-version", "0", "--json");
    expect(JSON.parse(raised.out)).toMatchObject({ name: "etl/load", limit: 2, version: 1 });
    const stale = await ran("limit", "etl/load", "3", "--if-version", "0");
    expect(stale).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Somebody else has changed this, to version 1/),
    });
    const settings = (await ran("limit", "--json")).out.trim().split("\n");
    expect(settings.map((line) => JSON.parse(line))).toMatchObject([
      { pattern: "etl/*", limit: 0, reason: "upgrade" },
      { name: "etl/load", limit: 2 },
    ]);
    expect((await ran("limit", "etl/load", "--unset")).out).toContain("limit 0");
    const json = (await ran("ls", "--busy", "--json")).out.trim().split("\n");
    expect(json.map((line) => JSON.parse(line))).toMatchObject([{ name: "etl/load", heldPermits: 2 }]);
  });
});
