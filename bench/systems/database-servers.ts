// The MySQL and MariaDB servers of one round: private, empty, and with durable settings.

import { createConnection } from "mysql2/promise";
import type { Flavour, FoundServer } from "../../test/support/mysql-family/found-server.ts";
import { ownBinaries } from "../../test/support/mysql-family/own-binaries.ts";
import { type RunningServer, startPrivateServer } from "../../test/support/mysql-family/private-server.ts";
import { NotHere } from "./system.ts";

/** A separate database on one of the servers. */
export interface Database {
  readonly server: FoundServer;
  readonly name: string;
  /** `mysql://user:password@host:port/name`. */
  readonly url: string;
}

export class DatabaseServers {
  readonly #directory: string;
  readonly #running = new Map<Flavour, Promise<RunningServer>>();

  /** The servers' data directories are created under this one. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Starts the server on first use. Throws a NotHere without a binary of this flavour. */
  async database(flavour: Flavour, name: string): Promise<Database> {
    let running = this.#running.get(flavour);
    if (!running) {
      running = this.#start(flavour);
      this.#running.set(flavour, running);
    }
    const { server } = await running;
    const connection = await createConnection({ uri: server.url });
    try {
      await connection.query(`CREATE DATABASE ${name}`);
    } finally {
      await connection.end();
    }
    return { server, name, url: `${server.url}/${name}` };
  }

  async #start(flavour: Flavour): Promise<RunningServer> {
    const binary = (await ownBinaries()).get(flavour);
    if (binary === undefined) throw new NotHere(`no ${flavour} server is installed or named`);
    return startPrivateServer(binary, flavour, { parent: this.#directory });
  }

  async stop(): Promise<void> {
    for (const running of await Promise.allSettled(this.#running.values())) {
      if (running.status === "fulfilled") await running.value.stop();
    }
  }
}
