// One attempt: what it reads for its commands, what a second round continues with, and what it says of an earlier
// attempt.

import { describe, expect, test } from "vitest";
import { QUEUE_HEAD_MAX } from "../../../server/core/bounds.ts";
import { SERVER_MADE_PREFIX } from "../../../server/core/claim.ts";
import type { Command } from "../../../server/core/command.ts";
import { AGAIN_ROUNDS_MAX, REVISION_STEP_MAX } from "../../../server/engine/engine-bounds.ts";
import { newMark } from "../../../server/engine/secrets.ts";
import { Attempt } from "../../../server/engine/transaction/transaction.ts";
import { ACQUIRE, CLAIM } from "../../support/claims.ts";
import { lockRow, ScriptedTransactions } from "../../support/scripted-transactions.ts";

const policy = { graceUs: 1_000, attachedForUs: 1_000, keptForUs: () => 1_000, queueMax: 5_000 };
const ADVANCE: Command = { verb: "advance" };
const acquire = (requestId: string): Command => ({ ...ACQUIRE, name: "lock 1", requestId });
const setLimit = (limit: number): Command => ({
  ...{ verb: "set_limit", name: "lock 1", limit, expectedVersion: undefined, reason: "" },
});
const renew = (ticketNumber: bigint): Command => ({
  ...{ verb: "renew", ref: { ...CLAIM, ticketNumber }, ttlUs: undefined },
});

function batchOf(asked: Record<string, readonly Command[]>, earlier: readonly Attempt[] = []) {
  // An object returns its keys in ascending order, but commands come in any order.
  const byLock = Object.entries(asked)
    .reverse()
    .map(([id, commands]) => [BigInt(id), commands.map((command) => ({ command, submittedMs: 0 }))] as const);
  return new Attempt(new Map(byLock), policy, earlier);
}
const planOf = (batch: Attempt, likely: bigint[] = [], impatient = true) =>
  batch.plan(
    {
      hasQueue: (lockId) => likely.includes(lockId),
      hasShares: () => false,
      nameOf: () => null,
      poolsOver: () => [],
      membersOf: () => undefined,
    },
    impatient,
  );

test("an attempt reads claims by the request ids of clients, and by the numbers that an earlier attempt gave to those of the server", async () => {
  const own = `${SERVER_MADE_PREFIX}own`;
  const commands = [acquire("theirs"), acquire(own)];
  expect(planOf(batchOf({ 1: commands }))).toMatchObject({ requestIds: ["theirs"], claims: [] });
  const earlier = batchOf({ 1: commands });
  expect(planOf(batchOf({ 1: commands }, [earlier]))).toMatchObject({ requestIds: ["theirs"], claims: [] });
  const store = new ScriptedTransactions();
  store.locks.set(1n, lockRow(1n, { limit: 2, nextTicket: 7n }));
  const transacting = store.transact(planOf(earlier), (loaded) => earlier.decide(loaded));
  const failing = expect(transacting).rejects.toMatchObject({ kind: "unknown_outcome" });
  await store.at(0).rollBackUnheard();
  await failing;
  const { requestIds, claims } = planOf(batchOf({ 1: commands }, [earlier]));
  expect(requestIds).toEqual(["theirs"]);
  expect(claims).toMatchObject([{ lockId: 1n, ticketNumber: 8n, requestId: own }]);
});

