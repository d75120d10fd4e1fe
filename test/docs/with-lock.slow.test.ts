// The script for CI systems, in the shell of this machine: two jobs take turns, and a job whose lock is lost is stopped.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type DoorStage, startDoor } from "../http/door-stage.ts";
import { startServer, type TestServer } from "../support/harness.ts";
import { knownCallers } from "../support/known-callers.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples/ci");
const SCRIPT = join(EXAMPLES, "with-lock.sh");
const { access, tokens } = knownCallers(["ci"], null);
const hasCurl = spawnSync("curl", ["--version"]).status === 0;

class Job {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  out = "";
  err = "";

  constructor(args: readonly string[], env: Record<string, string>) {
    this.child = spawn("sh", [SCRIPT, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stdout?.on("data", (text) => (this.out += text));
    this.child.stderr?.on("data", (text) => (this.err += text));
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
  }
}

describe.skipIf(!hasCurl)("with-lock.sh", () => {
  let server: TestServer;
  let door: DoorStage;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rowlock-ci-"));
    server = await startServer();
    door = await startDoor(server.grpc, [], access);
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await door.stop();
    await server.stop();
  });

  const env = (more: Record<string, string> = {}) => ({
    ROWLOCK_HTTP: new URL(door.url).origin,
    ROWLOCK_HTTP_TOKEN: tokens.ci as string,
    CI_PROJECT_PATH: "shop/web",
    CI_JOB_ID: "17",
    CI_JOB_URL: "https://ci.example/jobs/17",
    ...more,
  });
  const shown = (name: string) => server.client.shown(name);
  /** A program that waits until a file is there. */
  function until(file: string): string {
    const path = join(folder, "until");
    writeFileSync(
      path,
      `#!/bin/sh\necho "token $ROWLOCK_TOKEN of $ROWLOCK_NAME"\nwhile [ ! -e "$1" ]; do sleep 0.05; done\nexit "$2"\n`,
    );
    chmodSync(path, 0o755);
    rmSync(join(folder, file), { force: true });
    return path;
  }

  test("waits with its place in the log, runs one job after the other, and ends as the job does", async () => {
    const name = "deploy/shop";
    const program = until("first");
    const first = new Job([name, program, join(folder, "first"), "3"], env());
    await expect
      .poll(async () => (await shown(name)).holders)
      .toMatchObject([
        {
          owner: "shop/web 17",
          principal: "token:ci",
          provisional: false,
          labels: { url: "https://ci.example/jobs/17" },
        },
      ]);
    const second = new Job([name, "sh", "-c", "echo second"], env());
    await expect
      .poll(() => second.err)
      .toMatch(/with-lock: waiting for deploy\/shop: 0 before this job, after 0\.\d+s\n/);
    writeFileSync(join(folder, "first"), "");
    expect([await first.ended, first.out]).toEqual([3, "token 1 of deploy/shop\n"]);
    expect([await second.ended, second.out]).toEqual([0, "second\n"]);
    expect((await shown(name)).holderCount).toBe(0);
  });

  test("renews beside a job that is longer than the time to live", async () => {
    const program = until("long");
    const job = new Job(["long", program, join(folder, "long"), "0"], env({ TTL_SECONDS: "3" }));
    await expect.poll(async () => (await shown("long")).holderCount).toBe(1);
    const [{ expiresAt: begun } = {}] = (await shown("long")).holders;
    const renewals = async () =>
      Number((await shown("long")).holders[0]?.expiresAt?.seconds) - Number(begun?.seconds);
    await expect.poll(renewals, { timeout: 20_000 }).toBeGreaterThan(3);
    writeFileSync(join(folder, "long"), "");
    expect(await job.ended).toBe(0);
  });

  test("stops the job with all of its processes when the lock is lost", async () => {
    const program = until("never");
    const pid = join(folder, "pid");
    const script = `"$0" "$1" 0 & echo $! >"$2"; wait`;
    const job = new Job(
      ["lost", "sh", "-c", script, program, join(folder, "never"), pid],
      env({ TTL_SECONDS: "3" }),
    );
    await expect.poll(() => job.out).toMatch(/token/);
    await server.client.force("lost", "a test");
    expect(await job.ended).toBe(76);
    expect(job.err).toMatch(/the lock was lost, and the command was stopped/);
    const child = Number(readFileSync(pid, "utf8"));
    // Whoever collects dead processes may be late.
    const state = () =>
      existsSync(`/proc/${child}/stat`) ? readFileSync(`/proc/${child}/stat`, "utf8") : "Z";
    await expect.poll(state).toMatch(/Z/);
  });

  test("ends with 75 when it does not get the lock in time, and says why", async () => {
    const { leaseId } = await server.client.lease({ name: "busy", terms: { owner: "somebody" } });
    const job = new Job(["busy", "true"], env({ WAIT_SECONDS: "1" }));
    expect(await job.ended).toBe(75);
    expect(job.err).toMatch(/with-lock: not acquired: .*max_wait has passed/);
    await server.client.call("release", { leaseId });
    const denied = new Job(["busy", "true"], env({ ROWLOCK_HTTP_TOKEN: "wrong" }));
    expect(await denied.ended).toBe(75);
    expect(denied.err).toMatch(/not acquired: .*credentials/i);
  });

  test("runs the job of Kubernetes as its container does", async () => {
    const { spec } = parse(readFileSync(join(EXAMPLES, "cronjob.yaml"), "utf8")).spec.jobTemplate.spec
      .template;
    const [{ command, args, env: given }] = spec.containers;
    expect(command.slice(0, 2)).toEqual(["sh", "/with-lock/with-lock.sh"]);
    expect(given.map(({ name }: { name: string }) => name)).toEqual([
      "ROWLOCK_HTTP",
      "ROWLOCK_HTTP_TOKEN",
      "WAIT_SECONDS",
    ]);
    const job = new Job([...command.slice(2), ...args], env());
    expect([await job.ended, job.out]).toEqual([0, "report made, token 1\n"]);
    expect((await shown("cron/nightly-report")).lastFencingToken).toBe(1n);
  });

  test("gives the lock or its place back when the job is cancelled", async () => {
    const program = until("cancelled");
    const job = new Job(["cancelled", program, join(folder, "cancelled"), "0"], env());
    await expect.poll(() => job.out).toMatch(/token/);
    const waits = new Job(["cancelled", "true"], env());
    await expect.poll(() => waits.err).toMatch(/waiting/);
    waits.child.kill("SIGTERM");
    await waits.ended;
    job.child.kill("SIGTERM");
    expect(await job.ended).toBe(143);
    expect((await shown("cancelled")).holderCount).toBe(0);
  });
});
