// Sessions when two things happen at once: a crowd is cancelled during a heartbeat that reports it alive, servers
// restart in turn under 500 waiters and 100 leases, a server is killed, many waits run beside renewals.

import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import type { RenewedLease } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Store } from "../../server/storage/store.ts";
import { freshDatabase, mysqlFamily, testDatabases } from "../support/database.ts";
import type { StartOptions, TestServer } from "../support/harness.ts";
import { startServer, until } from "../support/harness.ts";
import { openPlainConnection } from "../support/mysql-stage.ts";
import { acquire, BareSession, type Command, comeBack, release, wait } from "../support/session-client.ts";
import type { TestCalls } from "../support/test-calls.ts";

const CROWD = 500;
const LEASES = 100;

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

async function leasesOf(session: BareSession, names: readonly string[]): Promise<string[]> {
  const calls = session.ask(...names.map((name) => acquire({ name })));
  const results = await Promise.all(calls.map((call) => session.last(call)));
  return results.map((result) => {
    if (result.case !== "acquire" || result.value.outcome.case !== "lease") throw new Error("no lease");
    return result.value.outcome.value.leaseId;
  });
}

type Renewed = RenewedLease["outcome"];

const allAre = (kind: Renewed["case"], outcomes: readonly Renewed[]) =>
  outcomes.every((outcome) => outcome.case === kind);

/** Renews the leases, on a slow machine several times, until the outcomes are as expected. */
async function renewed(
  session: BareSession,
  leases: readonly { readonly leaseId: string }[],
  isExpected: (outcomes: readonly Renewed[]) => boolean,
): Promise<readonly Renewed[]> {
  for (;;) {
    const [call] = session.ask({ case: "renewLeases", value: { leases } } as Command) as [bigint];
    const outcomes = await outcomesOf(session, call);
    if (isExpected(outcomes)) return outcomes;
    for (const outcome of outcomes)
      if (outcome.case === "error") expect(outcome.value.code).toBe(status.UNAVAILABLE);
  }
}

async function outcomesOf(session: BareSession, call: bigint): Promise<Renewed[]> {
  const result = await session.last(call);
  if (result.case !== "renewLeases") throw new Error(`answered by ${result.case}`);
  return result.value.leases.map(({ outcome }) => outcome);
}

/** Opens a session that takes over the leases and places of a lost one, in few messages. */
async function takeUp(client: TestCalls, leaseIds: readonly string[], tickets: readonly string[]) {
  const session = new BareSession(client);
  const leases = leaseIds.map((leaseId) => ({ leaseId }));
  const [renewing, ...waiting] = session.ask(
    { case: "renewLeases", value: { leases } } as Command,
    ...tickets.map(comeBack),
  ) as [bigint, ...bigint[]];
  session.keepAlive(500);
  const first = await outcomesOf(session, renewing);
  const kept = allAre("lease", first)
    ? first
    : await renewed(session, leases, (outcomes) => allAre("lease", outcomes));
  return { session, renewed: kept, tickets: await ticketsOf(session, waiting) };
}

describe.each(mysqlFamily())("on $flavour $version", (found) => {
  test("a lease whose lock row is locked does not delay the other renewals in its request", async () => {
    const database = await freshDatabase(found);
    cleanups.push(database.drop);
    const server = await start({ url: database.url });
    const session = new BareSession(server.client);
    session.keepAlive(500);
    const names = Array.from({ length: LEASES }, (_, index) => `renewed/${index}`);
    const leases = (await leasesOf(session, names)).map((leaseId) => ({ leaseId }));
    const stranger = await openPlainConnection(database.url);
    cleanups.push(async () => stranger.close());
    await stranger.run("BEGIN");
    await stranger.run("SELECT 1 FROM rowlock_lock WHERE name = ? FOR UPDATE", [Buffer.from("renewed/0")]);
    const [first, ...others] = await renewed(session, leases, (outcomes) =>
      allAre("lease", outcomes.slice(1)),
    );
    // The engine still waits for this lock's row; a caller that waits until the engine gives up gets another answer.
    expect(first).toMatchObject({
      case: "error",
      value: { message: expect.stringContaining("not renewed yet") },
    });
    expect(others).toHaveLength(LEASES - 1);
    await stranger.run("ROLLBACK");
    expect(await renewed(session, leases, (outcomes) => allAre("lease", outcomes))).toHaveLength(LEASES);
  });
});

describe.each(testDatabases())("on $label", (database) => {
  test("a crowd cancelled while a heartbeat reports it alive costs the queue a grace period", async () => {
    const fresh = await database.fresh();
    cleanups.push(fresh.drop);
    const graceUs = 2_000_000;
    const heartbeat = Promise.withResolvers<void>();
    const beating = Promise.withResolvers<void>();
    let isCrowdThere = false;
    const wrapStore = (store: Store) =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (name === "heartbeat")
            return async (...args: Parameters<Store["heartbeat"]>) => {
              if (isCrowdThere) {
                beating.resolve();
                await heartbeat.promise;
              }
              return await target.heartbeat(...args);
            };
          return typeof value === "function" ? value.bind(target) : value;
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

describe.each(mysqlFamily().map((found) => ({ found, label: `${found.flavour} ${found.version}` })))(
  "two servers on $label",
  ({ found }) => {
    test("that restart in turn lose no place and no lease of a client that moves along", async () => {
      const { url, drop } = await freshDatabase(found);
      cleanups.push(drop);
      let [near, far] = [await start({ url }), await start({ url })];
      let session = new BareSession(near.client);
      session.keepAlive(500);
      const names = Array.from({ length: LEASES }, (_, index) => `lease-${index}`);
      const leases = await leasesOf(session, ["hot", ...names]);
      const calls = session.ask(
        ...Array.from({ length: CROWD }, (_, index) => wait({ name: "hot", requestId: `w-${index}` })),
      );
      const tickets = await ticketsOf(session, calls);
      for (let turn = 0; turn < 2; turn++) {
        const stopping = near.stop();
        await session.until((all) => (all.some(({ goingAway }) => goingAway) ? true : undefined));
        await session.ended.catch(() => {});
        const next = await takeUp(far.client, leases, tickets);
        session = next.session;
        expect(next.tickets).toEqual(tickets);
        expect(next.renewed).toHaveLength(leases.length);
        await stopping;
        [near, far] = [far, await start({ url })];
      }
      const granted = session.until((all) => {
        for (const { results } of all)
          for (const { result } of results)
            if (result.case === "waitInQueue" && result.value.update.case === "granted")
              return result.value.update.value.leaseId;
        return undefined;
      });
      session.send({ commands: [{ call: 9_999n, command: release(leases[0] as string) }] });
      expect(await granted).toBe(tickets[0]);
      session.cancel();
      await until(() => near.engine.waiterCount === 0);
    });
  },
);
