// A Capture and its cancelled repeat at one server.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startServer, until } from "../../support/harness.ts";
import { heldTransactions, isOfCapture } from "../../support/held-transactions.ts";
import { BareSession, cancel, capture } from "../../support/session-client.ts";

test("a cancelled repeat leaves the leases that the first call was answered with at the end of its max_wait", async () => {
  const { wrapStore, letGo, held } = heldTransactions(isOfCapture);
  const server = await startServer({ wrapStore });
  const { client } = server;
  const session = new BareSession(client);
  const ask = { from: { case: "prefix" as const, value: "t/" }, maxLeases: 1, requestId: "r" };
  const [first] = session.ask(capture({ ...ask, maxWait: { seconds: 1n, nanos: 0 } }));
  await until(() => server.engine.waitingCaptures === 1);
  await client.call("updateRecord", { name: "t/1", status: "new" });
  // The first call takes the lock, and its max_wait passes meanwhile.
  await until(() => held.length === 1);
  const [second] = session.ask(capture(ask));
  await sleep(200);
  session.send({ commands: [{ command: cancel(second as bigint) }] });
  expect((await session.last(second as bigint)).case).toBe("error");
  await sleep(1_000);
  letGo();
  const answer = await session.last(first as bigint);
  const leases = answer.case === "capture" ? answer.value.leases : [];
  expect(leases).toHaveLength(1);
  await sleep(500);
  const { lock } = await client.call("getLock", { name: "t/1" });
  session.cancel();
  await server.stop();
  expect(lock?.holders.map(({ fencingToken }) => fencingToken)).toEqual([leases[0]?.fencingToken]);
});
