// The program as one file, from its package for Debian: it runs in an empty folder, without Node and without packages.

import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../server/config/config.ts";
import { pageFiles } from "../../server/page/assets.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { reportLeftOut, testServers } from "../support/database.ts";
import { expectPlainUse } from "../support/plain-use.ts";
import { newTrace } from "../support/span-tree.ts";
import { TestCalls } from "../support/test-calls.ts";
import { selfSignedCertificate } from "./certificate.ts";
import { OtlpReceiver } from "./otlp-receiver.ts";
import { RowlockProcess, screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

/** The worst that `systemd-analyze security` may say of the service, in tenths. */
const EXPOSURE_MAX = 20;
/** It is 27 MB, of which an empty Node has 8; if the part for servers is loaded, it is 55 MB. */
const WAITER_KB_MAX = 45_000;

const house = join(import.meta.dirname, "../..");
const isThere = (program: string) =>
  (process.env.PATH ?? "").split(delimiter).some((path) => existsSync(join(path, program)));

describe.skipIf(process.platform !== "linux" || !isThere("dpkg-deb"))("the package for Debian", () => {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-executable-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const program = join(folder, "usr/bin/rowlock");
  const service = join(folder, "usr/lib/systemd/system/rowlock.service");
  const serviceLine = (key: string) =>
    new RegExp(`^${key}=(.+)$`, "m").exec(readFileSync(service, "utf8"))?.[1];
  const bin = join(folder, "usr/bin");
  const empty = join(folder, "empty");
  const isRoot = process.getuid?.() === 0;
  const stage = processStage();
  const PATH = "/usr/bin:/bin";

  beforeAll(() => {
    for (const script of ["build-executable.ts", "build-deb.ts"])
      execFileSync(process.execPath, [join(house, "scripts", script)], { cwd: folder });
    const { version } = JSON.parse(readFileSync(join(house, "package.json"), "utf8"));
    const architecture = process.arch === "x64" ? "amd64" : process.arch;
    const file = join(house, `build/rowlock_${version}_${architecture}.deb`);
    execFileSync("dpkg-deb", ["--raw-extract", file, folder]);
    writeFileSync(program, readFileSync(program, "utf8").replace("/usr/lib/", join(folder, "usr/lib/")));
    mkdirSync(empty);
    // On a busy machine, bundling and compressing take minutes.
  }, 600_000);

  /** Runs the program until the end of the test. */
  function started(args: readonly string[], env = {}, input: "ignore" | "pipe" = "ignore", cwd?: string) {
    const process = new RowlockProcess(args, { PATH, ...env }, program, undefined, input, cwd);
    stage.afterwards(() => process.destroy());
    return process;
  }
  /** A server over a database that it makes, and its addresses. */
  async function ephemeral() {
    const server = started(["serve", "--ephemeral"], {}, "pipe");
    const [line] = await server.said(/^.*\n/);
    return { server, ...(JSON.parse(line) as { grpc: string; metrics: string }) };
  }

  const ran = (args: readonly string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: empty,
      env: { PATH, ...env },
      encoding: "utf8",
    });
    return { code: status, out: stdout, err: stderr };
  };

  test("has a version, help, and completion for three shells", () => {
    expect(ran(["--version"])).toMatchObject({ code: 0, out: expect.stringMatching(/^rowlock \d+\.\d+/) });
    for (const command of ["serve", "run", "doctor"])
      expect(ran([command, "--help"])).toMatchObject({
        code: 0,
        out: expect.stringContaining("Usage: rowlock"),
      });
    for (const path of ["bash-completion/completions/rowlock", "zsh/vendor-completions/_rowlock"])
      expect(readFileSync(join(folder, "usr/share", path), "utf8")).toContain("_rowlock()");
  });

  test("serves with its defaults: a lock is held across a restart, in a file of the folder", async () => {
    const cwd = mkdtempSync(join(folder, "plain-"));
    const screen = await expectPlainUse({ bin, cwd, path: PATH });
    expect(screen).toContain("sqlite:./rowlock.db");
    expect(existsSync(join(cwd, "rowlock.db"))).toBe(true);
  });

  reportLeftOut(testServers());
  test.each(testServers())("serves over $label, where a lock is held across a restart", async ({ fresh }) => {
    const env = { ROWLOCK_DATABASE_URL: await stage.database(fresh) };
    expect(await expectPlainUse({ bin, cwd: empty, path: PATH, env })).toMatch(/database +M(ySQL|ariaDB)/);
  });

  test("serves as its service says: as its user, in the folder of its state, with the settings' file", async () => {
    const command = serviceLine("ExecStart")?.replace("/usr/bin", bin).split(" ") ?? [];
    const cwd = mkdtempSync(join(folder, "state-"));
    const lines = readFileSync(join(folder, "etc/rowlock/rowlock.env"), "utf8").split("\n");
    const env = Object.fromEntries(
      lines.filter((line) => /^\w/.test(line)).map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
    const asUser = isRoot
      ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]
      : [];
    chmodSync(folder, 0o755);
    chmodSync(cwd, 0o700);
    if (isRoot) chownSync(cwd, 65_534, 65_534);
    // The service has nothing of the user's: no home, and none of the variables.
    const script = `umask ${serviceLine("UMask")}; exec "$@"`;
    const [first, ...rest] = [...asUser, ...command, "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0"];
    const server = new RowlockProcess(
      ["-c", script, "sh", first as string, ...rest],
      { PATH, ...env },
      "/bin/sh",
      undefined,
      "ignore",
      cwd,
    );
    const { grpcAddress } = await screenOf(server);
    expect(ran(["run", "x", "sh", "-c", "echo mine"], { ROWLOCK_ADDR: grpcAddress })).toMatchObject({
      code: 0,
      out: "mine\n",
    });
    const { uid, mode } = statSync(join(cwd, "rowlock.db"));
    expect([uid, mode & 0o777]).toEqual([isRoot ? 65_534 : process.getuid?.(), 0o600]);
    server.kill("SIGTERM");
    expect(await server.ended()).toMatchObject({ code: 0 });
    await server.destroy();
  });

  test.each(["http/protobuf", "grpc"])("sends its traces by %s", async (protocol) => {
    const collector = await (protocol === "grpc" ? OtlpReceiver.overGrpc() : OtlpReceiver.overHttp());
    stage.afterwards(collector.close);
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_BSP_SCHEDULE_DELAY: "10",
    };
    const server = started(serveArgs("sqlite::memory:"), env);
    const { grpcAddress } = await screenOf(server);
    const { traceId, traceparent } = newTrace();
    const calls = new TestCalls(grpcAddress, { headers: { traceparent } });
    stage.afterwards(() => calls.close());
    await calls.lease({ name: "x" });
    // A collector that takes nothing is waited for in vain.
    const taken = collector.of(traceId, "rowlock.v1.LockService/Acquire");
    const refused = server.logged(/the collector takes no traces.*/).then(([line]) => line);
    expect(await Promise.race([taken.then(() => "taken"), refused.catch(() => "ended")])).toBe("taken");
  });

  test("serves with a certificate and tokens, and makes them", async () => {
    const { cert, key } = selfSignedCertificate();
    const made = ran(["token", "new", "anna"]);
    const files = { "server.crt": cert, "server.key": key, tokens: made.err, token: made.out };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(empty, name), text, { mode: 0o600 });
    const flags = ["--tls-cert=server.crt", "--tls-key=server.key", "--tokens-file=tokens"];
    const server = started(serveArgs("sqlite::memory:", ...flags), {}, "ignore", empty);
    const { screen, grpcAddress } = await screenOf(server);
    expect(screen).toContain("--server-name localhost");
    const asks = ["--addr", grpcAddress.replace("127.0.0.1", "localhost"), "--ca", "server.crt"];
    expect(ran(["run", "x", ...asks, "--token-file", "token", "true"])).toMatchObject({ code: 0, err: "" });
    expect(ran(["run", "x", ...asks, "true"]).code).toBe(77);
    server.kill("SIGTERM");
    expect(await server.ended()).toMatchObject({ code: 0 });
  });

  test("serves over a database that it makes, and runs a command under a lock", async () => {
    const { server, grpc, metrics } = await ephemeral();
    const env = { ROWLOCK_ADDR: grpc };
    expect(ran(["run", "x", "sh", "-c", 'echo "token $ROWLOCK_TOKEN"'], env)).toEqual({
      code: 0,
      out: "token 1\n",
      err: "",
    });
    const ignoring = ["-c", `trap '' HUP; exec "$@"`, "sh", program, "run", "x"];
    const inherited = spawnSync("sh", [...ignoring, "grep", "SigIgn", "/proc/self/status"], {
      env: { PATH, ...env },
      encoding: "utf8",
    });
    expect(inherited.stdout).toMatch(/^SigIgn:\s+0{15}1\n$/);
    expect(await (await fetch(`${metrics}/readyz`)).text()).toBe("ready\n");
    for (const [name, content] of pageFiles()) {
      const served = await fetch(`${metrics}/${name === "index.html" ? "" : `page/${name}`}`);
      expect(Buffer.from(await served.arrayBuffer()).equals(content), name).toBe(true);
    }
    // The services that elsewhere read their descriptions from files.
    const client = new TestCalls(grpc);
    expect(await client.call("getLock", { name: "x" })).toMatchObject({ lock: { name: "x" } });
    client.close();
    server.endInput();
    expect(await server.ended()).toMatchObject({ code: 0, err: "" });
  });

  test("a command that waits for a lock has little memory of its own", async () => {
    const env = { ROWLOCK_ADDR: (await ephemeral()).grpc };
    const holder = started(["run", "x", "sh", "-c", "echo held; sleep 600"], env);
    await holder.said(/held/);
    const waiter = started(["run", "x", "true"], env);
    await waiter.logged(/next in the queue/);
    // Without the pages of the program's file, which all processes share.
    const [, ownKb] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${waiter.pid}/status`, "utf8")) ?? [];
    expect(Number(ownKb)).toBeLessThan(WAITER_KB_MAX);
    for (const each of [waiter, holder]) each.kill("SIGTERM");
    for (const each of [waiter, holder]) await each.ended();
  });

  test("has its service, whose settings an upgrade keeps, and a folder for secrets that only root can enter", () => {
    expect(readFileSync(join(folder, "DEBIAN/conffiles"), "utf8")).toBe("/etc/rowlock/rowlock.env\n");
    expect(statSync(join(folder, "etc/rowlock/secrets")).mode & 0o777).toBe(0o700);
    for (const script of ["postinst", "prerm", "postrm"])
      execFileSync("sh", ["-n", join(folder, "DEBIAN", script)]);
    expect(serviceLine("ExecStart")).toBe("/usr/bin/rowlock serve");
    expect(serviceLine("EnvironmentFile")).toBe("-/etc/rowlock/rowlock.env");
    expect(serviceLine("LoadCredential")).toBe("secret:/etc/rowlock/secrets");
  });

  test("gives its service more time to stop than the server takes", () => {
    const loaded = loadConfig({ argvFlags: {}, env: {}, readFile: () => "", parseDatabaseUrl });
    const drainMs = "config" in loaded ? loaded.config.drainTimeoutMs : Number.NaN;
    expect(Number(serviceLine("TimeoutStopSec")) * 1_000).toBeGreaterThanOrEqual(2 * drainMs);
  });

  describe.skipIf(!isThere("systemd-analyze"))("to systemd", () => {
    const analyzed = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
      return { code: status, said: stdout + stderr };
    };

    test("its service is well-formed", () => {
      const here = join(folder, "rowlock.service");
      writeFileSync(here, readFileSync(service, "utf8").replaceAll("/usr/bin/rowlock", program));
      expect(analyzed("verify", here)).toEqual({ code: 0, said: "" });
      writeFileSync(here, readFileSync(here, "utf8").replace("PrivateTmp", "PrivateTemp"));
      expect(analyzed("verify", here).said).toContain("PrivateTemp");
    });

    test("its service is confined", () => {
      const { code, said } = analyzed("security", "--offline=true", `--threshold=${EXPOSURE_MAX}`, service);
      expect(code, said).toBe(0);
      expect(analyzed("security", "--offline=true", "--threshold=5", service).code).not.toBe(0);
    });
  });

  test("brings a database up to date, and checks it", () => {
    const env = { ROWLOCK_DATABASE_URL: "sqlite:./rowlock.db" };
    expect(ran(["migrate", "up"], env)).toMatchObject({ code: 0 });
    expect(ran(["doctor"], env)).toMatchObject({ code: 0 });
    // A wrong value reaches the parser of the command line through the part of the servers' commands.
    expect(ran(["restored", "--pause", "soon"], env).code).toBe(64);
  });
});
