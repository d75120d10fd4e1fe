// One language in one run: builds its client, and starts on first use what most of its scenarios share: a driver, and
// a server over this language's own database.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isBuilt, noteBuilt } from "./built-from.ts";
import type { Databases } from "./databases.ts";
import { DriverProcess, type Json } from "./driver-process.ts";
import { RowlockServer } from "./rowlock-server.ts";

const CLIENTS = join(import.meta.dirname, "../../../clients");
/** The command that the clients' own test servers start. */
const ROWLOCK_BIN = join(CLIENTS, "../bin/rowlock.mjs");
/** The exit code by which a client's script reports a missing toolchain. */
const NOT_HERE = 3;

/** The language's name by folder below clients/, in the order of the table. */
export const LANGUAGES: Readonly<Record<string, string>> = {
  typescript: "TypeScript",
  python: "Python",
  go: "Go",
  java: "Java",
};

export interface SharedServer {
  readonly address: string;
  /** Unset: the client's own module for tests has started it, in memory. */
  readonly own?: { readonly server: RowlockServer; readonly databaseUrl: string };
}

export class Language {
  /** Its folder's name. */
  readonly name: string;
  readonly databases: Databases;
  readonly #onTestServer: boolean;
  readonly #folder: string;
  readonly #cleanups: (() => Promise<unknown>)[] = [];
  #driver: DriverProcess | undefined;
  #shared: Promise<SharedServer> | undefined;

  /**
   * @param options `folder`: of its client, if it is not below clients/. `onTestServer`: the client's own module for
   * tests starts the shared server.
   */
  constructor(
    name: string,
    databases: Databases,
    { folder = join(CLIENTS, name), onTestServer = false }: { folder?: string; onTestServer?: boolean } = {},
  ) {
    this.name = name;
    this.databases = databases;
    this.#folder = folder;
    this.#onTestServer = onTestServer;
  }

  /**
   * Builds the client unless the last build was of the same sources. Returns why the language cannot run here; undefined
   * if it can. Throws if its build fails.
   */
  async build(): Promise<string | undefined> {
    if (!existsSync(this.#script("driver"))) return `clients/${this.name} has no conformance driver`;
    if (await isBuilt(this.name, this.#folder)) return undefined;
    const build = spawn(this.#script("build"), [], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [build.stdout, build.stderr]) stream.on("data", (chunk) => (said += chunk));
    const [status] = await once(build, "close");
    if (status === 0) {
      await noteBuilt(this.name, this.#folder);
      return undefined;
    }
    if (status === NOT_HERE) return said.trim().split("\n").at(-1) || "its toolchain is not here";
    throw new Error(`clients/${this.name}/scripts/build has failed (${status}):\n${said}`);
  }

  /** @param tell as in DriverProcess. */
  startDriver(tell?: (event: Json) => void, env: Readonly<Record<string, string>> = {}): DriverProcess {
    return new DriverProcess(this.#script("driver"), { ROWLOCK_BIN, ...env }, tell);
  }

  /** The driver of all scenarios that need none of their own; a new one if the last has ended. */
  sharedDriver(): DriverProcess {
    if (!this.#driver || this.#driver.hasEnded) {
      const driver = this.startDriver();
      this.#driver = driver;
      this.#cleanups.push(() => driver.destroy());
    }
    return this.#driver;
  }

  sharedServer(): Promise<SharedServer> {
    this.#shared ??= this.#startShared().catch((error) => {
      // Lets the next scenario try again.
      this.#shared = undefined;
      throw error;
    });
    return this.#shared;
  }

  async stop(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }

  async #startShared(): Promise<SharedServer> {
    if (this.#onTestServer) {
      // It lives as long as the driver that has started it.
      const driver = this.startDriver();
      this.#cleanups.push(() => driver.destroy());
      const { line } = await driver.ask({ do: "startTestServer", server: "shared" }).answer;
      const { address } = (line.result ?? {}) as { readonly address?: string };
      if (address === undefined) throw new Error(`startTestServer: ${JSON.stringify(line)}`);
      return { address };
    }
    const { url, drop } = await this.databases.fresh();
    this.#cleanups.push(drop);
    const server = await RowlockServer.start(url);
    this.#cleanups.push(() => server.destroy());
    return { address: server.address, own: { server, databaseUrl: url } };
  }

  #script(name: string): string {
    return join(this.#folder, "scripts", name);
  }
}
