// `rowlock run` as a process among others: what a signal does at each moment of its life, at a terminal and without one,
// sent to it alone and to its process group, by this Node and by an older one that hands over. What the caller ignored
// stays ignored. In every case, the lock is free at the end.

import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, connect as dial } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { until } from "../support/harness.ts";
import { queued, withTtl } from "../support/test-calls.ts";
import { CTRL_C, HAS_PTY, Pty } from "./pty.ts";
import { RowlockProcess } from "./server-process.ts";
import { processStage, type ServingServer } from "./stage.ts";

type Signal = "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGTERM" | "SIGUSR1" | "SIGUSR2" | "SIGALRM";
const SIGNALS: readonly Signal[] = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"];
type Launcher = "this Node" | "an older Node beside it" | "an older Node in its place";
/** All signals where the paths of a signal differ, and otherwise one of each kind. */
const LAUNCHERS: readonly { launcher: Launcher; signals: readonly Signal[] }[] = [
  { launcher: "this Node", signals: [...SIGNALS, "SIGALRM"] },
  { launcher: "an older Node beside it", signals: SIGNALS },
  { launcher: "an older Node in its place", signals: ["SIGINT", "SIGUSR1"] },
];
const CTRL_Z = "\x1a";
const CTRL_BACKSLASH = "\x1c";

/** Says which signals it gets, and ends by SIGTERM. */
const COMMAND = `for name in HUP INT QUIT USR1 USR2 ALRM; do trap "echo got SIG$name" $name; done
trap "echo got SIGTERM; exit 3" TERM; echo ready; while :; do sleep 0.01; done 2>/dev/null`;

const stage = processStage("after all");
let server: ServingServer;
let folder: string;
const paths = new Map<Launcher, string>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowlock-signals-"));
  // It is the home of all that is started, so it goes after them.
  stage.afterwards(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  server = await stage.serving(await stage.database(freshSqlite));
  const old =
    'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });';
  for (const [launcher, code] of [
    ["this Node", ""],
    ["an older Node beside it", `${old} process.execve = undefined;`],
    ["an older Node in its place", old],
  ] as const) {
    const bin = mkdtempSync(join(folder, "bin-"));
    const preload = `data:text/javascript,${encodeURIComponent(code)}`;
    const program = `#!/bin/sh\nexec '${process.execPath}' ${code && `--import '${preload}'`} "$@"\n`;
    writeFileSync(join(bin, "node"), program);
    chmodSync(join(bin, "node"), 0o755);
    paths.set(launcher, `${bin}:${process.env.PATH}`);
  }
});

let names = 0;
/** Of this run alone: commands are found by the names of their locks. */
const newName = () => `lock-${process.pid}-${++names}`;
const env = (launcher: Launcher) => ({
  ROWLOCK_ADDR: server.grpcAddress,
  PATH: paths.get(launcher) as string,
  HOME: folder,
});

/** Starts a command line in a process group of its own, whose number is the process's id. */
function started(words: readonly string[], launcher: Launcher = "this Node"): RowlockProcess {
  const job = new RowlockProcess(words, env(launcher), "setsid", undefined, "pipe");
  stage.afterwards(() => job.destroy());
  return job;
}

const running = (name: string, ...command: string[]) =>
  [`bin/rowlock.mjs run ${name} --ttl 10m`.split(" "), command].flat();

async function expectFree(name: string): Promise<void> {
  const { lock } = await server.client.call("getLock", { name });
  expect(lock).toMatchObject({ holderCount: 0, waiterCount: 0 });
}

async function expectNobodyWaits(name: string): Promise<void> {
  expect((await server.client.call("getLock", { name })).lock?.waiterCount).toBe(0);
}

/** Somebody else holds the lock; the result releases it. */
async function heldByAnother(name: string): Promise<() => Promise<unknown>> {
  const { leaseId } = await server.client.lease({ name, terms: withTtl(600) });
  return () => server.client.call("release", { leaseId });
}

/** A terminal whose only process is this command line. */
function atTerminal(
  line: string,
  launcher: Launcher = "this Node",
  more: Readonly<Record<string, string>> = {},
): Pty {
  const pty = new Pty(`exec ${line}`, { ...env(launcher), ...more });
  stage.afterwards(() => pty.destroy());
  return pty;
}

