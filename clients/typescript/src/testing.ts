// A server for tests of one's own code: memory only, on a free port, gone with the test. It is the real server as a
// process, so locks, leases and queues are as in production.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { connect, type RowlockClient } from "./client.ts";
import type { ConnectOptions } from "./options.ts";

/** How long the server may take to start, and to stop. */
const START_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 10_000;

export interface TestServerOptions {
  /** The command `rowlock`; by default that of the environment's ROWLOCK_BIN, or the one on the PATH. */
  readonly command?: string;
}

type Server = ChildProcessByStdio<Writable, Readable, null>;

/** Starts a server. Rejects if there is no such command or the server does not start. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { command = process.env.ROWLOCK_BIN || "rowlock" } = options;
  const child: Server = spawn(command, ["serve", "--ephemeral"], { stdio: ["pipe", "pipe", "inherit"] });
  // Its error is that of the start, and its end follows from that.
  child.stdin.on("error", () => {});
  const line = once(createInterface({ input: child.stdout }), "line");
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${command} serve --ephemeral did not start within ${START_WITHIN_MS} ms.`)),
    START_WITHIN_MS,
  );
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${command} serve --ephemeral has ended (${code}) instead of serving.`);
  });
  try {
    const [said] = (await Promise.race([line, ended, late.promise])) as [string];
    const { grpc } = JSON.parse(said) as { grpc: string };
    ended.catch(() => {});
    return new TestServer(child, grpc);
  } catch (error) {
    child.kill("SIGKILL");
    throw (error as NodeJS.ErrnoException).code === "ENOENT" ? notFound(command, error) : error;
  } finally {
    clearTimeout(timer);
  }
}

function notFound(command: string, cause: unknown): Error {
  const how =
    "install it with `npm install --save-dev rowlock` and run the tests by an npm script, or set ROWLOCK_BIN to its path";
  return new Error(`There is no command ${command} to start a test server: ${how}.`, { cause });
}

/** A running server. `await using` stops it. */
export class TestServer implements AsyncDisposable {
  /** `host:port`, for `connect` and for the code under test. */
  readonly address: string;
  readonly #child: Server;
  readonly #clients: RowlockClient[] = [];
  #client: RowlockClient | undefined;
  #stopped: Promise<void> | undefined;

  /** For `startTestServer` only. */
  constructor(child: Server, address: string) {
    this.#child = child;
    this.address = address;
    // It does not outlive this process, as it stops when its standard input ends, and does not keep it alive.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref(): void }).unref();
  }

  /** A client of the server. */
  get client(): RowlockClient {
    this.#client ??= this.connect();
    return this.#client;
  }

  /** Makes another client, which is closed with the server. */
  connect(options: Omit<ConnectOptions, "addresses"> = {}): RowlockClient {
    const client = connect({ ...options, addresses: this.address });
    this.#clients.push(client);
    return client;
  }

  /** Ends all leases on a lock, as an operator would: their holders have lost it. */
  async lose(name: string): Promise<void> {
    await this.client.forceRelease({ name }, "lost on purpose by a test");
  }

  /** Closes the clients and stops the server. A second call has no effect. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.ref();
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_WITHIN_MS);
    await exited;
    clearTimeout(timer);
  }
}
