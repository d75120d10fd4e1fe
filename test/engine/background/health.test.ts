// Whether the database lets a server decide: the latest decisions say no more than they can know, and only for as long as
// it holds; the probe takes the same path as every command and leaves nothing behind.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Outcome, Release } from "../../../server/core/command.ts";
import { isOwnName } from "../../../server/core/lock.ts";
import type { AcquireInput } from "../../../server/engine/answers.ts";
import { Health } from "../../../server/engine/background/health.ts";
import type { LockEngine } from "../../../server/engine/engine.ts";
import { PROBE_TTL_US, RECENT_DECISIONS_MS } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import type { AsksByLock } from "../../../server/engine/transaction/transaction.ts";
import { ROW_LOCKED } from "../../../server/storage/store.ts";
import { CLAIM } from "../../support/claims.ts";
import { turn } from "../../support/scripted-transactions.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const NOTHING = {
  committed: false,
  committedMs: Number.NEGATIVE_INFINITY,
  failure: null,
  isSuspect: false,
};
const fault = (kind: Fault["kind"], reason: string) =>
  new Fault(kind, reason, "A test's.", { retryAfterMs: 1 });

/** A transaction of this lock's commands. */
const of = (lockId: bigint): AsksByLock => new Map([[lockId, []]]);

describe("the last decisions report for a while", () => {
  const readOnly = fault("unavailable", "read_only");
  test.each<[string, (decisions: Health) => void, object, number]>([
    ["a committed transaction", (decisions) => decisions.committed(of(1n)), { committed: true }, 0],
    [
      "the last failure, and trouble at once",
      (decisions) => {
        decisions.failed(fault("unavailable", "connection_lost"));
        decisions.failed(readOnly);
      },
      { failure: readOnly, isSuspect: true },
      2,
    ],
    [
      "a usable database, and trouble, on a lock that another transaction holds",
      (decisions) => decisions.failed(fault("unavailable", ROW_LOCKED)),
      { isSuspect: true },
      1,
    ],
    [
      "nothing about the database after a bug, or at a bound of this server",
      (decisions) => {
        decisions.failed(new Error("A bug, made by a test."));
        decisions.failed(fault("overloaded", "commands_queued"));
      },
      {},
      0,
    ],
    [
      "a doubt if other work that needs the database failed",
      (decisions) => decisions.suspected(),
      { isSuspect: true },
      1,
    ],
  ])("%s", (_, happens, reported, troubles) => {
    const decisions = new Health(5n);
    const onTrouble = vi.fn();
    decisions.onTrouble = onTrouble;
    const atMs = performance.now();
    happens(decisions);
    const ever = { ...NOTHING, ...("committed" in reported && { committedMs: atMs }) };
    vi.advanceTimersByTime(RECENT_DECISIONS_MS);
    expect(decisions.recent).toEqual({ ...ever, ...reported });
    vi.advanceTimersByTime(1);
    expect(decisions.recent).toEqual(ever);
    expect(onTrouble).toHaveBeenCalledTimes(troubles);
  });
});

function probing(outcomes: readonly Outcome[]) {
  const asked: { input: AcquireInput; answer: PromiseWithResolvers<void> }[] = [];
  const released: bigint[] = [];
  const engine = {
    async acquire(input: AcquireInput) {
      const answer = Promise.withResolvers<void>();
      const outcome = outcomes[asked.length] as Outcome;
      asked.push({ input, answer });
      await answer.promise;
      return { outcome, nowUs: 0, lockId: 9n, lockName: input.name };
    },
    ask: async ({ ref }: Release) => void released.push(ref.ticketNumber),
  } as unknown as LockEngine;
  const health = new Health(5n);
  return { health, run: () => health.probe(engine, () => {}), asked, released };
}
const claim = (ticketNumber: bigint): Claim => ({ ...CLAIM, ticketNumber });

test("a probe makes two requests at once, one of which waits behind the other, and gives both back", async () => {
  const { health, run, asked, released } = probing([
    { kind: "held", claim: claim(1n) },
    { kind: "waiting", claim: claim(2n), place: null },
  ]);
  const running = run();
  expect(asked).toHaveLength(2);
  for (const { input, answer } of asked) {
    expect(input).toMatchObject({ mode: "exclusive", mayWait: true, requestId: "" });
    // If the probe is cut off, these times end what it leaves behind.
    expect(input).toMatchObject({ ttlUs: PROBE_TTL_US, maxWaitUs: PROBE_TTL_US });
    expect(isOwnName(input.name)).toBe(true);
    answer.resolve();
  }
  await running;
  expect(released).toEqual([1n, 2n]);
  // The probe's own decisions say nothing of those of clients.
  health.committed(of(9n));
  health.failed(fault("unavailable", "connection_lost"), of(9n));
  expect(health.recent).toEqual(NOTHING);
  health.committed(new Map([...of(9n), ...of(10n)]));
  expect(health.recent.committed).toBe(true);
});

test("a probe's request that left nothing behind is not given back, and one that failed fails the probe", async () => {
  const refused = { kind: "refused", reason: "failed_over", limit: {} } as Outcome;
  const { run, asked, released } = probing([refused, { kind: "held", claim: claim(1n) }]);
  const failing = probing([refused, refused]);
  const running = run();
  for (const { answer } of asked) answer.resolve();
  await running;
  expect(released).toEqual([1n]);
  const failed = expect(failing.run()).rejects.toThrow("away");
  failing.asked[0]?.answer.resolve();
  failing.asked[1]?.answer.reject(new Error("away"));
  await failed;
  await turn();
  expect(failing.released).toEqual([]);
});
