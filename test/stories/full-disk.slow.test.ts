// The disk is full: reads work, writes fail. All background work of a server together then tries tens of times a
// minute, not thousands of times, however many locks are due. It continues soon after there is room again.

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { ask, claimOf, follower } from "../support/replicas.ts";
import { startEngine } from "../support/test-engine.ts";
import { until } from "../support/until.ts";
import { leavable } from "../support/wrapped-store.ts";

const WRITES: readonly (keyof Store)[] = [
  "transact",
  "resolve",
  "failOver",
  "heartbeat",
  "register",
  "mark",
  "purgeClaims",
  "purgeLocks",
];
const LOCKS = 300;
const TTL_US = 1_000_000;
const WATCHED_MS = 4_000;
/** For all kinds of background work together: each kind tries at first, and then about once in two seconds. */
const TRIES_MAX = 30;
/** One pause between tries, and then the work itself on a busy machine. */
const SOON_MS = 10_000;

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

async function onDisk() {
  const disk = { isFull: false, tries: 0 };
  const opened = await openStore("sqlite::memory:");
  undo.push(() => opened.close());
  const store = leavable(
    opened,
    () => {
      if (disk.isFull) disk.tries += 1;
      return disk.isFull;
    },
    WRITES,
  );
  const started = await startEngine(store, { graceUs: 2_000_000, attachedForUs: 2_500_000 });
  undo.push(() => started.engine.stop());
  return { disk, ...started };
}

test("all background work together tries tens of times a minute, and soon notices free space", async () => {
  const { disk, engine, events, policy } = await onDisk();
  const names = Array.from({ length: LOCKS }, (_, index) => `lock/${index}`);
  const leases = await Promise.all(
    names.map(async (name) => claimOf(await engine.acquire(ask(name, { ttlUs: null }), null), "held")),
  );
  const waiters = names.map(() => follower());
  const places = await Promise.all(
    names.map(async (name, index) =>
      claimOf(await engine.acquire(ask(name, { ttlUs: null }), waiters[index] ?? null), "waiting"),
    ),
  );
  // Renewed only now, because on a busy machine the steps above may take longer than a lease.
  await Promise.all(leases.map((lease) => engine.ask(asks.renew(lease, TTL_US))));
  disk.isFull = true;
  // Half of the waiters leave; the database cannot record that.
  places.forEach((place, index) => {
    if (index % 2 === 0) engine.detach(place, waiters[index] ?? null, false);
  });
  await sleep(TTL_US / 1_000);
  disk.tries = 0;
  await sleep(WATCHED_MS);
  expect(disk.tries).toBeGreaterThan(0);
  expect(disk.tries).toBeLessThan(TRIES_MAX);

  disk.isFull = false;
  const roomMs = performance.now();
  await Promise.all(waiters.filter((_, index) => index % 2 === 1).map(({ toldClaim }) => toldClaim));
  await until(() => events.filter(({ kind }) => kind === "ended").length >= leases.length + LOCKS / 2);
  expect(performance.now() - roomMs).toBeLessThan(SOON_MS + policy.graceUs / 1_000);
});
