// A Withdraw ends a claim whose answer nobody got. If the client chose the request id, another attempt may have made the
// claim or reported it. Then the claim stays.

import { expect, test } from "vitest";
import { type Claim, keptRequestId, SERVER_MADE_PREFIX } from "../../server/core/claim.ts";
import { OneLock, SECOND_US } from "./one-lock.ts";

const OF_CLIENT = keptRequestId("", "mine", 0);
const OF_SERVER = `${SERVER_MADE_PREFIX}made`;

function withdrawn(lock: OneLock, { requestId, secret }: Pick<Claim, "requestId" | "secret">): void {
  expect(lock.do({ verb: "withdraw", requestId, secret })).toEqual({ kind: "done" });
}

test.each([
  ["at once", false],
  ["after a wait", true],
])("a lease that was granted %s is ended, as nobody has come for it", (_, afterWait) => {
  const lock = new OneLock();
  const lease = lock.lease({ requestId: OF_CLIENT, afterWait });
  lock.pass(1_000);
  withdrawn(lock, lease);
  expect(lock.states(lease)).toEqual(["cancelled"]);
});

test.each([false, true])("a lease that was renewed stays (after a wait: %s)", (afterWait) => {
  const lock = new OneLock();
  const lease = lock.lease({ requestId: OF_CLIENT, afterWait });
  lock.pass(1_000);
  lock.renew(lease);
  withdrawn(lock, lease);
  expect(lock.states(lease)).toEqual(["held"]);
});

test("a lease that was renewed in the microsecond of its grant stays", () => {
  const lock = new OneLock();
  const lease = lock.lease({ requestId: OF_CLIENT });
  lock.renew(lease);
  withdrawn(lock, lease);
  expect(lock.states(lease)).toEqual(["held"]);
});

test.each([
  ["before the clock was set back", -1],
  ["after the clock was set back", 1],
])("a lease that was renewed %s stays", (_, order) => {
  const lock = new OneLock();
  const lease = lock.lease({ requestId: OF_CLIENT });
  const steps = [() => lock.setBack(60 * SECOND_US), () => lock.renew(lease)];
  for (const step of order > 0 ? steps : steps.toReversed()) step();
  withdrawn(lock, lease);
  expect(lock.states(lease)).toEqual(["held"]);
});

test("a lease that nobody has renewed is ended after the clock was set back", () => {
  const lock = new OneLock();
  const lease = lock.lease({ requestId: OF_CLIENT });
  lock.setBack(60 * SECOND_US);
  withdrawn(lock, lease);
  expect(lock.states(lease)).toEqual(["cancelled"]);
});

test("the lease of another attempt at the request stays", () => {
  const lock = new OneLock();
  const lease = lock.lease({ requestId: OF_CLIENT });
  withdrawn(lock, { ...lease, secret: "of-the-other-attempt--" });
  expect(lock.states(lease)).toEqual(["held"]);
});

test("what has a request id of the server is ended in any state", () => {
  const lock = new OneLock();
  const lease = lock.lease({ requestId: OF_SERVER });
  const ticket = lock.ticket({ requestId: `${OF_SERVER} too` });
  lock.pass(1_000);
  lock.renew(lease);
  withdrawn(lock, ticket);
  withdrawn(lock, lease);
  expect(lock.states(lease, ticket)).toEqual(["cancelled", "cancelled"]);
});
