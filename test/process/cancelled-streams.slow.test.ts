// Clients of a whole server cancel their streams in each phase: before the first answer, while waiting, at the grant,
// after it. Waiters behind them wait at most the grace period, and the server stays sound. For a client that dies
// exactly at its grant see test/stories/died-at-the-grant.test.ts.

import { beforeAll, describe, expect, test } from "vitest";
import { testDatabases } from "../support/database.ts";
import { leaseIn, type TestCalls } from "../support/test-calls.ts";
import { metric, processStage, type ServingServer } from "./stage.ts";

const MANY = 20;
const HOUR = { seconds: 3_600n, nanos: 0 };
/** The server's grace period plus a poll, and much less than the hour that the leases ask for. */
const LATE_MS = 60_000;

const stage = processStage("after all");
const acquire = (name: string, requestId = "") => ({
  target: {
    case: "request" as const,
    value: { name, requestId, terms: { lasting: { case: "ttl" as const, value: HOUR } } },
  },
});
const comeBack = (ticketId: string) => ({ target: { case: "ticketId" as const, value: ticketId } });
const CANCELLED = { code: "CANCELLED" };

describe.each(testDatabases())("on $label, a stream that is cancelled", ({ fresh }) => {
  let url: string;
  let server: ServingServer;
  let client: TestCalls;

  beforeAll(async () => {
    url = await stage.database(fresh);
    server = await stage.serving(url, "--grace", "1s");
    ({ client } = server);
  });

  async function isWaitedFor(name: string, waiting: number): Promise<void> {
    for (;;) {
      const { lock } = await client.call("getLock", { name });
      if (lock?.waiterCount === waiting) return;
    }
  }

  /** The next caller is granted long before a lease that nobody received would expire. */
  async function isSoonFree(name: string): Promise<void> {
    const request = {
      name,
      whenBusy: { case: "wait" as const, value: { maxWait: { seconds: 60n, nanos: 0 } } },
    };
    const { leaseId } = leaseIn(await client.call("acquire", request, { timeout: LATE_MS }));
    await client.call("release", { leaseId });
  }

  test("before its first answer leaves nothing behind", async () => {
    const held = await client.lease({ name: "early", terms: { lasting: { case: "ttl", value: HOUR } } });
    const failures = Array.from({ length: MANY }, async (_, index) => {
      const stream = client.wait(acquire("early"));
      const failure = stream.failure();
      // Some cancel while the request is in transit, some while it is decided, some while the ticket is on its way
      // back. None cancels in the turn that starts the call: grpc-js does not report such a cancellation to the
      // server.
      for (let turns = 0; turns <= index; turns++) await new Promise(setImmediate);
      stream.cancel();
      return failure;
    });
    for (const failure of await Promise.all(failures)) expect(failure).toMatchObject(CANCELLED);
    await isWaitedFor("early", 0);
    await client.call("release", { leaseId: held.leaseId });
    await isSoonFree("early");
  });

  test("while it waits keeps its place for the grace period, and loses it afterwards", async () => {
    const held = await client.lease({ name: "waiting", terms: { lasting: { case: "ttl", value: HOUR } } });
    const [lost, back] = [client.wait(acquire("waiting")), client.wait(acquire("waiting"))];
    await lost.position();
    const { ticketId } = await back.position();
    for (const stream of [lost, back]) {
      const failure = stream.failure();
      stream.cancel();
      expect(await failure).toMatchObject(CANCELLED);
    }
    const again = client.wait(comeBack(ticketId));
    expect(await again.position()).toMatchObject({ ticketId });
    await isWaitedFor("waiting", 1);
    await client.call("release", { leaseId: held.leaseId });
    expect(await again.granted()).toMatchObject({ leaseId: ticketId });
    await client.call("release", { leaseId: ticketId });
    await isSoonFree("waiting");
  });

  test("at its grant leaves its lease to its client, who can fetch it by the request id", async () => {
    const rounds = Array.from({ length: MANY / 4 }, (_, round) => round);
    for (const round of rounds) {
      const name = `grant/${round}`;
      const held = await client.lease({ name, terms: { lasting: { case: "ttl", value: HOUR } } });
      const stream = client.wait(acquire(name, `${name}/id`));
      await stream.position();
      const failure = stream.failure().catch(() => {});
      const released = client.call("release", { leaseId: held.leaseId });
      for (let turns = 0; turns < round * 2; turns++) await new Promise(setImmediate);
      stream.cancel();
      await Promise.all([released, failure]);
      // True whether or not the grant was already in transit.
      const lease = await client.wait(acquire(name, `${name}/id`)).granted();
      expect(lease).toMatchObject({ fencingToken: held.fencingToken + 1n });
      expect(Number(lease.ttl?.seconds)).toBeGreaterThan(3_500);
      await client.call("release", { leaseId: lease.leaseId });
    }
    await Promise.all(rounds.map((round) => isSoonFree(`grant/${round}`)));
  });

  test("after it has reported its grant changes nothing: the lease is its client's", async () => {
    const stream = client.wait(acquire("granted"));
    const update = await stream.next();
    stream.cancel();
    if (update?.case !== "granted") throw new Error(`expected the grant, got ${update?.case}`);
    const { lease } = await client.call("renew", { leaseId: update.value.leaseId });
    expect(lease).toMatchObject({ fencingToken: update.value.fencingToken, ttl: HOUR });
    expect(await client.call("release", { leaseId: update.value.leaseId })).toMatchObject({ released: true });
  });

  test("leaves a server with no stream open, without an error in its log, and with sound rows", async () => {
    while ((await metric(server, "rowlock_grpc_open_streams")) !== 0);
    expect(server.process.err).not.toContain('"level":"error"');
    server.process.kill("SIGTERM");
    await server.process.exited;
    const doctor = await stage.rowlock(["doctor"], { ROWLOCK_DATABASE_URL: url }).exited;
    expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining("no errors, no warnings") });
  });
});
