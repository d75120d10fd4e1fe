// What follows a commit: which followers are told, what other servers are told, and which locks are looked at again.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Command } from "../../../server/core/command.ts";
import { Subscribers, type SubscribersOptions } from "../../../server/engine/subscribers/subscribers.ts";
import { Ask, Attempt } from "../../../server/engine/transaction/transaction.ts";
import { ACQUIRE, CLAIM } from "../../support/claims.ts";
import { ScriptedTransactions } from "../../support/scripted-transactions.ts";

const OWN = 1n;
const policy = { graceUs: 1, attachedForUs: 1, keptForUs: () => 1, queueMax: 1 };
const held = (ticketNumber: bigint, replica: bigint | null): Claim => ({
  ...{ ...CLAIM, lockId: 5n, ticketNumber, replica, state: "held" },
});
const FORCE: Command = { verb: "force_release", name: "lock 5", ticketNumber: 1n, reason: "" };

function scene(observer?: SubscribersOptions["observer"]) {
  const owed: bigint[] = [];
  const poked: unknown[] = [];
  const seen: unknown[] = [];
  const answers: unknown[] = [];
  const subscribers = new Subscribers({
    store: {},
    reads: { inTurn: {} },
    views: {},
    pollIntervalMs: 86_400_000,
    observer: observer ?? ((event: { kind: string }) => void seen.push(event.kind)),
    poke: (granted: unknown) => void poked.push(granted),
    replica: OWN,
    advances: { owe: async (lockId: bigint) => void owed.push(lockId) },
    onFailure() {},
  } as unknown as SubscribersOptions);
  const { followers, leases } = subscribers;
  const batch = new Attempt(new Map(), policy, []);
  return { subscribers, batch, followers, leases, owed, poked, seen, answers };
}

test("locks at which a large grant has left waiters are looked at again", () => {
  const { subscribers, batch, owed } = scene();
  batch.leftOver = [5n, 6n];
  subscribers.wake(batch);
  expect(owed).toEqual([5n, 6n]);
});

/** Commits one transaction with these commands, and does what follows it. */
async function answered(
  stage: ReturnType<typeof scene>,
  asked: Record<
    string,
    readonly (Pick<Ask, "command" | "follower"> & { readonly settle?: (answer: unknown) => void })[]
  >,
  store = new ScriptedTransactions(5n, 6n),
) {
  const asks = new Map(
    Object.entries(asked).map(([id, list]) => [
      BigInt(id),
      list.map(({ command, follower, settle = (answer) => void stage.answers.push(answer) }) => {
        const ask = new Ask(command, follower, { settle, fail() {} });
        return Object.assign(ask, { lockId: BigInt(id), submittedMs: performance.now() });
      }),
    ]),
  );
  const roomy = { ...policy, queueMax: 10, graceUs: 1_000_000, attachedForUs: 1_000_000 };
  const batch = new Attempt(asks, roomy, []);
  const transacting = store.transact(
    batch.plan(() => false, true),
    (loaded) => batch.decide(loaded),
  );
  await store.at(store.begun.length - 1).commit();
  await transacting;
  stage.subscribers.answer(asks, batch);
  return batch;
}
const acquire = (requestId: string, overrides: object = {}): Command => ({
  ...ACQUIRE,
  ...{ name: "lock 5", requestId, secret: requestId, mayWait: true, replica: OWN, ...overrides },
});

test("a caller hears which lease it holds before it hears how the lease ended in the same transaction", async () => {
  const stage = scene();
  const heard: string[] = [];
  const caller = {
    getPeer: () => "a test",
    holds: (lease: Claim) => {
      heard.push("holds");
      stage.leases.add(lease, () => heard.push("lost"));
    },
  };
  await answered(stage, {
    5: [
      { command: acquire("one", { caller }), follower: null },
      { command: FORCE, follower: null },
      { command: { verb: "advance" }, follower: null },
    ],
  });
  expect(heard).toEqual(["holds", "lost"]);
});

