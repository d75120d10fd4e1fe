// What one round has started, to be stopped in reverse order: Rowlock servers as processes, and their callers.

import { createConnection } from "mysql2/promise";
import {
  RowlockProcess,
  type RunningServer,
  screenOf,
  serveArgs,
} from "../../test/process/server-process.ts";
import { TestCalls } from "../../test/support/test-calls.ts";

/** A server takes seconds to start on a busy machine. */
const START_MS_MAX = 60_000;
/** For one call: longer than any outage measured here. */
const CALL_MS_MAX = 60_000;
const AGAIN_MS = 10;

export interface Serving extends RunningServer {
  readonly client: TestCalls;
}

export class Household {
  readonly #cleanups: (() => unknown)[] = [];

  afterwards(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  async serving(url: string, ...flags: string[]): Promise<Serving> {
    const process = new RowlockProcess(serveArgs(url, ...flags), {}, "server/main.ts", START_MS_MAX);
    this.afterwards(() => process.destroy());
    const server = await screenOf(process);
    const client = new TestCalls(server.grpcAddress);
    this.afterwards(() => client.close());
    return { ...server, client };
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }
}

/** Creates a database on a MySQL-family server; returns its URLs on that server and on the others. */
export async function databaseAt(urls: readonly string[]): Promise<string[]> {
  const connection = await createConnection({ uri: urls[0] as string });
  try {
    await connection.query("CREATE DATABASE rowlock");
  } finally {
    connection.destroy();
  }
  return urls.map((url) => Object.assign(new URL(url), { pathname: "/rowlock" }).href);
}

/** The same database through a proxy that listens on this port. */
export function through(url: string, port: number): string {
  return Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port) }).href;
}

let names = 0;

/**
 * Resolves when a lock is granted that was requested after this call, or when the signal is aborted. Refused requests are
 * repeated at once.
 */
export async function untilGranted(client: TestCalls, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    names += 1;
    try {
      const name = `granted-${names}`;
      const { outcome } = await client.call("acquire", { name }, { timeout: CALL_MS_MAX });
      if (outcome.case === "lease") return;
    } catch {
      // The database is away.
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}
