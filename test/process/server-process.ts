// Runs `node server/main.ts ...`, or an executable, as a process with its own environment, and waits for its output. Ends only processes
// that it has started.

import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { refuseSecrets } from "../support/secrets.ts";

const HOUSE = join(import.meta.dirname, "../..");
/** Compile cache shared by the processes: reading the sources is half of the start-up cost. */
const COMPILED = join(HOUSE, "node_modules/.cache/rowlock-compiled");
/** Below the tests' timeout, which would not show the process's output. */
const PAINFULLY_LONG_MS = 100_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export class RowlockProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<Exit>;
  #out = "";
  #err = "";
  /** Called when the process writes something or ends. */
  #onChange: () => void = () => {};
  #ended = false;
  readonly #patienceMs: number;
  readonly #isServer: boolean;

  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    program = "server/main.ts",
    patienceMs = PAINFULLY_LONG_MS,
    input: "ignore" | "pipe" = "ignore",
    cwd = HOUSE,
  ) {
    this.#patienceMs = patienceMs;
    this.#isServer = args[0] === "serve";
    const [command, ...first] = program.endsWith(".ts") ? [process.execPath, program] : [program];
    this.#child = spawn(command as string, [...first, ...args], {
      cwd,
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, ...env },
      stdio: [input, "pipe", "pipe"],
    });
    this.#child.stdout?.on("data", (chunk) => {
      this.#out += chunk;
      this.#onChange();
    });
    this.#child.stderr?.on("data", (chunk) => {
      this.#err += chunk;
      this.#onChange();
    });
    const exited = Promise.withResolvers<Exit>();
    this.#exited = exited.promise;
    this.#child.on("error", exited.reject);
    this.#child.on("close", (code, signal) => {
      this.#ended = true;
      exited.resolve({ code, signal, out: this.#out, err: this.#err });
      this.#onChange();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get out(): string {
    return this.#out;
  }

  get err(): string {
    return this.#err;
  }

  get exited(): Promise<Exit> {
    return this.#exited;
  }

  /** Waits until standard output matches. Throws if the process ends first. */
  said(what: RegExp): Promise<RegExpExecArray> {
    return this.#wait(what, () => this.#out);
  }

  /** The same for standard error, where the log goes. */
  logged(what: RegExp): Promise<RegExpExecArray> {
    return this.#wait(what, () => this.#err);
  }

  async #wait(what: RegExp, text: () => string): Promise<RegExpExecArray> {
    const found = Promise.withResolvers<RegExpExecArray>();
    const failed = (why: string) =>
      found.reject(new Error(`${why}\n--- out\n${this.#out}--- err\n${this.#err}`));
    const timer = setTimeout(() => failed(`waited too long for ${what}`), this.#patienceMs);
    this.#onChange = () => {
      const match = what.exec(text());
      if (match) found.resolve(match);
      else if (this.#ended) failed(`ended without saying ${what}`);
    };
    this.#onChange();
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      this.#onChange = () => {};
    }
  }

  /** As `exited`, but a process that does not end fails the test where it waits, with what the process has printed. */
  async ended(): Promise<Exit> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`did not end\n--- out\n${this.#out}--- err\n${this.#err}`)),
      this.#patienceMs,
    );
    try {
      return await Promise.race([this.#exited, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends standard input, if it is a pipe. */
  endInput(): void {
    this.#child.stdin?.end();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /**
   * Makes sure that the process is gone, whatever its state. For the end of a test. Throws if a server has printed a
   * secret.
   */
  async destroy(): Promise<void> {
    if (!this.#ended) this.#child.kill("SIGKILL");
    // What it has started may outlive it and keep its output open.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    await this.#exited;
    if (this.#isServer) refuseSecrets(this.#out + this.#err, "The server");
  }
}

/** A server that has printed its banner. */
export interface RunningServer {
  readonly process: RowlockProcess;
  readonly screen: string;
  readonly grpcAddress: string;
  readonly metricsUrl: string;
}

/** The arguments of a server on free ports. */
export function serveArgs(databaseUrl: string, ...more: string[]): string[] {
  const ports = ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
  return ["serve", ...ports, "--database-url", databaseUrl, ...more];
}

/** Waits for the banner and reads the addresses from it, as a person would. */
export async function screenOf(process: RowlockProcess): Promise<RunningServer> {
  await process.said(/LockService\/Acquire\n\n/);
  const grpc = await process.said(/gRPC +(\S+)/);
  const metrics = await process.said(/metrics +http:\/\/(\S+)\/metrics/);
  return { process, screen: process.out, grpcAddress: grpc[1] as string, metricsUrl: `http://${metrics[1]}` };
}
