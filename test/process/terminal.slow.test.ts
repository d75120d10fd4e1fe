// Signals as people send them: Ctrl-C and a closed window at a terminal, and a kill of the npx that started the
// server. Ctrl-C, and the end of the npx that started it, count as one request to stop: the server notifies its
// waiters and drains. A hang-up alone is none.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { queued, TestCalls } from "../support/test-calls.ts";
import { until } from "../support/until.ts";
import { hang } from "./hanging-call.ts";
import { processStage } from "./stage.ts";

const CTRL_C = "\x03";
/** What cannot drain is cut off after this time; npm's second signal comes at once. */
const DRAIN_MS = 3_000;

const { afterwards, database, folder: emptyFolder } = processStage();

class StartedByWords {
  readonly child: ChildProcess;
  /** Resolves when every process of the command is gone and none holds the output open. */
  readonly closed: Promise<unknown>;
  screen = "";
  readonly #said = Promise.withResolvers<void>();

  constructor(command: string, args: readonly string[]) {
    this.child = spawn(command, args, { stdio: "pipe", detached: true });
    this.closed = once(this.child, "close");
    for (const output of [this.child.stdout, this.child.stderr]) {
      output?.on("data", (chunk) => {
        this.screen += chunk;
        if (this.screen.includes("LockService/Acquire")) this.#said.resolve();
      });
    }
    void this.closed.then(() => this.#said.reject(new Error(`It has ended.\n${this.screen}`)));
  }

  async address(): Promise<string> {
    await this.#said.promise;
    return /gRPC +(\S+)/.exec(this.screen)?.[1] as string;
  }

  async client(): Promise<TestCalls> {
    const client = new TestCalls(await this.address());
    afterwards(() => client.close());
    return client;
  }

  /** Kills what is left of it. */
  async destroy(): Promise<void> {
    try {
      process.kill(-(this.child.pid as number), "SIGKILL");
    } catch {
      // Nothing is left.
    }
    await this.closed;
  }
}

async function serveLine(start: string, more = ""): Promise<string> {
  const url = await database(freshSqlite);
  const free = "--listen 127.0.0.1:0 --metrics-listen off";
  return `${start} ${free} --drain-timeout ${DRAIN_MS}ms --database-url ${url} ${more}`;
}

function started(command: string, args: readonly string[]): StartedByWords {
  const server = new StartedByWords(command, args);
  afterwards(() => server.destroy());
  return server;
}

function endIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Runs it in a terminal whose other end this test holds. */
const atTerminal = (line: string) =>
  started("script", ["--quiet", "--flush", "--command", line, "/dev/null"]);

/** A client that waits for a lock that another one holds. */
async function waiter(client: TestCalls) {
  await client.lease({ name: "held" });
  const stream = client.wait(queued({ name: "held" }));
  await stream.position();
  return stream;
}

const TOLD = { code: "UNAVAILABLE", reason: "SHUTTING_DOWN" };

// These options of `script` are for Linux.
describe.skipIf(process.platform !== "linux")("at a terminal", () => {
  test.each(["npm start --", "npx rowlock serve"])(
    "Ctrl-C on `%s` counts once, however often it arrives",
    async (start) => {
      const server = atTerminal(await serveLine(start));
      const stream = await waiter(await server.client());
      afterwards(await hang(await server.address()));
      server.child.stdin?.write(CTRL_C);
      expect(await stream.failure()).toMatchObject(TOLD);
      await server.closed;
      expect(server.screen).toContain('"msg":"stopped"');
    },
  );

  test("closing the window ends npx and so its server, even if nobody reads its log", async () => {
    const server = atTerminal(await serveLine("npx rowlock serve"));
    const stream = await waiter(await server.client());
    server.child.kill("SIGKILL");
    expect(await stream.failure()).toMatchObject(TOLD);
  });

  test("closing the window does not end a server that was started by itself", async () => {
    const folder = emptyFolder();
    const log = join(folder, "log");
    const logged = (text: string) => until(() => readFileSync(log, "utf8").includes(text));
    const server = atTerminal(await serveLine("echo pid $$; exec node server/main.ts serve", `2> ${log}`));
    const client = await server.client();
    const pid = Number(/pid (\d+)/.exec(server.screen)?.[1]);
    afterwards(() => endIfThere(pid));
    const stream = await waiter(client);
    server.child.kill("SIGKILL");
    await server.closed;
    await logged('"signal":"SIGHUP"');
    expect(await client.lease({ name: "afterwards" })).toBeDefined();
    process.kill(pid, "SIGTERM");
    expect(await stream.failure()).toMatchObject(TOLD);
    await logged('"msg":"stopped"');
  });
});

test.each([
  ["npx", "rowlock serve"],
  ["npm", "start --"],
])("a server ends with the %s that has started it", async (program, words) => {
  const server = started(program, (await serveLine(words)).trim().split(" "));
  const stream = await waiter(await server.client());
  server.child.kill("SIGTERM");
  expect(await stream.failure()).toMatchObject(TOLD);
  await server.closed;
});