describe.each(LAUNCHERS)("started by $launcher", ({ launcher, signals }) => {
  const matrix = signals.flatMap((signal) =>
    (["it alone", "its process group"] as const).map((to) => ({ signal, to })),
  );
  const send = ({ pid }: RowlockProcess, signal: Signal, to: string) =>
    process.kill(to === "it alone" ? pid : -pid, signal);

  test.each(matrix)("work: $signal to $to reaches the command once", async ({ signal, to }) => {
    const name = newName();
    const job = started(running(name, "sh", "-c", COMMAND), launcher);
    await job.said(/ready/);
    send(job, signal, to);
    await job.said(new RegExp(`got ${signal}`));
    // What came twice would come before this.
    if (signal !== "SIGTERM") send(job, "SIGTERM", to);
    const got = signal === "SIGTERM" ? "" : `got ${signal}\n`;
    expect(await job.ended()).toMatchObject({ code: 3, out: `ready\n${got}got SIGTERM\n` });
    await expectFree(name);
  });

  test.each(matrix)("wait: $signal to $to gives the place back", async ({ signal, to }) => {
    const name = newName();
    await heldByAnother(name);
    const job = started(running(name, "true"), launcher);
    await job.logged(/next in the queue/);
    send(job, signal, to);
    expect(await job.ended()).toMatchObject({ code: 128 + constants.signals[signal] });
    await expectNobodyWaits(name);
  });

  test("start: no signal opens a debugger, and none leaves a place behind", async () => {
    const name = newName();
    await heldByAnother(name);
    const jobs = signals.flatMap((signal) =>
      [10, 60, 120].map(async (afterMs) => {
        const job = started(running(name, "true"), launcher);
        await sleep(afterMs);
        send(job, signal, "it alone");
        // Before there is JavaScript, Node itself takes SIGUSR1, and it has no effect.
        if (signal === "SIGUSR1") job.kill("SIGTERM");
        return await job.ended();
      }),
    );
    for (const { code, err } of await Promise.all(jobs)) {
      expect(code).not.toBe(0);
      expect(err).not.toContain("Debugger");
    }
    await expectNobodyWaits(name);
  });

  test("Ctrl-Z stops the command with it, and both go on", async () => {
    const name = newName();
    const job = started(running(name, "sh", "-c", COMMAND), launcher);
    await job.said(/ready/);
    process.kill(job.pid, "SIGTSTP");
    await until(() => stateOf(job.pid) === "T");
    process.kill(job.pid, "SIGTERM");
    process.kill(job.pid, "SIGCONT");
    expect(await job.ended()).toMatchObject({ code: 3, out: "ready\ngot SIGTERM\n" });
    await expectFree(name);
  });

  describe.skipIf(!HAS_PTY)("at a terminal", () => {
    const keys = [
      { keys: CTRL_C, signal: "SIGINT", code: 130 },
      { keys: CTRL_BACKSLASH, signal: "SIGQUIT", code: 131 },
    ] as const;

    test.each(keys)("work: the keys for $signal reach the command once", async ({ keys, signal }) => {
      const name = newName();
      const pty = atTerminal(`bin/rowlock.mjs run ${name} sh -c '${COMMAND}'`, launcher);
      await pty.shows(/ready/);
      const command = await commandOf(name);
      // Nothing else ends it: it handles even the end of its terminal.
      stage.afterwards(() => process.kill(command, "SIGKILL"));
      const count = () => pty.screen.split(`got ${signal}`).length - 1;
      // What came twice for one key would be counted with the next.
      for (const pressed of [1, 2, 3]) {
        pty.press(keys);
        await until(() => count() >= pressed);
      }
      expect(count()).toBe(3);
    });

    test.each(keys)("wait: the keys for $signal give the place back", async ({ keys, code }) => {
      const name = newName();
      await heldByAnother(name);
      const pty = atTerminal(`bin/rowlock.mjs run ${name} true`, launcher);
      await pty.shows(/next in the queue/);
      pty.press(keys);
      expect(await pty.ended()).toBe(code);
      await expectNobodyWaits(name);
    });
  });
});

