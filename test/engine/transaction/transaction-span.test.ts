// The span of a transaction that fails: what it says of the reason. Others: test/tracing/traced-calls.test.ts.

import { expect, test } from "vitest";
import { Locks } from "../../../server/engine/transaction/locks.ts";
import { PoolsOverNames } from "../../../server/engine/transaction/pools-over-names.ts";
import { SetMembers } from "../../../server/engine/transaction/set-members.ts";
import { Ask, commitAsks } from "../../../server/engine/transaction/transaction.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { ACQUIRE } from "../../support/claims.ts";
import { KeptSpan } from "../../support/kept-span.ts";

test.each([
  [0, new StoreError("unavailable", "connection_lost", "A test's."), "connection_lost"],
  [1, new StoreError("unavailable", "connection_lost", "A test's."), "connection_lost"],
  [0, new Error("a bug with a secret"), "unexpected"],
])(
  "a transaction that fails after %i retries has the reason as its error, and a bug has no message: %s",
  async (retries, error, reason) => {
    const span = new KeptSpan("Acquire");
    const left = [
      ...Array.from({ length: retries }, () => new StoreError("transient", "deadlock", "A test's.")),
      error,
    ];
    const caller = { getPeer: () => "peer", span };
    const ask = new Ask({ ...ACQUIRE, caller }, null, { settle() {}, fail() {} });
    const deciding = commitAsks({ byLock: new Map([[1n, [ask]]]), earlier: [] }, false, {
      policy: { graceUs: 1, attachedForUs: 1, keptForUs: () => 0, queueMax: 1 },
      store: { transact: () => Promise.reject(left.shift()) },
      followers: { follows: () => false },
      locks: new Locks(),
      pools: new PoolsOverNames(),
      sets: new SetMembers(),
      background: { lateFromMs: Number.POSITIVE_INFINITY, lateHeartbeat: async () => {} },
      observer() {},
      isTraced: true,
    });
    await expect(deciding).rejects.toThrow();
    expect(span.parts[0]?.ends).toEqual([
      { attributes: { "rowlock.retries": retries }, error: reason, atMs: undefined },
    ]);
  },
);
