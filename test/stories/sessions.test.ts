// Sessions when two things happen at once: a crowd is cancelled during a heartbeat that reports it alive.

import { afterEach, describe, expect, test } from "vitest";
import type { Store } from "../../server/storage/store.ts";
import { testDatabases } from "../support/database.ts";
import type { StartOptions, TestServer } from "../support/harness.ts";
import { startServer, until } from "../support/harness.ts";
import { BareSession, wait } from "../support/session-client.ts";
import { wrapped } from "../support/wrapped-store.ts";

const CROWD = 500;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(options: StartOptions): Promise<TestServer> {
  const server = await startServer(options);
  cleanups.push(() => server.stop());
  return server;
}

/**
 * The tickets that the server sent for these calls, in call order; for a call that ended without one, the case of its
 * result.
 */
async function ticketsOf(session: BareSession, calls: readonly bigint[]): Promise<string[]> {
  const found = new Map<bigint, string>();
  let seen = 0;
  return await session.until((responses) => {
    for (; seen < responses.length; seen++) {
      for (const { call, result } of responses[seen]?.results ?? []) {
        const isPosition = result.case === "waitInQueue" && result.value.update.case === "position";
        const told = isPosition ? (result.value.update.value as { ticketId: string }).ticketId : result.case;
        if (!found.has(call)) found.set(call, told ?? "");
      }
    }
    return calls.every((call) => found.has(call))
      ? calls.map((call) => found.get(call) as string)
      : undefined;
  });
}

describe.each(testDatabases())("on $label", (database) => {
  test("a crowd cancelled while a heartbeat reports it alive costs the queue a grace period", async () => {
    const fresh = await database.fresh();
    cleanups.push(fresh.drop);
    const graceUs = 2_000_000;
    const heartbeat = Promise.withResolvers<void>();
    const beating = Promise.withResolvers<void>();
    let isCrowdThere = false;
    const wrapStore = (store: Store) =>
      wrapped(store, {
        async heartbeat(...args) {
          if (isCrowdThere) {
            beating.resolve();
            await heartbeat.promise;
          }
          return await store.heartbeat(...args);
        },
      });
    const server = await start({
      url: fresh.url,
      rules: { graceUs, attachedForUs: 2 * graceUs },
      wrapStore,
    });
    const { leaseId } = await server.client.lease({ name: "crowd" });
    const session = new BareSession(server.client);
    session.keepAlive(100);
    const calls = session.ask(
      ...Array.from({ length: CROWD }, (_, index) => wait({ name: "crowd", requestId: `c-${index}` })),
    );
    await ticketsOf(session, calls);
    isCrowdThere = true;
    await beating.promise;
    session.send({ commands: calls.map((call) => ({ command: { case: "cancel" as const, value: call } })) });
    await until(() => server.engine.waiterCount === 0);
    heartbeat.resolve();
    const behind = server.client.wait({ target: { case: "request", value: { name: "crowd" } } });
    await behind.position();
    const releasedMs = performance.now();
    await server.client.call("release", { leaseId });
    await behind.granted();
    // The crowd costs one grace period in all, not one for each waiter.
    expect(performance.now() - releasedMs).toBeLessThan((CROWD / 25) * (graceUs / 1_000));
    session.cancel();
  });
});
