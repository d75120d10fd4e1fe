// The spans of a transaction: whose parts they are, and what they say of its attempts.

import { expect, test } from "vitest";
import type { Command } from "../../../server/core/command.ts";
import { Ask, commitAsks, type Deciding } from "../../../server/engine/transaction/transaction.ts";
import type { LoadPlan } from "../../../server/storage/store.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { ACQUIRE } from "../../support/claims.ts";
import { KeptSpan } from "../../support/kept-span.ts";

const deadlock = () => new StoreError("transient", "deadlock", "A test's.");

/** Decides about commands for one lock each; each attempt but the last fails with the next of the errors. */
async function decided(commands: readonly Command[], errors: readonly Error[] = [], isTraced = true) {
  const plans: LoadPlan[] = [];
  const left = [...errors];
  const asks = commands.map((command) => new Ask(command, null, { settle() {}, fail() {} }));
  const by: Deciding = {
    policy: { graceUs: 1, attachedForUs: 1, keptForUs: () => 0, queueMax: 1 },
    store: {
      async transact(plan) {
        plans.push(plan);
        const error = left.shift();
        if (error) throw error;
      },
    },
    followers: { follows: () => false },
    background: { lateFromMs: Number.POSITIVE_INFINITY, lateHeartbeat: async () => {} },
    observer() {},
    isTraced,
  };
  const work = { byLock: new Map(asks.map((ask, index) => [BigInt(index + 1), [ask]])), earlier: [] };
  const outcome = await commitAsks(work, false, by).then(
    () => "committed",
    (error: Error) => error,
  );
  return { plans, outcome };
}

const acquire = (span?: KeptSpan): Command => ({ ...ACQUIRE, caller: { getPeer: () => "peer", span } });

test("a transaction is a part of its only traced call, whose statements belong to it, with its retries", async () => {
  const call = new KeptSpan("Acquire");
  const { plans } = await decided([acquire(), acquire(call), { verb: "advance" }], [deadlock(), deadlock()]);
  const [transaction] = call.parts;
  expect(call.parts).toHaveLength(1);
  expect(transaction).toMatchObject({
    name: "transaction",
    begunWith: { "rowlock.commands": 3, "rowlock.locks": 3 },
    links: [],
    ends: [{ attributes: { "rowlock.retries": 2 }, error: undefined }],
  });
  expect(plans.map(({ span }) => span)).toEqual([transaction, transaction, transaction]);
});

test("a transaction that fails has the reason as its error, and a bug has no message", async () => {
  for (const [error, reason] of [
    [new StoreError("unavailable", "connection_lost", "A test's."), "connection_lost"],
    [new Error("a bug with a secret"), "unexpected"],
  ] as const) {
    const call = new KeptSpan("Acquire");
    await decided([acquire(call)], [error]);
    expect(call.parts[0]?.ends).toEqual([
      { attributes: { "rowlock.retries": 0 }, error: reason, atMs: undefined },
    ]);
  }
});
