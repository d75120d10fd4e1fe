// What tests of the client share: servers over one database, and clients that are closed at the end.

import { onTestFinished } from "vitest";
import { type ConnectOptions, connect, type RowlockClient } from "../../../clients/typescript/src/index.ts";
import { type StartOptions, startServer, type TestServer } from "../../support/harness.ts";

/** Runs when the test is over, whatever its result; the last one first. */
export const afterwards = onTestFinished;

export async function start(options?: StartOptions): Promise<TestServer> {
  const server = await startServer(options);
  let stopped: Promise<void> | undefined;
  const stop = server.stop;
  // A test may also stop the server itself.
  const once = Object.assign(server, { stop: () => (stopped ??= stop.call(server)) });
  afterwards(once.stop);
  return once;
}

export function client(
  addresses: string | readonly string[],
  options: Omit<ConnectOptions, "addresses"> = {},
): RowlockClient {
  const rowlock = connect({ addresses, owner: "tester", log: () => {}, ...options });
  afterwards(() => rowlock.close());
  return rowlock;
}

/** Resolves with the abort reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
}

/** The number of waiters. */
export const waiting = async (rowlock: RowlockClient, name: string) =>
  (await rowlock.getLock(name)).waiterCount;