test("a caller hears of its own leases alone, and one that does not listen is answered all the same", async () => {
  const stage = scene();
  const heard: bigint[] = [];
  const caller = {
    getPeer: () => "a test",
    holds: ({ ticketNumber }: Claim) => void heard.push(ticketNumber),
  };
  const deaf = { getPeer: () => "a test" };
  const one: Claim = { ...held(1n, OWN), secret: "one" };
  await answered(stage, {
    5: [
      { command: acquire("one", { caller }), follower: null },
      { command: acquire("two", { caller }), follower: null },
      { command: acquire("one", { caller: deaf }), follower: null },
      { command: acquire("one", { caller: undefined }), follower: null },
      { command: { verb: "renew", ref: one, ttlUs: undefined }, follower: null },
    ],
  });
  expect(heard).toEqual([1n]);
  expect(stage.seen.filter((kind) => kind === "answered")).toHaveLength(5);
});

test("a waiter with a follower is followed and notified, even of a grant in the same transaction", async () => {
  const stage = scene();
  const told: bigint[] = [];
  const follower = { settled: (claim: Claim) => void told.push(claim.ticketNumber) };
  await answered(stage, {
    5: [
      { command: acquire("one"), follower },
      { command: acquire("two"), follower },
      { command: acquire("three"), follower },
      { command: acquire("four", { replica: null }), follower: null },
      { command: FORCE, follower: null },
    ],
  });
  expect(told).toEqual([2n]);
  expect(stage.followers.count).toBe(1);
  expect([...stage.followers.claims()].map(({ ticketNumber }) => ticketNumber)).toEqual([3n]);
});

test("every answer is observed with the name of its lock, and unanswered commands are not", async () => {
  const seen: { kind: string; lockName?: string; commands?: number; locks?: number; seconds?: number }[] = [];
  const stage = scene((event) => void seen.push(event));
  const store = new ScriptedTransactions(5n);
  await answered(
    stage,
    {
      5: [
        { command: acquire("one"), follower: null },
        { command: acquire("two", { name: "another" }), follower: null },
      ],
      // This lock no longer exists.
      6: [{ command: { verb: "advance" }, follower: null }],
    },
    store,
  );
  const observed = seen.filter(({ kind }) => kind === "answered");
  expect(observed).toMatchObject([
    { lockName: "lock 5", outcome: { kind: "held" }, command: { requestId: "one" } },
  ]);
  expect(observed[0]?.seconds).toBeGreaterThanOrEqual(0);
  expect(observed[0]?.seconds).toBeLessThan(1);
  const { nowUs } = store;
  const answer = { outcome: { kind: "held" }, nowUs, lockId: 5n, lockName: "lock 5" };
  expect(stage.answers).toMatchObject([answer, null, null]);
  expect(seen.filter(({ kind }) => kind === "batch")).toEqual([{ kind: "batch", commands: 3, locks: 2 }]);
  expect(seen.filter(({ kind }) => kind === "event")).toMatchObject([{ lockName: "lock 5" }]);
});

test("a caller sees its answer after its follower is registered and everyone has heard", async () => {
  const told: string[] = [];
  const stage = scene(({ kind }) => void told.push(kind));
  const settle = () => void told.push("seen");
  await answered(stage, { 5: [{ command: acquire("one"), follower: null, settle }] });
  expect(told).toEqual(["answered", "batch", "event", "seen"]);
});

test("waiters here are notified, and other servers hear of their own waiters alone", () => {
  const { subscribers, batch, followers, poked } = scene();
  const told: bigint[] = [];
  const follow = (ticketNumber: bigint) =>
    followers.add(
      { ...held(ticketNumber, OWN), state: "waiting" },
      { settled: (claim) => told.push(claim.ticketNumber) },
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
  ] as Attempt["events"];
  subscribers.wake(batch);
  expect(told).toEqual([1n, 2n]);
  expect(followers.count).toBe(1);
  expect(poked).toEqual([{ replica: 2n, lockId: 5n, ticketNumber: 2n }]);
});
