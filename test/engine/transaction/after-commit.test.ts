// What follows a commit: who is told, whom other servers are told of, and which locks are looked at again.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { Followers } from "../../../server/engine/following/followers.ts";
import { HeldLeases } from "../../../server/engine/following/held-leases.ts";
import { AfterCommit, type AfterCommitOptions } from "../../../server/engine/transaction/after-commit.ts";
import { Batch } from "../../../server/engine/transaction/batch.ts";
import { CLAIM } from "../../support/claims.ts";

const OWN = 1n;
const policy = { graceUs: 1, attachedForUs: 1, retentionUs: 1, queueMax: 1 };
const held = (ticketNumber: bigint, replica: bigint | null): Claim => ({
  ...CLAIM,
  lockId: 5n,
  ticketNumber,
  replica,
  state: "held",
});

function scene() {
  const followers = new Followers();
  const leases = new HeldLeases();
  const owed: bigint[] = [];
  const announced: unknown[] = [];
  const changed: bigint[] = [];
  const seen: unknown[] = [];
  const committed: string[] = [];
  const options = {
    observer: (event: { kind: string }) => void seen.push(event.kind),
    wakeup: { announce: (granted: unknown) => void announced.push(granted) },
    replica: OWN,
    followers,
    leases,
    places: { changed: (lockId: bigint) => void changed.push(lockId) },
    advances: { owe: async (lockId: bigint) => void owed.push(lockId) },
    watches: { committed: () => void committed.push("watches") },
    captureWaits: { committed: () => void committed.push("captures") },
  } as unknown as AfterCommitOptions;
  const batch = new Batch(new Map(), policy, []);
  return {
    after: new AfterCommit(options),
    ...{ batch, followers, leases, owed, announced, changed, seen, committed },
  };
}

test("locks at which a large grant has left waiters over are looked at again", () => {
  const { after, batch, owed } = scene();
  batch.leftOver = [5n, 6n];
  after.wake(batch);
  expect(owed).toEqual([5n, 6n]);
});

test("who waits here is told, and other servers are told of their own waiters alone", () => {
  const { after, batch, followers, announced } = scene();
  const told: bigint[] = [];
  const follow = (ticketNumber: bigint) =>
    followers.add(
      { ...held(ticketNumber, OWN), state: "waiting" },
      { told: (claim) => told.push(claim.ticketNumber) },
      1n,
    );
  for (const ticketNumber of [1n, 2n, 3n]) follow(ticketNumber);
  const granted = (claim: Claim, queued: boolean) => ({
    event: { kind: "granted" as const, claim, queued, waitedUs: 0 },
    lockName: "lock",
    nowUs: 0,
  });
  batch.events = [
    granted(held(1n, OWN), true),
    granted(held(2n, 2n), true),
    granted(held(4n, null), true),
    granted(held(5n, 2n), false),
  ] as Batch["events"];
  after.wake(batch);
  expect(told).toEqual([1n, 2n]);
  expect(followers.count).toBe(1);
  expect(announced).toEqual([[{ replica: 2n, lockId: 5n, ticketNumber: 2n }]]);
});

test("who holds a lease hears of its end, once, and nobody hears of the end of a wait", () => {
  const { after, batch, leases } = scene();
  const lost: bigint[] = [];
  for (const ticketNumber of [1n, 2n])
    leases.add(held(ticketNumber, null), (ended) => lost.push(ended.ticketNumber));
  const ended = (ticketNumber: bigint, was: "held" | "waiting") => ({
    event: { kind: "ended" as const, claim: { ...held(ticketNumber, null), state: "ended" }, was },
    lockName: "lock",
    nowUs: 0,
  });
  batch.events = [ended(1n, "held"), ended(1n, "held"), ended(2n, "waiting")] as unknown as Batch["events"];
  after.wake(batch);
  expect(lost).toEqual([1n]);
  expect(leases.count).toBe(1);
});

test("what this server alone has done needs no look of its own, and places and watches are told of it", () => {
  const { after, batch, followers, changed, committed, announced } = scene();
  followers.add({ ...held(1n, OWN), state: "waiting" }, { told() {} }, 8n);
  const lock = { id: 5n, name: "lock", revision: 9n } as Lock;
  batch.locks.set(5n, { lock, revisionBefore: 8n });
  after.wake(batch);
  expect(followers.isStale(5n, 9n)).toBe(false);
  expect(changed).toEqual([5n]);
  expect(committed).toEqual(["watches", "captures"]);
  expect(announced).toEqual([]);
});
