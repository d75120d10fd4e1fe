// A lease without an end that nobody has fetched since its grant: an operator can see it, because no time ends it.

import { afterAll, beforeAll, expect, test } from "vitest";
import { lockPage } from "../../clients/shell/lock-views.ts";
import { lockView } from "../../clients/typescript/src/views.ts";
import type { TestServer } from "../support/harness.ts";
import { startServer, until } from "../support/harness.ts";
import { acquire, sessionOfTest } from "../support/session-client.ts";

const ENDLESS = { lasting: { case: "noExpiry", value: {} } } as const;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const unclaimed = async (name: string) => (await server.client.shown(name)).holders[0]?.provisional;

test("it is unclaimed until it is renewed, or requested again under its request id", async () => {
  const { leaseId, provisional } = await server.client.lease({ name: "renewed", terms: ENDLESS });
  expect(provisional).toBe(false);
  expect(await unclaimed("renewed")).toBe(true);
  await server.client.call("renew", { leaseId });
  expect(await unclaimed("renewed")).toBe(false);
  const again = { name: "again", requestId: "again", terms: ENDLESS };
  await server.client.lease(again);
  expect(await unclaimed("again")).toBe(true);
  await server.client.lease(again);
  expect(await unclaimed("again")).toBe(false);
});

test("a lease with an end is none of these", async () => {
  await server.client.lease({ name: "ends" });
  expect(await unclaimed("ends")).toBe(false);
});

test("in a session it is claimed when the client has acknowledged the grant, and no message follows", async () => {
  const session = sessionOfTest(server.client);
  session.ask(acquire({ name: "heard", terms: ENDLESS }));
  await session.until((all) => all.some(({ results }) => results.length > 0) || undefined);
  expect(await unclaimed("heard")).toBe(true);
  session.send({ received: BigInt(session.responses.length) });
  await until(async () => (await unclaimed("heard")) === false);
  expect(session.responses.flatMap(({ confirmed }) => confirmed)).toEqual([]);
});

test("one that an operator ends counts as lost, because its holder may have relied on it", async () => {
  await server.client.lease({ name: "forced", terms: { ...ENDLESS, statusIfLost: "failed" } });
  await server.client.force("forced", "nobody has come for it");
  expect((await server.client.shown("forced")).record?.status).toBe("failed");
});

test("rowlock show marks it as unclaimed after some seconds", async () => {
  await server.client.lease({ name: "shown", terms: { ...ENDLESS, owner: "anna" } });
  const lock = await server.client.shown("shown");
  const pageAt = (nowMs: number) => lockPage(lockView(lock), nowMs, (_, text) => text);
  expect(pageAt(Date.now() + 60_000)).toMatch(/no end +token 1 +anna \(granted, but not fetched yet\)/);
  expect(pageAt(Number(lock.holders[0]?.grantedAt?.seconds) * 1_000)).not.toContain("not fetched");
});
