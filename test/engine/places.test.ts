// Places are read for those who are told them, and for nobody else.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import { Places } from "../../server/engine/places.ts";
import { Waiters } from "../../server/engine/waiters.ts";

const claim = { lockId: 7n, ticketNumber: 1n } as Claim;

test("a queue is not read for a waiter that has left before it was told", async () => {
  const waiters = new Waiters();
  let reads = 0;
  const queue = async () => {
    reads += 1;
    return { nowUs: 0, places: [{ ticketNumber: 1n, permits: 1 }] };
  };
  const places = new Places({ store: { queue }, waiters, onFailure() {} });
  const waiter = { settled() {}, placed() {} };
  waiters.add(claim, waiter, 1n);
  places.changed(claim.lockId);
  waiters.remove(claim, waiter);
  await sleep(20);
  expect(reads).toBe(0);
});
