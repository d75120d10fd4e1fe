// Captures of a session that are cancelled, or repeated over the next session while the server still takes locks for
// the lost one: no lease is held for nobody, and none that its client was told of is given back.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { CAPTURES_AT_ONCE_MAX } from "../../../server/engine/engine-bounds.ts";
import { serverOfTest, type TestServer, until } from "../../support/harness.ts";
import { heldTransactions, isOfCapture } from "../../support/held-transactions.ts";
import { acquire, type BareSession, cancel, capture, sessionOfTest } from "../../support/session-client.ts";
import { captureOf, seconds } from "../../support/test-calls.ts";

const TERMS = { lockDelay: seconds(3_600), statusIfLost: "failed" };
const ASK = captureOf("t/", { maxLeases: 2, requestId: "r", terms: TERMS });
const ONE_ATTEMPT = { newAttemptsLeft: { case: "attemptsLeft", value: 1 } } as const;

async function start(isMeant: Parameters<typeof heldTransactions>[0]) {
  const { wrapStore, ...held } = heldTransactions(isMeant);
  const server = await serverOfTest({ wrapStore });
  onTestFinished(() => expect(server.loopFailures).toEqual([]));
  const { client } = server;
  return { ...held, server, client, put: (name: string) => client.put(name, ONE_ATTEMPT) };
}

async function busy({ client }: TestServer): Promise<string[]> {
  const { locks } = await client.call("listLocks", { prefix: "t/", busyOnly: true });
  return locks.map(({ name }) => name);
}

async function cancelled(session: BareSession, call: bigint): Promise<void> {
  session.send({ commands: [{ command: cancel(call) }] });
  expect((await session.last(call)).case).toBe("error");
}

/** Nobody has held the lock since its record was made, as far as its record shows. */
async function expectUntouched({ client }: TestServer, name: string): Promise<void> {
  const { holders, record } = await client.shown(name);
  expect([holders.length, record?.lastRun, record?.notBefore]).toEqual([0, undefined, undefined]);
  expect(record).toMatchObject({ status: "new", attemptsLeft: 1 });
}

describe("a capture that is cancelled", () => {
  test.each([
    ["that waits", seconds(3_600)],
    ["that takes what is free", undefined],
  ])("%s as it takes a lock gives it back with its attempt", async (_, maxWait) => {
    const { server, client, put, held, letGo } = await start(isOfCapture);
    const session = sessionOfTest(client);
    if (!maxWait) await put("t/1");
    const call = session.askOne(capture({ ...ASK, ...(maxWait && { maxWait }) }));
    if (maxWait) await until(() => server.engine.waitingCaptures === 1);
    if (maxWait) await put("t/1");
    await until(() => held.length === 1);
    await cancelled(session, call);
    letGo();
    const attempts = async () => (await client.shown("t/1")).record?.attemptsLeft;
    await until(async () => (await attempts()) === 1 && server.engine.waitingCaptures === 0);
    await expectUntouched(server, "t/1");
    expect(await client.capture("t/")).toHaveLength(1);
  });

  test("before it has begun never begins, and delays no others", async () => {
    const { server, client, held, letGo, begun } = await start(isOfCapture);
    const names = Array.from({ length: 200 }, (_, index) => `t/${1_000 + index}`);
    await Promise.all(names.map((name) => client.put(name)));
    const session = sessionOfTest(client);
    const calls = session.ask(
      ...names.map((_, index) => capture(captureOf("t/", { requestId: `${index}` }))),
    );
    await until(() => held.length > 0);
    session.send({ commands: calls.map((call) => ({ command: cancel(call) })) });
    await Promise.all(calls.map((call) => session.last(call)));
    const polite = client.capture("t/");
    letGo();
    expect(await polite).toHaveLength(1);
    expect(begun()).toBeLessThanOrEqual(CAPTURES_AT_ONCE_MAX);
    await until(async () => (await busy(server)).length === 1);
  });

  test("as a repeat leaves the leases that the first call was answered with at the end of its max_wait", async () => {
    const { server, client, held, letGo } = await start(isOfCapture);
    const session = sessionOfTest(client);
    const ask = captureOf("t/", { requestId: "r" });
    const first = session.askOne(capture({ ...ask, maxWait: seconds(1) }));
    await until(() => server.engine.waitingCaptures === 1);
    await client.put("t/1");
    // The first call takes the lock, and its max_wait passes meanwhile.
    await until(() => held.length === 1);
    const second = session.askOne(capture(ask));
    await sleep(200);
    await cancelled(session, second);
    await sleep(1_000);
    letGo();
    const answer = await session.last(first);
    const leases = answer.case === "capture" ? answer.value.leases : [];
    expect(leases).toHaveLength(1);
    await sleep(500);
    const { holders } = await client.shown("t/1");
    expect(holders.map(({ fencingToken }) => fencingToken)).toEqual([leases[0]?.fencingToken]);
  });

  test("as a repeat gives back nothing that another attempt has told its client", async () => {
    let holds = false;
    const { client, put, held, letGo } = await start(({ claims }) => holds && claims.length > 0);
    await put("t/1");
    const [told] = await client.capture("t/", ASK);
    // A request that was held up on its way, and then the cancel.
    holds = true;
    const session = sessionOfTest(client);
    const call = session.askOne(capture(ASK));
    await until(() => held.length > 0);
    await cancelled(session, call);
    letGo();
    const leases = await client.capture("t/", ASK);
    expect(leases.map(({ leaseId }) => leaseId)).toEqual([told?.leaseId]);
  });
});

describe("the repeat of a lost session's capture", () => {
  /** A lost session whose capture has taken t/1 and is blocked at t/2, and its repeat, which the server has heard. */
  async function repeated() {
    let holds = false;
    const { server, client, put, held, letGo } = await start(
      ({ requestIds }) => holds && requestIds.length === 0,
    );
    for (const name of ["t/1", "t/2", "t/3"]) await put(name);
    // Only one transaction at a time can have a lock.
    holds = true;
    const inTheWay = put("t/2");
    inTheWay.catch(() => {});
    await until(() => held.length > 0);
    holds = false;
    const lost = sessionOfTest(client);
    lost.ask(capture(ASK));
    await until(async () => (await busy(server)).includes("t/1"));
    lost.cancel();
    await lost.ended.catch(() => {});
    const session = sessionOfTest(client);
    const [call, other] = session.ask(capture(ASK), acquire({ name: "other" })) as [bigint, bigint];
    await session.last(other);
    const goOn = async () => {
      letGo();
      await inTheWay;
    };
    return { server, session, call, goOn };
  }

  test("has all that the attempt takes", async () => {
    const { server, session, call, goOn } = await repeated();
    await goOn();
    const { value } = (await session.last(call)) as { value: { leases: { lockName: string }[] } };
    expect(value.leases.map(({ lockName }) => lockName).toSorted()).toEqual(["t/1", "t/2"]);
    expect(await busy(server)).toEqual(["t/1", "t/2"]);
  });

  test("gives all of that back if it is cancelled", async () => {
    const { server, session, call, goOn } = await repeated();
    await cancelled(session, call);
    await goOn();
    await until(async () => (await busy(server)).length === 0);
    for (const name of ["t/1", "t/2"]) await expectUntouched(server, name);
  });
});
