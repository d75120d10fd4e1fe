// Captures that a client repeats over its next session while the server is still taking locks for the lost one: the
// repeat decides about all locks taken, so that no lease is held for nobody.

import { afterEach, expect, test } from "vitest";
import { startServer, type TestServer, until } from "../../support/harness.ts";
import { heldTransactions } from "../../support/held-transactions.ts";
import { acquire, BareSession, cancel, capture } from "../../support/session-client.ts";

const TERMS = { lockDelay: { seconds: 3_600n, nanos: 0 }, statusIfLost: "failed" };
const ASK = capture({ from: { case: "prefix", value: "t/" }, maxLeases: 2, requestId: "r", terms: TERMS });

let server: TestServer;
afterEach(async () => {
  await server.stop();
  expect(server.loopFailures).toEqual([]);
});

async function busy(): Promise<string[]> {
  const { locks } = await server.client.call("listLocks", { prefix: "t/", busyOnly: true });
  return locks.map(({ name }) => name);
}

/** A lost session whose capture has taken t/1 and is blocked at t/2. `letGo` unblocks it. */
async function lostAtTheSecondLock() {
  let holds = false;
  const { wrapStore, letGo, held } = heldTransactions(({ requestIds }) => holds && requestIds.length === 0);
  server = await startServer({ wrapStore });
  const { client } = server;
  const put = (name: string) =>
    client.call("updateRecord", { name, status: "new", newAttemptsLeft: { case: "attemptsLeft", value: 1 } });
  for (const name of ["t/1", "t/2", "t/3"]) await put(name);
  // Only one transaction at a time can have a lock.
  holds = true;
  const inTheWay = put("t/2");
  inTheWay.catch(() => {});
  await until(() => held.length > 0);
  holds = false;
  const session = new BareSession(client);
  session.ask(ASK);
  await until(async () => (await busy()).includes("t/1"));
  session.cancel();
  await session.ended.catch(() => {});
  return {
    client,
    letGo: async () => {
      letGo();
      await inTheWay;
    },
  };
}

/** Opens a session that repeats the capture, and returns when the server has heard it. */
async function repeated(client: TestServer["client"]) {
  const session = new BareSession(client);
  const [call, other] = session.ask(ASK, acquire({ name: "other" }));
  await session.last(other as bigint);
  return { session, call: call as bigint };
}

test("a repeat has all that the attempt of a lost session takes", async () => {
  const { client, letGo } = await lostAtTheSecondLock();
  const { session, call } = await repeated(client);
  await letGo();
  const { value } = (await session.last(call)) as { value: { leases: { lockName: string }[] } };
  expect(value.leases.map(({ lockName }) => lockName).toSorted()).toEqual(["t/1", "t/2"]);
  expect(await busy()).toEqual(["t/1", "t/2"]);
  session.cancel();
});

test("a cancelled repeat gives back all that the attempt of a lost session takes", async () => {
  const { client, letGo } = await lostAtTheSecondLock();
  const { session, call } = await repeated(client);
  session.send({ commands: [{ command: cancel(call) }] });
  expect((await session.last(call)).case).toBe("error");
  await letGo();
  await until(async () => (await busy()).length === 0);
  for (const name of ["t/1", "t/2"]) {
    const { lock } = await client.call("getLock", { name });
    expect(lock?.record).toMatchObject({ status: "new", attemptsLeft: 1 });
    expect([lock?.record?.lastRun, lock?.record?.notBefore]).toEqual([undefined, undefined]);
  }
  session.cancel();
});

test("a repeat that is cancelled gives back nothing that another attempt has told its client", async () => {
  let holds = false;
  const { wrapStore, letGo, held } = heldTransactions(({ claims }) => holds && claims.length > 0);
  server = await startServer({ wrapStore });
  const { client } = server;
  await client.call("updateRecord", {
    name: "t/1",
    status: "new",
    newAttemptsLeft: { case: "attemptsLeft", value: 1 },
  });
  const request = {
    from: { case: "prefix" as const, value: "t/" },
    maxLeases: 2,
    requestId: "r",
    terms: TERMS,
  };
  const [told] = (await client.call("capture", request)).leases;
  // A request that was held up on its way, and then the cancel.
  holds = true;
  const session = new BareSession(client);
  const [call] = session.ask(ASK);
  await until(() => held.length > 0);
  session.send({ commands: [{ command: cancel(call as bigint) }] });
  expect((await session.last(call as bigint)).case).toBe("error");
  letGo();
  const { leases } = await client.call("capture", request);
  expect(leases.map(({ leaseId }) => leaseId)).toEqual([told?.leaseId]);
  session.cancel();
});
