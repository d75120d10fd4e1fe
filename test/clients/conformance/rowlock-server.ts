// A server of a scenario: `rowlock serve` as a process, on a port that it keeps after a restart.

import { RowlockProcess, screenOf } from "../../process/server-process.ts";
import { freePort } from "../../support/mysql-family/private-server.ts";
import { endWithRunner } from "./end-with-runner.ts";

/** Several servers may start at once on a slow machine. */
const START_PATIENCE_MS = 60_000;

export class RowlockServer {
  readonly address: string;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #release: () => void;
  #process: RowlockProcess | undefined;

  readonly #program: string | undefined;

  private constructor(
    address: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    program: string | undefined,
  ) {
    this.address = address;
    this.#program = program;
    this.#args = args;
    this.#env = env;
    this.#release = endWithRunner(() => this.signal("SIGKILL"));
  }

  static async start(
    databaseUrl: string,
    flags: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
    program?: string,
  ): Promise<RowlockServer> {
    const address = `127.0.0.1:${await freePort()}`;
    const own = ["--listen", address, "--metrics-listen", "127.0.0.1:0", "--database-url", databaseUrl];
    const server = new RowlockServer(address, ["serve", ...own, ...flags], env, program);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.destroy();
      throw error;
    }
  }

  /** Waits until the server takes calls. */
  async start(): Promise<void> {
    await this.gone();
    this.#process = new RowlockProcess(this.#args, this.#env, this.#program, START_PATIENCE_MS);
    await screenOf(this.#process);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Waits until the process has ended in any way. */
  async gone(): Promise<void> {
    await this.#process?.exited;
  }

  async destroy(): Promise<void> {
    await this.#process?.destroy();
    this.#release();
  }
}