/** A proxy to the server that can hold what the client sends; `held` resolves when the client has sent something. */
async function gate() {
  const held = Promise.withResolvers<void>();
  const waiting: (() => void)[] = [];
  let isShut = false;
  const [host = "", port = ""] = server.grpcAddress.split(":");
  const proxy = createServer((near) => {
    const far = dial(Number(port), host);
    far.pipe(near);
    for (const one of [near, far])
      one.on("error", () => {}).on("close", () => [near, far].map((each) => each.destroy()));
    near.on("data", (chunk) => {
      if (!isShut) return void far.write(chunk);
      waiting.push(() => far.write(chunk));
      held.resolve();
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  stage.afterwards(() => proxy.close());
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    held: held.promise,
    shut: () => {
      isShut = true;
    },
    open: () => {
      isShut = false;
      for (const pass of waiting.splice(0)) pass();
    },
  };
}

describe("end: while the lock is being released", () => {
  const matrix = SIGNALS.flatMap((signal) => [1, 2].map((times) => ({ signal, times })));

  test.each(matrix)(
    "$signal, $times times, costs neither the release nor its result",
    async ({ signal, times }) => {
      const name = newName();
      const door = await gate();
      const flags = `--addr ${door.address} --status-failed failed -- sh -c`.split(" ");
      const job = started(running(name, ...flags, "echo ready; read line; exit 5"));
      await job.said(/ready/);
      const command = await commandOf(name);
      door.shut();
      job.endInput();
      await door.held;
      // What was held may have been something else than the release.
      await until(() => !existsSync(`/proc/${command}`));
      for (let sent = 0; sent < times; sent++) job.kill(signal);
      // Node has handled the signals before it answers this one.
      job.kill("SIGTSTP");
      await until(() => stateOf(job.pid) === "T");
      job.kill("SIGCONT");
      door.open();
      expect(await job.ended()).toMatchObject({ code: 5, signal: null, err: "" });
      await expectFree(name);
      const { lock } = await server.client.call("getLock", { name });
      expect(lock?.record?.status).toBe("failed");
    },
  );
});

test("grant: a signal that comes with it leaves nothing behind", async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const name = newName();
    const release = await heldByAnother(name);
    const job = started(running(name, "sh", "-c", "sleep 1000"));
    await job.logged(/next in the queue/);
    const released = release();
    job.kill(signal);
    await released;
    expect((await job.ended()).code).toBe(128 + constants.signals[signal]);
    await expectFree(name);
  }
});

describe("a signal that the caller ignored", () => {
  const cases = [
    { line: "exec nohup bin/rowlock.mjs", signal: "SIGHUP" },
    // As of a background job in a script.
    { line: "trap '' INT QUIT; exec bin/rowlock.mjs", signal: "SIGINT" },
    { line: "trap '' TERM USR1; exec bin/rowlock.mjs", signal: "SIGUSR1" },
  ] as const;
  const launchers = ["this Node", "an older Node beside it"] as const;
  const matrix = launchers.flatMap((launcher) => cases.map((each) => ({ ...each, launcher })));

  test.each(matrix)(
    "wait and work: $signal has no effect ($line, $launcher)",
    async ({ line, signal, launcher }) => {
      const name = newName();
      const release = await heldByAnother(name);
      const command = `echo ready; while :; do sleep 0.01; done 2>/dev/null`;
      const words = ["sh", "-c", `${line} run ${name} --ttl 10m sh -c '${command}'`];
      const job = started(words, launcher);
      await job.logged(/next in the queue/);
      process.kill(-job.pid, signal);
      await release();
      await job.said(/ready/);
      process.kill(-job.pid, signal);
      process.kill(job.pid, signal);
      const ignored = /^SigIgn:\s+(\w+)/m.exec(
        readFileSync(`/proc/${await commandOf(name)}/status`, "utf8"),
      )?.[1];
      const bit = 1n << BigInt(constants.signals[signal] - 1);
      expect(BigInt(`0x${ignored}`) & bit).toBe(bit);
      // Ends the command by something that nobody ignored.
      process.kill(job.pid, "SIGUSR2");
      expect((await job.ended()).code).toBe(128 + constants.signals.SIGUSR2);
      await expectFree(name);
    },
  );

  test("a command that is not there is still told from one that failed, and odd variables reach it", async () => {
    const ignoring = (...words: string[]) => ["sh", "-c", `trap '' HUP; exec "$@"`, "sh", ...words];
    const missing = await started(ignoring(...running(newName(), "no-such-command"))).ended();
    expect(missing).toMatchObject({ code: 127, err: 'rowlock: There is no command "no-such-command".\n' });
    const plain = await started(ignoring(...running(newName(), "./README.md"))).ended();
    expect(plain).toMatchObject({ code: 126, err: 'rowlock: "./README.md" cannot be executed (EACCES).\n' });
    const noPath = ignoring("env", "-u", "PATH", ...running(newName(), "true"));
    expect(await started(noPath).ended()).toMatchObject({ code: 0, err: "" });
    const greet = `greet() { echo "hello
there"; }; export -f greet; exec "$@" bin/rowlock.mjs run ${newName()} bash -c greet`;
    for (const before of [[], ["nohup"]])
      expect(await started(["bash", "-c", greet, "bash", ...before]).ended()).toMatchObject({
        code: 0,
        out: "hello\nthere\n",
      });
  });
});

test("a command gets all variables of its caller, whatever their names and sizes, and no others", async () => {
  const given = {
    // What a script would call its own.
    ...Object.fromEntries(
      ["key", "value", "name", "odd", "i", "signal", "path"].map((word) => [word, "kept"]),
    ),
    "spring.datasource.url": "x",
    "1st": "y",
    large: "x".repeat(120_000),
    "a-b": "z".repeat(120_000),
    "c-d": "z\n1".repeat(40_000),
  };
  const show = "console.log(JSON.stringify(process.env))";
  const words = [...running(newName(), process.execPath, "-e", show)];
  for (const shell of ["dash", "bash"]) {
    const job = new RowlockProcess([shell, ...words], { ...env("this Node"), ...given }, "setsid");
    stage.afterwards(() => job.destroy());
    const { out, err } = await job.ended();
    expect(err).toBe("");
    const seen = JSON.parse(out) as Record<string, string>;
    expect(seen).toMatchObject(given);
    expect(Object.keys(seen).join(" ")).not.toMatch(/IGNORED_SIGNALS|ODD_VARIABLES|ROWLOCK_ROW/);
  }
});

test("a signal that only the shell of the launcher ignores reaches the command", async () => {
  // bash ignores SIGQUIT.
  const job = started(["bash", ...running(newName(), "grep", "SigIgn", "/proc/self/status")]);
  expect(await job.ended()).toMatchObject({ code: 0, out: expect.stringMatching(/^SigIgn:\s+0+\n$/) });
});

/** The process that runs under the lock. */
async function commandOf(name: string): Promise<number> {
  const found = globSync("/proc/[0-9]*/environ").flatMap((file) => {
    try {
      return readFileSync(file, "utf8").split("\0").includes(`ROWLOCK_NAME=${name}`)
        ? [Number(file.split("/")[2])]
        : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
  return Math.min(...found);
}

describe.skipIf(!HAS_PTY)("Ctrl-Z, and fg in the shell of a terminal", () => {
  /** Writes into a file while it runs. */
  const writing = (file: string) => `sh -c 'echo ready; while :; do date >>${file}; sleep 0.01; done'`;

  async function stoppedAtTerminal(name: string, ttl: string) {
    const file = join(folder, name);
    const pty = atTerminal("bash --norc --noprofile -i", "this Node", { PS1: "prompt> " });
    await pty.shows(/prompt>/);
    pty.press(`bin/rowlock.mjs run ${name} --ttl ${ttl} ${writing(file)}\n`);
    await pty.shows(/[\r\n]ready/);
    await until(() => existsSync(file));
    const from = pty.screen.length;
    pty.press(CTRL_Z);
    await pty.shows(/Stopped[\s\S]*prompt>/, from);
    return { pty, written: () => statSync(file).size };
  }

  test("goes on with a command whose lease is still there", async () => {
    const { pty, written } = await stoppedAtTerminal(newName(), "10m");
    const before = written();
    pty.press("fg\n");
    await until(() => written() > before);
    const from = pty.screen.length;
    pty.press(CTRL_C);
    await pty.shows(/prompt>/, from);
  });

  test.each([
    { how: "has expired", ttl: "1s" },
    { how: "was ended by force", ttl: "10m" },
  ])("a command whose lease $how never goes on", async ({ ttl }) => {
    const name = newName();
    const { pty, written } = await stoppedAtTerminal(name, ttl);
    const before = written();
    if (ttl !== "1s") await server.client.force(name, "stuck");
    // Granted to somebody else.
    const stream = server.client.wait(queued({ name }));
    await stream.granted();
    pty.press("fg\n");
    await pty.shows(/was lost, and the command was stopped/);
    expect(written()).toBe(before);
  });
});

/** R, S, T and so on. */
function stateOf(pid: number): string | undefined {
  return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
}
