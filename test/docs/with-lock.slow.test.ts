// The script for CI systems, in the shell of this machine: two jobs take turns, and a job whose lock is lost is stopped.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
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

  constructor(args: readonly string[], env: Record<string, string>, input = "") {
    this.child = spawn("sh", [SCRIPT, ...args], {
      env: { ...process.env, ...env },
      stdio: [input === "" ? "ignore" : "pipe", "pipe", "pipe"],
    });
    this.child.stdin?.end(input);
    this.child.stdout?.on("data", (text) => (this.out += text));
    this.child.stderr?.on("data", (text) => (this.err += text));
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
  }
}

/** Passes connections on to a port, except while it is down. */
class Line {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((from) => {
    if (this.#isDown) {
      from.destroy();
      return;
    }
    const to = connect(this.#port, "127.0.0.1");
    for (const [one, other] of [[from, to] as const, [to, from] as const]) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy()).once("close", () => this.#sockets.delete(one));
      one.pipe(other);
    }
  });
  readonly #port: number;
  #isDown = false;

  constructor(port: string) {
    this.#port = Number(port);
  }
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
  set isDown(isDown: boolean) {
    this.#isDown = isDown;
    if (isDown) for (const socket of this.#sockets) socket.destroy();
  }
  stop(): void {
    this.isDown = true;
    this.#server.close();
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
    expect(job.err).toMatch(
      /the lock was lost, and the command is stopped: .*force_released.* By \S+\. Reason: a test\n/,
    );
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
  });

  test("kills a command that ignores SIGTERM when the lock is lost", async () => {
    const job = new Job(
      ["stubborn", "sh", "-c", "trap '' TERM; echo begun; while :; do sleep 1; done"],
      env({ TTL_SECONDS: "3" }),
    );
    await expect.poll(() => job.out).toMatch(/begun/);
    await server.client.force("stubborn", "a test");
    expect(await job.ended).toBe(76);
    expect(job.err).toMatch(/did not end by SIGTERM, and was killed/);
  });

  test("stops the command when renewals fail for two thirds of the time to live, and says so once", async () => {
    const line = new Line(new URL(door.url).port);
    const job = new Job(
      ["cut-off", "sh", "-c", "echo begun; sleep 60"],
      env({ TTL_SECONDS: "6", ROWLOCK_HTTP: await line.start() }),
    );
    await expect.poll(() => job.out).toMatch(/begun/);
    line.isDown = true;
    const begun = Date.now();
    expect(await job.ended).toBe(76);
    expect(Date.now() - begun).toBeLessThan(6_000);
    expect(job.err.match(/not renewed, tries again: curl: /g)).toHaveLength(1);
    line.stop();
  });

  test.each(["SIGKILL", "SIGHUP"] as const)("renews no more after %s to the script", async (signal) => {
    const name = `after-${signal}`;
    const job = new Job([name, "sh", "-c", "echo begun; exec sleep 60"], env({ TTL_SECONDS: "3" }));
    await expect.poll(() => job.out).toMatch(/begun/);
    job.child.kill(signal);
    await expect.poll(async () => (await shown(name)).holderCount, { timeout: 6_000 }).toBe(0);
    // The command holds these pipes open for as long as it lives.
    await job.ended;
    expect(job.child.signalCode ?? job.child.exitCode).toBe(signal === "SIGKILL" ? signal : 143);
  });

  test("comes back to its place after each outage, with a line for its begin and one for its end", async () => {
    const { leaseId } = await server.client.lease({ name: "outage", terms: { owner: "somebody" } });
    const line = new Line(new URL(door.url).port);
    const job = new Job(["outage", "true"], env({ ROWLOCK_HTTP: await line.start() }));
    const seen = (pattern: RegExp) => (job.err.match(pattern) ?? []).length;
    await expect.poll(() => seen(/waiting for/g)).toBe(1);
    for (const outage of [1, 2]) {
      line.isDown = true;
      await expect.poll(() => seen(/tries again/g)).toBe(outage);
      line.isDown = false;
      await expect.poll(() => seen(/the server answers again/g), { timeout: 5_000 }).toBe(outage);
    }
    expect((await shown("outage")).waiters).toMatchObject([{ ticketNumber: 2n }]);
    await server.client.call("release", { leaseId });
    expect(await job.ended).toBe(0);
    line.stop();
  });

