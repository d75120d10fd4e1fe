// What tests of the client share: servers over one database, and clients that are closed at the end.

import { onTestFinished } from "vitest";
import { type ConnectOptions, connect, type RowlockClient } from "../../../clients/typescript/src/index.ts";
import type { LockEngine } from "../../../server/engine/engine.ts";
import { createGrpcServer } from "../../../server/grpc/server.ts";
import { freshSqlite } from "../../support/database.ts";
import { type StartOptions, silentObserver, startServer, type TestServer } from "../../support/harness.ts";
import { NO_BOUND } from "../../support/no-bound.ts";
import { startReplicas } from "../../support/replicas.ts";
import { drainMs, stopInTime } from "../../support/stop-in-time.ts";

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

/** Two servers over one database. */
export async function startPair(rules = {}, wrapFirst = (engine: LockEngine) => engine) {
  const { all, stop } = await startReplicas({ fresh: freshSqlite }, 2, rules);
  afterwards(stop);
  const servers = [];
  for (const { engine, id } of all) {
    const grpc = createGrpcServer({
      engine: id === all[0]?.id ? wrapFirst(engine) : engine,
      observer: silentObserver,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      tls: null,
      graceMs: ("graceUs" in rules ? Number(rules.graceUs) : 10_000_000) / 1_000,
      capacity: NO_BOUND,
      streamsMax: 1_000,
      replica: String(id),
      sessionWaitsMax: 5_000,
      sessionCommandsMax: 5_000,
      receiveBytesMax: 65_536,
      reflection: false,
    });
    const { port } = await grpc.start({ host: "127.0.0.1", port: 0 });
    afterwards(() => stopInTime({ name: "the gRPC server", stop: () => grpc.drain(drainMs()) }));
    servers.push({ grpc, address: `127.0.0.1:${port}`, port, replica: String(id) });
  }
  return servers as [(typeof servers)[0], (typeof servers)[0]];
}

/** Waits of one client, and the order of their grants. */
export function waitInLine(rowlock: RowlockClient, name: string, count: number) {
  const order: number[] = [];
  const locks = Array.from({ length: count }, async (_, index) => {
    const lock = await rowlock.lock(name);
    order.push(index);
    await lock.release();
    return lock;
  });
  return { order, locks, inOrder: Array.from({ length: count }, (_, index) => index) };
}

/** The number of waiters. */
export const waiting = async (rowlock: RowlockClient, name: string) =>
  (await rowlock.getLock(name)).waiterCount;
