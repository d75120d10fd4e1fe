// Cancelled captures of a session: the server gives back the locks it was taking, together with the attempt, and
// never starts the captures that had not begun.

import { afterEach, expect, test } from "vitest";
import { CAPTURES_AT_ONCE_MAX } from "../../../server/engine/engine-bounds.ts";
import { startServer, type TestServer, until } from "../../support/harness.ts";
import { heldTransactions, isOfCapture } from "../../support/held-transactions.ts";
import { BareSession, cancel, capture } from "../../support/session-client.ts";

let server: TestServer;
afterEach(async () => {
  await server.stop();
  expect(server.loopFailures).toEqual([]);
});

async function record(name: string) {
  const { lock } = await server.client.call("getLock", { name });
  return { holders: lock?.holders.length, ...lock?.record };
}

test.each([
  ["that waits", { maxWait: { seconds: 3_600n, nanos: 0 } }],
  ["that takes what is free", {}],
])("a capture %s and is cancelled as it takes a lock gives it back with its attempt", async (_, wait) => {
  const { wrapStore, letGo, held } = heldTransactions(isOfCapture);
  server = await startServer({ wrapStore });
  const { client } = server;
  const put = () =>
    client.call("updateRecord", {
      name: "t/1",
      status: "new",
      newAttemptsLeft: { case: "attemptsLeft", value: 1 },
    });
  const session = new BareSession(client);
  const isWait = "maxWait" in wait;
  if (!isWait) await put();
  const terms = { lockDelay: { seconds: 3_600n, nanos: 0 }, statusIfLost: "failed" };
  const [call] = session.ask(
    capture({ from: { case: "prefix", value: "t/" }, maxLeases: 1, requestId: "r", terms, ...wait }),
  );
  if (isWait) await until(() => server.engine.waitingCaptures === 1);
  if (isWait) await put();
  await until(() => held.length === 1);
  session.send({ commands: [{ command: cancel(call as bigint) }] });
  expect((await session.last(call as bigint)).case).toBe("error");
  letGo();
  await until(async () => (await record("t/1")).attemptsLeft === 1 && server.engine.waitingCaptures === 0);
  const left = await record("t/1");
  expect(left).toMatchObject({ holders: 0, status: "new", attemptsLeft: 1 });
  expect([left.lastRun, left.notBefore]).toEqual([undefined, undefined]);
  expect(
    (await client.call("capture", { from: { case: "prefix", value: "t/" }, maxLeases: 1 })).leases,
  ).toHaveLength(1);
  session.cancel();
});

test("captures that are cancelled before they have begun never begin, and delay no others", async () => {
  const { wrapStore, letGo, held, begun } = heldTransactions(isOfCapture);
  server = await startServer({ wrapStore });
  const { client } = server;
  const names = Array.from({ length: 200 }, (_, index) => `t/${1_000 + index}`);
  await Promise.all(names.map((name) => client.call("updateRecord", { name, status: "new" })));
  const session = new BareSession(client);
  const calls = session.ask(
    ...names.map((_, index) =>
      capture({ from: { case: "prefix", value: "t/" }, maxLeases: 1, requestId: `${index}` }),
    ),
  );
  await until(() => held.length > 0);
  session.send({ commands: calls.map((call) => ({ command: cancel(call) })) });
  await Promise.all(calls.map((call) => session.last(call)));
  const polite = client.call("capture", { from: { case: "prefix", value: "t/" }, maxLeases: 1 });
  letGo();
  expect((await polite).leases).toHaveLength(1);
  expect(begun()).toBeLessThanOrEqual(CAPTURES_AT_ONCE_MAX);
  await until(
    async () => (await client.call("listLocks", { prefix: "t/", busyOnly: true })).locks.length === 1,
  );
  session.cancel();
});
