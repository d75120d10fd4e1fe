// What tests of the client share: servers over one database, and clients that are closed afterwards.

import { afterEach } from "vitest";
import { type ConnectOptions, connect, type Rowlock } from "../../../clients/typescript/src/index.ts";
import { type StartOptions, startServer, type TestServer } from "../../support/harness.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What was put up last is taken down first. */
export function afterwards(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

export async function start(options?: StartOptions): Promise<TestServer> {
  const server = await startServer(options);
  let stopped: Promise<void> | undefined;
  const stop = server.stop;
  // A test may stop it itself.
  const once = Object.assign(server, { stop: () => (stopped ??= stop.call(server)) });
  cleanups.push(once.stop);
  return once;
}

export function client(
  addresses: string | readonly string[],
  options: Omit<ConnectOptions, "addresses"> = {},
): Rowlock {
  const rowlock = connect({ addresses, owner: "tester", ...options });
  cleanups.push(() => rowlock.close());
  return rowlock;
}

/** Resolves when it is aborted, with its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
}
