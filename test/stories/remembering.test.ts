// The server keeps claims for a time that has really passed, even if a clock was set: here the system clock, which an
// SQLite file uses.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openSqliteStore } from "../../server/storage/sqlite/sqlite-store.ts";
import * as asks from "../support/asks.ts";
import { freshSqlite } from "../support/database.ts";
import { ask, claimOf, type Replica, startReplica } from "../support/replicas.ts";

const HOUR_MS = 3_600_000;
const START_MS = 1_700_000_000_000;
const RETENTION_MS = 60_000;

let aheadMs = 0;
let replica: Replica;
const cleanups: (() => unknown)[] = [];

beforeEach(async () => {
  aheadMs = 0;
  const { url, drop } = await freshSqlite();
  cleanups.push(drop);
  await migrateUp(url);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  cleanups.push(() => vi.useRealTimers());
  const clock = () => Math.floor((START_MS + performance.now() + aheadMs) * 1_000);
  const store = await openSqliteStore({ path: url.replace("sqlite:", ""), clock });
  cleanups.push(() => store.close());
  replica = await startReplica(store, { keptForUs: () => RETENTION_MS * 1_000 }, null);
  cleanups.push(() => replica.engine.stop());
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("a request id is remembered for the promised time after its claim has ended, and no longer", async () => {
  const once = ask("once", { requestId: "asked once" });
  const lease = claimOf(await replica.engine.acquire(once, null), "held");
  await replica.engine.ask(asks.release(lease));
  await vi.advanceTimersByTimeAsync(RETENTION_MS - 1_000);
  expect(claimOf(await replica.engine.acquire(once, null), "ended").ticketNumber).toBe(lease.ticketNumber);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(claimOf(await replica.engine.acquire(once, null), "held").ticketNumber).not.toBe(lease.ticketNumber);
});

test.each([HOUR_MS, -HOUR_MS])("a clock that is set by %i ms does not shorten that time", async (stepMs) => {
  const once = ask("once", { requestId: "asked once" });
  const lease = claimOf(await replica.engine.acquire(once, null), "held");
  await replica.engine.ask(asks.release(lease));
  await vi.advanceTimersByTimeAsync(10_000);
  aheadMs += stepMs;
  await vi.advanceTimersByTimeAsync(RETENTION_MS - 11_000);
  expect(claimOf(await replica.engine.acquire(once, null), "ended").ticketNumber).toBe(lease.ticketNumber);
});
