// Followers that left are reported to the database until it has recorded that, at a pace that leaves it room for other
// work, and not after they are back.

import { beforeEach, describe, expect, test } from "vitest";
import type { ClaimRef } from "../../../server/core/claim.ts";
import type { Detach, Withdraw } from "../../../server/core/command.ts";
import { Detachments } from "../../../server/engine/background/detachments.ts";
import { DETACHMENTS_AT_ONCE, DETACHMENTS_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { CLAIM } from "../../support/claims.ts";

const AWAY = new Fault("unavailable", "connection_lost", "away", { retryAfterMs: 1 });
const turn = () => new Promise(setImmediate);
const detach = (ticketNumber: number): Detach => ({ verb: "detach", ref: refOf(ticketNumber), replica: 1n });
const refOf = (ticketNumber: number): ClaimRef => ({ ...CLAIM, ticketNumber: BigInt(ticketNumber) });

/** Ticket numbers in the order in which they were reported to the database. */
let told: number[];
let underWay: PromiseWithResolvers<void>[];
let answer: (ticketNumber: number) => unknown;
let followed: Set<number>;
let failures: unknown[];
let detachments: Detachments;

beforeEach(() => {
  told = [];
  underWay = [];
  answer = () => undefined;
  followed = new Set();
  failures = [];
  detachments = new Detachments({
    submit: (_lockId, command) => {
      const number = command.verb === "detach" ? Number(command.ref.ticketNumber) : -1;
      told.push(number);
      const outcome = answer(number);
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    },
    followers: { claim: ({ ticketNumber }) => (followed.has(Number(ticketNumber)) ? CLAIM : undefined) },
    onFailure: (loop, error) => void failures.push([loop, error]),
  });
});

/** Each answer waits for the test. */
function answersLater(): void {
  answer = () => {
    const answer = Promise.withResolvers<void>();
    underWay.push(answer);
    return answer.promise;
  };
}

function leave(...numbers: number[]): void {
  for (const number of numbers) detachments.add(CLAIM.lockId, detach(number));
}

async function repeated(): Promise<number[]> {
  told = [];
  await detachments.repeat();
  return told;
}

describe("a follower that left", () => {
  test("is reported at once, and again while the database is away, until it knows", async () => {
    answer = () => AWAY;
    leave(1);
    expect(told).toEqual([1]);
    await turn();
    expect(await repeated()).toEqual([1]);
    answer = () => undefined;
    expect(await repeated()).toEqual([1]);
    expect(await repeated()).toEqual([]);
    leave(2);
    await turn();
    expect(await repeated()).toEqual([]);
    expect(failures).toEqual([]);
  });

  test("is not reported a second time during the first report", async () => {
    answersLater();
    leave(1);
    expect(await repeated()).toEqual([]);
    underWay[0]?.reject(AWAY);
    await turn();
    answer = () => undefined;
    expect(await repeated()).toEqual([1]);
  });

  test("is not reported any more when it is back, even if a report failed before", async () => {
    followed.add(1);
    leave(1);
    expect(told).toEqual([]);
    answer = () => AWAY;
    leave(2);
    await turn();
    followed.add(2);
    expect(await repeated()).toEqual([]);
    followed.clear();
    expect(await repeated()).toEqual([]);
  });

  test("has its claim withdrawn if no client can act on it, whoever still follows", async () => {
    followed.add(1);
    const withdraw: Withdraw = { verb: "withdraw", requestId: "r", secret: CLAIM.secret };
    detachments.add(CLAIM.lockId, withdraw);
    expect(told).toEqual([-1]);
  });

  test("and whose report has a bug is logged, and the report is not retried for ever", async () => {
    const bug = new Error("A fault made by a test.");
    answer = () => bug;
    leave(1);
    await turn();
    expect(failures).toEqual([["detachments", bug]]);
    expect(await repeated()).toEqual([]);
  });
});

describe("if many reports failed", () => {
  const MANY = 2 * DETACHMENTS_AT_ONCE + 1;
  beforeEach(async () => {
    answer = () => AWAY;
    leave(...Array.from({ length: MANY + 1 }, (_, index) => index));
    await turn();
  });

  test("the first one is tried alone, as long as the database is away", async () => {
    expect(await repeated()).toEqual([0]);
    expect(await repeated()).toEqual([0]);
  });

  test("the others follow in parts, one after the other", async () => {
    told = [];
    answersLater();
    const repeating = detachments.repeat();
    const sizes: number[] = [];
    while (told.length > 0) {
      sizes.push(told.length);
      told = [];
      for (const answer of underWay.splice(0)) answer.resolve();
      await turn();
    }
    await repeating;
    expect(sizes).toEqual([1, DETACHMENTS_AT_ONCE, DETACHMENTS_AT_ONCE, 1]);
    expect(await repeated()).toEqual([]);
  });

  test("a part with one failure is the last one of that time, and the rest of it is settled", async () => {
    answer = (number) => (number === 2 ? AWAY : undefined);
    expect(await repeated()).toHaveLength(1 + DETACHMENTS_AT_ONCE);
    answer = () => undefined;
    expect(await repeated()).toEqual([
      2,
      ...Array.from({ length: DETACHMENTS_AT_ONCE + 1 }, (_, index) => 1 + DETACHMENTS_AT_ONCE + index),
    ]);
  });
});

test("beyond the bound, only the oldest departure is forgotten", async () => {
  answer = () => AWAY;
  leave(0, 1, 2);
  await turn();
  // These are never answered.
  const never = new Promise<never>(() => {});
  answer = () => never;
  for (let number = 3; number < DETACHMENTS_MAX; number++) leave(number);
  answer = () => AWAY;
  expect(await repeated()).toEqual([0]);
  leave(DETACHMENTS_MAX, DETACHMENTS_MAX + 1);
  expect(await repeated()).toEqual([2]);
});

test("a heartbeat under way may revive a place that was left meanwhile, so the departure is reported again after all of them, even a failed one", async () => {
  const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = detachments.during(() => one.promise);
  const second = detachments.during(() => other.promise);
  leave(1);
  one.resolve();
  await first;
  expect(told).toEqual([1]);
  other.reject(AWAY);
  await expect(second).rejects.toBe(AWAY);
  expect(told).toEqual([1, 1]);
  leave(2);
  await turn();
  await detachments.during(async () => {});
  expect(told).toEqual([1, 1, 2]);
});
