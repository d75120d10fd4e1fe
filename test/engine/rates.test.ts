// Rates in an engine over an in-memory database: who is granted when nobody asks for anything, what followers hear of a spend,
// and what is shown.

import { afterEach, expect, test } from "vitest";
import { SPENDS } from "../../server/core/claim.ts";
import type { Rate } from "../../server/core/rate.ts";
import type { Engine } from "../../server/engine/engine.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { ask, claimOf, follower } from "../support/replicas.ts";
import { startEngine } from "../support/test-engine.ts";
import { wrapped } from "../support/wrapped-store.ts";

const QUICK: Rate = { permits: 20, perUs: 1_000_000, burst: 1 };
const SLOW: Rate = { permits: 1, perUs: 3_600_000_000, burst: 3 };
const NEVER_MS = 86_400_000;

const ours: { engine: Engine; store: Store }[] = [];
afterEach(async () => {
  for (const { engine, store } of ours.splice(0)) {
    await engine.stop();
    await store.close();
  }
});

/** An engine that never polls, and whose sweeps find nothing. */
async function start() {
  const store = await openStore("sqlite::memory:");
  const nothing = async () => ({ nowUs: 0, lockIds: [], next: null });
  const { engine, events } = await startEngine(
    wrapped(store, { dueLocks: nothing }),
    {},
    null,
    false,
    NEVER_MS,
  );
  ours.push({ engine, store });
  const spend = async (name: string, who: ReturnType<typeof follower> | null = null, permits = 1) =>
    engine.acquire(ask(name, { ttlUs: SPENDS, permits }), who);
  const setRate = (name: string, rate: Rate | null) =>
    engine.ask({ verb: "set_limit", name, rate, expectedVersion: undefined, reason: "" });
  return { engine, events, spend, setRate };
}

test("waiters are granted one by one when the rate allows it, although nobody asks, polls or sweeps", async () => {
  const { engine, spend, setRate } = await start();
  await setRate("a", QUICK);
  const first = claimOf(await spend("a"), "ended");
  const who = [follower(), follower(), follower()];
  for (const each of who) claimOf(await spend("a", each), "waiting");
  const lease = follower();
  claimOf(await engine.acquire(ask("a"), lease), "waiting");
  const told = await Promise.all([...who, lease].map(({ toldClaim }) => toldClaim));
  const grantedAtUs = told.map(({ claim }) => claim.grantedAtUs ?? 0);
  for (const [index, atUs] of grantedAtUs.entries())
    expect(atUs - (first.grantedAtUs ?? 0)).toBeGreaterThanOrEqual((index + 1) * 50_000);
  expect(told.at(-1)?.claim.state).toBe("held");
});

test("the followers of a spend hear that it was spent, and not that it holds", async () => {
  const { events, spend, setRate } = await start();
  await setRate("a", QUICK);
  claimOf(await spend("a"), "ended");
  const waiter = follower();
  const ticket = claimOf(await spend("a", waiter), "waiting");
  const { claim } = await waiter.toldClaim;
  expect(claim).toMatchObject({ ticketNumber: ticket.ticketNumber, state: "ended", endReason: "spent" });
  const ofTicket = events.filter(
    (event) => "claim" in event && event.claim.ticketNumber === ticket.ticketNumber,
  );
  expect(ofTicket.map(({ kind }) => kind)).toEqual(["enqueued", "granted", "ended"]);
});

test("a rate by pattern is beside the limit of the pattern, grants who waits for it when it is removed, and counts for each name", async () => {
  const { engine, spend } = await start();
  await engine.setLimitRule("llm/", { limit: 5 }, undefined, "");
  const set = await engine.setLimitRule("llm/", { rate: SLOW }, undefined, "Because.");
  expect(set).toMatchObject({ kind: "limit_rule", limit: 5, rate: SLOW, version: 2n });
  for (const name of ["llm/a", "llm/b"]) claimOf(await spend(name, null, 3), "ended");
  const waiter = follower();
  claimOf(await spend("llm/a", waiter), "waiting");
  expect((await engine.view("llm/a")).rate).toMatchObject({
    ...SLOW,
    pattern: "llm/*",
    version: 2n,
    available: 0,
  });
  expect((await engine.view("llm/c")).rate).toMatchObject({ pattern: "llm/*", available: 3 });
  const removed = await engine.setLimitRule("llm/", { rate: null }, undefined, "");
  expect(removed).toMatchObject({ kind: "limit_rule", limit: 5, rate: null, queueRules: null, version: 3n });
  expect((await waiter.toldClaim).claim.endReason).toBe("spent");
  expect((await engine.view("llm/a")).rate).toBeNull();
});

test("why a claim waits names the rate, and from when on it allows the grant of all ahead", async () => {
  const { engine, spend, setRate } = await start();
  await setRate("a", SLOW);
  await engine.ask(asks.setLimit("a", 3));
  const first = claimOf(await spend("a", null, 3), "ended");
  for (const permits of [2, 1]) claimOf(await spend("a", null, permits), "waiting");
  const explained = await engine.explain({ kind: "name", name: "a" });
  const cause = explained?.causes.find(({ kind }) => kind === "rate");
  expect(cause).toMatchObject({ rate: { ...SLOW, source: "name" } });
  const { untilUs } = cause as { untilUs: number };
  // By the earliest time that the clock may have shown at the first grant.
  expect(Math.abs(untilUs - (first.grantedAtUs ?? 0) - 4 * SLOW.perUs)).toBeLessThan(1_000_000);
});
