// What follows a commit: what callers hear of their leases, and which locks are looked at again.

import { expect, test } from "vitest";
import type { Claim, Member } from "../../../server/core/claim.ts";
import type { Command } from "../../../server/core/command.ts";
import { Subscribers, type SubscribersOptions } from "../../../server/engine/subscribers/subscribers.ts";
import { Ask, Attempt } from "../../../server/engine/transaction/transaction.ts";
import { ACQUIRE, CLAIM } from "../../support/claims.ts";
import { ScriptedTransactions } from "../../support/scripted-transactions.ts";

const OWN = 1n;
const policy = { graceUs: 1, attachedForUs: 1, keptForUs: () => 1, queueMax: 1 };
const FORCE: Command = { verb: "force_release", name: "lock 5", ticketNumber: 1n, reason: "" };

function scene() {
  const owed: bigint[] = [];
  const poked: unknown[] = [];
  const seen: unknown[] = [];
  const subscribers = new Subscribers({
    store: {},
    reads: { inTurn: {} },
    views: {},
    pollIntervalMs: 86_400_000,
    observer: (event: { kind: string }) => void seen.push(event.kind),
    poke: (granted: object) => void poked.push(granted),
    replica: OWN,
    advances: { owe: async (lockId: bigint) => void owed.push(lockId) },
    onFailure() {},
  } as unknown as SubscribersOptions);
  const batch = new Attempt(new Map(), policy, []);
  return { subscribers, batch, leases: subscribers.leases, owed, poked, seen };
}

test("locks at which a large grant has left waiters are looked at again", () => {
  const { subscribers, batch, owed } = scene();
  batch.leftOver = [5n, 6n];
  subscribers.wake(batch);
  expect(owed).toEqual([5n, 6n]);
});

test("the server of a waiter hears of the grant of several locks once, and so do those here who hold them", () => {
  const { subscribers, batch, leases, poked, seen } = scene();
  const member = (lockId: bigint) => ({ lockId, ticketNumber: 3n, name: `lock ${lockId}` }) as Member;
  const members = [member(6n), member(5n)];
  const row = (lockId: bigint): Claim => ({ ...CLAIM, lockId, ticketNumber: 3n, replica: 2n, members });
  const ended: bigint[] = [];
  leases.add(CLAIM, ({ lockId }) => ended.push(lockId));
  batch.events = [5n, 6n].flatMap((lockId) => [
    {
      event: { kind: "granted", claim: row(lockId), waitedUs: 1, queued: true } as const,
      ...{ lockName: `lock ${lockId}`, nowUs: 1 },
    },
    {
      event: { kind: "ended", claim: row(lockId), was: "held" } as const,
      ...{ lockName: `lock ${lockId}`, nowUs: 1 },
    },
  ]);
  subscribers.wake(batch);
  expect(poked).toEqual([{ replica: 2n, lockId: 6n, ticketNumber: 3n }]);
  expect(ended).toEqual([6n]);
  // Metrics and the log count each lock.
  expect(seen).toEqual(["event", "event", "event", "event"]);
});

/** Commits one transaction with these commands for one lock, and does what follows it. */
async function answered({ subscribers }: ReturnType<typeof scene>, ...commands: readonly Command[]) {
  const store = new ScriptedTransactions(5n);
  const own = commands.map((command) =>
    Object.assign(new Ask(command, null, { settle() {}, fail() {} }), { lockId: 5n, submittedMs: 0 }),
  );
  const asks = new Map([[5n, own]]);
  const roomy = { ...policy, queueMax: 10, graceUs: 1_000_000, attachedForUs: 1_000_000 };
  const batch = new Attempt(asks, roomy, []);
  const transacting = store.transact(
    batch.plan(
      {
        hasQueue: () => false,
        hasShares: () => false,
        nameOf: () => null,
        poolsOver: () => [],
        membersOf: () => undefined,
      },
      true,
    ),
    (loaded) => batch.decide(loaded),
  );
  await store.at(0).commit();
  await transacting;
  subscribers.answer(asks, batch);
}
const acquire = (requestId: string, caller?: object): Command =>
  ({
    ...ACQUIRE,
    name: "lock 5",
    requestId,
    secret: requestId,
    mayWait: true,
    replica: OWN,
    caller,
  }) as Command;

test("a caller hears which lease it holds before it hears how the lease ended in the same transaction", async () => {
  const stage = scene();
  const heard: string[] = [];
  const holds = (lease: Claim) => {
    heard.push("holds");
    stage.leases.add(lease, () => heard.push("lost"));
  };
  await answered(stage, acquire("one", { getPeer: () => "a test", holds }), FORCE, { verb: "advance" });
  expect(heard).toEqual(["holds", "lost"]);
});

test("a caller hears of its own leases alone, and one that does not listen is answered all the same", async () => {
  const stage = scene();
  const heard: bigint[] = [];
  const caller = {
    getPeer: () => "a test",
    holds: ({ ticketNumber }: Claim) => void heard.push(ticketNumber),
  };
  await answered(
    stage,
    acquire("one", caller),
    acquire("two", caller),
    acquire("one", { getPeer: () => "a test" }),
    acquire("one"),
    { verb: "renew", ref: { lockId: 5n, ticketNumber: 1n, secret: "one" }, ttlUs: undefined },
  );
  expect(heard).toEqual([1n]);
  expect(stage.seen.filter((kind) => kind === "answered")).toHaveLength(5);
});