describe("an attempt", () => {
  /** Raises the limit of a lock with `waiters` waiters enough for all of them; one attempt decides this in rounds. */
  async function grantAll(waiters: number) {
    const store = new ScriptedTransactions();
    store.locks.set(1n, lockRow(1n, { limit: 1 }));
    const submit = async (...commands: Command[]) => {
      const batch = batchOf({ 1: commands });
      const transacting = store.transact(planOf(batch), (loaded) => batch.decide(loaded));
      await store.at(store.begun.length - 1).commit();
      await transacting;
      return batch;
    };
    const waiting = (index: number): Command => ({
      ...ACQUIRE,
      ...{ name: "lock 1", requestId: `request ${index}`, secret: `${index}`, mayWait: true },
    });
    await submit(...Array.from({ length: waiters + 1 }, (_, index) => waiting(index)));
    store.headMax = QUEUE_HEAD_MAX;
    const revisionBefore = store.locks.get(1n)?.revision ?? 0n;
    const batch = await submit(setLimit(1_000_000));
    return { store, batch, revisionBefore };
  }

  test("goes on in rounds while there is more to grant, and each happens once", async () => {
    const { store, batch, revisionBefore } = await grantAll(QUEUE_HEAD_MAX + 10);
    const granted = batch.events.filter(({ event }) => event.kind === "granted");
    expect(granted).toHaveLength(QUEUE_HEAD_MAX + 10);
    expect(batch.events.filter(({ event }) => event.kind === "limit_set")).toHaveLength(1);
    expect(batch.leftOver).toEqual([]);
    expect(store.begun.at(-1)?.writes.length).toBeGreaterThan(1);
    const written = batch.locks.get(1n);
    expect(written?.revisionBefore).toBe(revisionBefore);
    expect(written?.lock.revision).toBe(store.locks.get(1n)?.revision);
    // A limit's answer shows what the transaction has left behind.
    expect(batch.outcome(1n, 0)).toMatchObject({
      kind: "limit",
      lock: { waiting: 0, heldPermits: QUEUE_HEAD_MAX + 11 },
    });
    expect(batch.changes(1n, 0)).toBe(true);
  });

  test("leaves what is too much to the next transaction", async () => {
    const { store, batch } = await grantAll(QUEUE_HEAD_MAX * (AGAIN_ROUNDS_MAX + 1));
    expect(store.begun.at(-1)?.writes).toHaveLength(AGAIN_ROUNDS_MAX);
    expect(batch.leftOver).toEqual([1n]);
    expect(store.locks.get(1n)?.waiting).toBeGreaterThan(0);
  });

  test("raises all its guard rows by one step, which other servers cannot guess", () => {
    const steps = new Set<bigint>();
    for (let attempt = 0; attempt < 50; attempt++) {
      const batch = batchOf({ 1: [ADVANCE], 2: [ADVANCE] });
      const store = new ScriptedTransactions(1n, 2n);
      void store.transact(planOf(batch), (loaded) => batch.decide(loaded));
      void store.at(0).commit();
      const [one, other] = [1n, 2n].map((id) => store.locks.get(id)?.revision ?? 0n);
      expect(one).toBe(other);
      expect(one).toBeGreaterThanOrEqual(1n);
      expect(one).toBeLessThanOrEqual(BigInt(REVISION_STEP_MAX));
      steps.add(one as bigint);
    }
    expect(steps.size).toBeGreaterThan(40);
  });

  test("leaves one mark of its own on everything that it changes", () => {
    const batch = batchOf({});
    expect(batch.mark).toBe(batch.mark);
    expect(batchOf({}).mark).not.toBe(batch.mark);
    for (let one = 0; one < 100; one++) {
      const mark = newMark();
      expect(mark > 0n && mark < 2n ** 63n).toBe(true);
    }
  });

  test("has no outcome for a lock that is gone, and doubts a change that an earlier attempt may have made there", async () => {
    const first = batchOf({ 1: [setLimit(3), renew(1n)] });
    const store = new ScriptedTransactions(1n);
    void store.transact(planOf(first), (loaded) => first.decide(loaded)).catch(() => {});
    await store.at(0).commitUnheard();
    const second = batchOf({ 1: [setLimit(3), renew(1n)] }, [first]);
    expect(second.outcome(1n, 0)).toEqual({ kind: "in_doubt" });
    expect(second.outcome(1n, 1)).toBeUndefined();
    expect(second.changes(1n, 0)).toBe(false);
    expect(batchOf({}).outcome(1n, 0)).toBeUndefined();
  });
});
