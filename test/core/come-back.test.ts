// A sign of life counts from its arrival: a waiter that was in time keeps its place, however late the decision. Nothing
// else is kept.

import { expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { Command } from "../../server/core/command.ts";
import { ATTACHED_FOR_US, GRACE_US, HERE, OneLock, SECOND_US } from "./one-lock.ts";

/** The claim after deciding `command`, which arrived `agoUs` ago. Restores the rows afterwards. */
function after(lock: OneLock, claim: Claim, command: Command, agoUs: number): Claim {
  const { claims } = lock.rows;
  const locks = new Map(lock.rows.locks);
  lock.rows.claims = structuredClone(claims);
  lock.transactLate([command], agoUs);
  const now = lock.now(claim);
  lock.rows.claims = claims;
  for (const [name, row] of locks) lock.rows.locks.set(name, row);
  return now;
}

const attach = (ref: Claim): Command => ({ verb: "attach", ref, replica: HERE });

test("a place that runs out after the command has arrived is kept, and one that ran out before is not", () => {
  const lock = new OneLock();
  lock.lease({ ttlUs: null });
  const ticket = lock.ticket({ replica: null, requestId: "mine" });
  lock.pass(GRACE_US + 2 * SECOND_US);
  for (const command of [attach(ticket), lock.asks({ requestId: "mine" })]) {
    const kept = after(lock, ticket, command, 3 * SECOND_US);
    expect(kept).toMatchObject({ state: "waiting", deadlineUs: lock.nowUs + ATTACHED_FOR_US });
    expect(after(lock, ticket, command, SECOND_US)).toMatchObject({ state: "ended", endReason: "lapsed" });
  }
});

test("a command without the right secret keeps no place", () => {
  const lock = new OneLock();
  lock.lease({ ttlUs: null });
  const ticket = lock.ticket({ replica: null, requestId: "mine" });
  lock.pass(GRACE_US + 2 * SECOND_US);
  const wrong: Command[] = [
    attach({ ...ticket, secret: "A".repeat(22) }),
    lock.asks({ requestId: "other" }),
    lock.asks({ requestId: "mine", permits: 2 }),
    { verb: "renew", ref: ticket, ttlUs: undefined },
  ];
  for (const command of wrong) expect(after(lock, ticket, command, 3 * SECOND_US).state).toBe("ended");
});

test("a finished wait and an expired lease are not kept", () => {
  const lock = new OneLock();
  const lease = lock.lease({ ttlUs: SECOND_US });
  const ticket = lock.ticket({ replica: null, maxWaitUs: SECOND_US });
  lock.pass(2 * SECOND_US);
  expect(after(lock, ticket, attach(ticket), 5 * SECOND_US).endReason).toBe("timed_out");
  expect(after(lock, lease, attach(lease), 5 * SECOND_US).endReason).toBe("expired");
});