  test("gives up a server that does not answer when the time to wait is over", async () => {
    const job = new Job(["silent", "true"], env({ WAIT_SECONDS: "4", ROWLOCK_HTTP: "http://127.0.0.1:1" }));
    expect(await job.ended).toBe(69);
    expect(job.err.match(/tries again/g)).toHaveLength(1);
    expect(job.err).not.toMatch(/cannot open/);
  });

  test.each([
    ["a wrong token", 77, { ROWLOCK_HTTP_TOKEN: "wrong" }, /not acquired: .*credentials/i],
    ["an unknown kind of address", 69, { ROWLOCK_HTTP: "htp://localhost" }, /not acquired: .*htp/],
    ["TLS where there is none", 69, { tls: "s" }, /not acquired: no Rowlock at https.*curl: \(35\)/],
    ["a name that is too long", 64, { name: "x".repeat(256) }, /not acquired: .*at most 255 bytes/],
  ])("ends at once for %s", async (_, code, given: Record<string, string>, said) => {
    const { tls = "", name = "ends", ...more } = given;
    const origin = new URL(door.url).origin.replace("http", `http${tls}`);
    const job = new Job([name, "true"], env({ ROWLOCK_HTTP: origin, ...more }));
    expect([await job.ended, job.err]).toEqual([code, expect.stringMatching(said)]);
    expect(job.err).not.toMatch(/tries again/);
  });

  test("ends at once when another program answers, with the status of its answer", async () => {
    const other = createHttpServer((_, response) => response.writeHead(404).end("<h1>Not here</h1>"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const job = new Job(["elsewhere", "true"], env({ ROWLOCK_HTTP: origin }));
    expect(await job.ended).toBe(69);
    expect(job.err).toBe(`with-lock: not acquired: no Rowlock at ${origin}: status 404\n`);
    other.close();
  });

  test("names all faults of the call at once, and prints its usage without a command", async () => {
    const job = new Job(["x", "true"], env({ ROWLOCK_HTTP: "", TTL_SECONDS: "5m", WAIT_SECONDS: "1.5" }));
    expect(await job.ended).toBe(64);
    expect(job.err.split("\n")).toEqual([
      expect.stringContaining("ROWLOCK_HTTP is not set"),
      'with-lock: WAIT_SECONDS is "1.5": write whole seconds, such as 60',
      'with-lock: TTL_SECONDS is "5m": write whole seconds, such as 60',
      "",
    ]);
    const short = new Job(["x", "true"], env({ TTL_SECONDS: "2" }));
    expect([await short.ended, short.err]).toEqual([64, "with-lock: TTL_SECONDS is 2: write 3 or more\n"]);
    const none = new Job([], env());
    expect([await none.ended, none.err]).toEqual([64, expect.stringMatching(/^Usage: with-lock\.sh NAME/)]);
  });

  test("passes on its input, and the name as it was given; a slash after the address changes nothing", async () => {
    const name = 'a "name" \\ of all';
    const command = ["sh", "-c", 'cat; printf "%s" "$ROWLOCK_NAME"'];
    const job = new Job([name, ...command], env({ ROWLOCK_HTTP: `${new URL(door.url).origin}/` }), "input\n");
    expect([await job.ended, job.out]).toEqual([0, `input\n${name}`]);
  });

  test("says why it waits: a pause and its reason", async () => {
    await server.client.limit("frozen", 0, { reason: "freeze until Monday" });
    const job = new Job(["frozen", "true"], env({ WAIT_SECONDS: "1" }));
    expect(await job.ended).toBe(75);
    expect(job.err).toMatch(/with-lock: 1st in the queue; paused: limit 0 .*freeze until Monday/);
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
