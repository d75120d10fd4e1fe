// Which commands share a transaction; and no lock makes another lock's commands wait, fail or go unanswered.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Acquire, Command } from "../../../server/core/command.ts";
import {
  BATCH_COMMANDS_MAX,
  BATCH_LOCKS_MAX,
  CROWDED_BATCH_LOCKS_MAX,
  CROWDED_FOR_MS,
  HELD_UP_MS,
  RETURNED_AFTER_MS,
  STUCK_MS,
} from "../../../server/engine/engine-bounds.ts";
import { Subscribers, type SubscribersOptions } from "../../../server/engine/subscribers/subscribers.ts";
import { Lanes, type LanesOptions } from "../../../server/engine/transaction/lanes.ts";
import { Locks } from "../../../server/engine/transaction/locks.ts";
import { PoolsOverNames } from "../../../server/engine/transaction/pools-over-names.ts";
import { SetMembers } from "../../../server/engine/transaction/set-members.ts";
import { ROLLED_BACK } from "../../../server/storage/retry.ts";
import { ROW_LOCKED } from "../../../server/storage/store.ts";
import { ACQUIRE } from "../../support/claims.ts";
import {
  away,
  type Begun,
  held,
  lockRow,
  ScriptedTransactions,
  turn,
  unknownOutcome,
} from "../../support/scripted-transactions.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const ids = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index + 1));
const nameOf = (lockId: bigint) => lockRow(lockId).name;
const setLimit = (lockId: bigint, limit = 3): Command => ({
  verb: "set_limit",
  name: nameOf(lockId),
  limit,
  expectedVersion: undefined,
  reason: "",
});
const acquire = (lockId: bigint, more: Partial<Acquire> = {}): Command => ({
  ...ACQUIRE,
  name: nameOf(lockId),
  requestId: `request for ${lockId}`,
  ...more,
});
const ofMany = (lockId: bigint) => acquire(lockId, { isOneOfMany: true });
const acquireBy = (client: string, lockId: bigint) => acquire(lockId, { caller: { getPeer: () => client } });
const ref = (lockId: bigint) => ({ lockId, ticketNumber: 1n, secret: "of nobody" });
const renew = (lockId: bigint) => ({ verb: "renew" as const, ref: ref(lockId), ttlUs: undefined });
const release = (lockId: bigint) => ({ verb: "release" as const, ref: ref(lockId) });
const ADVANCE: Command = { verb: "advance" };
const OVERLOADED = expect.objectContaining({ kind: "overloaded" });
const HELD_UP = { kind: "unavailable", reason: ROW_LOCKED, outcomeUnknown: false };

function scene(overrides: Partial<LanesOptions> = {}, count = 8) {
  const store = new ScriptedTransactions(...ids(count));
  const heldUp: bigint[] = [];
  const failed: unknown[] = [];
  const committed: bigint[][] = [];
  const subscribers = new Subscribers({
    ...{ reads: { inTurn: {} }, views: {}, pollIntervalMs: 1_000 },
    observer() {},
  } as unknown as SubscribersOptions);
  const lanes = new Lanes({
    locks: new Locks(),
    pools: new PoolsOverNames(),
    sets: new SetMembers(),
    waitForRows: async () => {},
    policy: { graceUs: 1_000, attachedForUs: 1_000, keptForUs: () => 1_000, queueMax: 10 },
    store,
    ...{ lanes: 2, patientSlots: 2, queuedMax: 10_000 },
    followers: { follows: () => false },
    background: { lateFromMs: Number.POSITIVE_INFINITY, lateHeartbeat: async () => {} },
    returned: { heldUp: (job) => heldUp.push(job.lockId) },
    subscribers: {
      answer(jobs, batch) {
        committed.push([...jobs.keys()]);
        subscribers.answer(jobs, batch);
      },
    },
    health: { committed: () => {}, failed: (error) => failed.push(error) },
    observer: () => {},
    ...overrides,
  });
  const answers: string[] = [];
  /** Submits a command; the test can check its answer later. */
  const submit = (lockId: bigint, command: Command = setLimit(lockId)) => {
    const answer = lanes.submit(lockId, command);
    answer.then(
      () => answers.push(`${lockId} answered`),
      () => answers.push(`${lockId} failed`),
    );
    return answer;
  };
  /** Another transaction holds the lock, and the lanes have found that out. */
  const meetHeld = async (lockId: bigint) => {
    const answer = submit(lockId);
    await turn();
    await store.at(-1 + store.begun.length).fail(held());
    return { answer, patient: store.at(store.begun.length - 1) };
  };
  const at = (index: number) => store.at(index);
  return { store, lanes, submit, at, answers, heldUp, failed, committed, meetHeld };
}

const patience = ({ lockIds, plan }: Begun) => `${lockIds}${plan.impatient ? "" : " patiently"}`;
const sizes = (store: ScriptedTransactions) => store.lockIds.map((lockIds) => lockIds.length);

describe("commands", () => {
  test("that arrive in one turn share a transaction, and each gets its own answer in order", async () => {
    const { submit, store, at, committed } = scene();
    const asked = [submit(2n), submit(1n), submit(2n, setLimit(2n, 5))];
    expect(store.begun).toEqual([]);
    await turn();
    expect(store.lockIds).toEqual([[1n, 2n]]);
    expect(at(0).plan.impatient).toBe(true);
    await at(0).commit();
    expect(await Promise.all(asked)).toMatchObject([
      { outcome: { kind: "limit", version: 1n }, lockId: 2n, lockName: nameOf(2n), nowUs: store.nowUs },
      { outcome: { kind: "limit", version: 1n }, lockId: 1n, lockName: nameOf(1n), nowUs: store.nowUs },
      { outcome: { kind: "limit", version: 2n }, lockId: 2n },
    ]);
    expect(committed).toEqual([[2n, 1n]]);
  });

  test("for a lock in a transaction gather for its next one, and others go on", async () => {
    const { submit, store, at, lanes } = scene();
    submit(1n);
    await turn();
    submit(1n);
    submit(2n);
    submit(1n);
    await turn();
    expect(store.lockIds).toEqual([[1n], [2n]]);
    expect(lanes.bounds).toEqual([
      { bound: "commands_queued", kind: "room", used: 2, max: 10_000 },
      { bound: "lanes", kind: "turns", used: 2, max: 2 },
      { bound: "patient_slots", kind: "turns", used: 0, max: 2 },
    ]);
    await at(0).commit();
    await turn();
    expect(store.lockIds).toEqual([[1n], [2n], [1n]]);
    const last = submit(1n);
    await at(2).commit();
    await turn();
    await at(3).commit();
    expect(await last).toMatchObject({ outcome: { version: 4n } });
  });

  test("share a transaction up to a number of commands, and the rest follows in order", async () => {
    const { submit, store, at } = scene();
    const first = Array.from({ length: BATCH_COMMANDS_MAX - 50 }, () => submit(1n));
    const second = Array.from({ length: 100 }, () => submit(2n));
    submit(3n);
    await turn();
    expect(store.lockIds).toEqual([[1n, 2n], [3n]]);
    await at(0).commit();
    await turn();
    expect(store.lockIds).toEqual([[1n, 2n], [3n], [2n]]);
    await at(2).commit();
    expect(await first.at(-1)).toMatchObject({ outcome: { version: BigInt(first.length) } });
    expect(await second.at(49)).toMatchObject({ outcome: { version: 50n } });
    expect(await second.at(50)).toMatchObject({ outcome: { version: 51n } });
    expect(await second.at(-1)).toMatchObject({ outcome: { version: 100n } });
  });

  test("of many clients take turns if not all of their locks fit into one transaction", async () => {
    const count = 3 * BATCH_LOCKS_MAX;
    const { submit, store } = scene({ lanes: 1 }, count + 3);
    for (const lockId of ids(count)) submit(lockId, acquireBy("greedy", lockId));
    const [late, later, last] = [count + 1, count + 2, count + 3].map(BigInt) as [bigint, bigint, bigint];
    submit(late, acquireBy("other", late));
    submit(later, acquireBy("other", later));
    submit(last, acquireBy("third", last));
    await turn();
    const first = store.lockIds[0] ?? [];
    expect(first).toHaveLength(CROWDED_BATCH_LOCKS_MAX);
    for (const lockId of [late, later, last]) expect(first).toContain(lockId);
    // The locks of one client keep their order.
    const greedy = first.filter((lockId) => lockId <= BigInt(count));
    expect(greedy).toEqual(ids(greedy.length));
  });

  test("that renew or release go before acquires that were queued earlier, and leave half of the room to those", async () => {
    const count = 4 * BATCH_LOCKS_MAX;
    const { submit, store } = scene({ lanes: 1 }, count);
    const acquired = ids(count / 2);
    const kept = ids(count).slice(count / 2);
    for (const lockId of acquired) submit(lockId, acquire(lockId));
    for (const lockId of kept) submit(lockId, renew(lockId));
    await turn();
    expect(store.lockIds).toEqual([
      [...acquired.slice(0, BATCH_LOCKS_MAX / 2), ...kept.slice(0, BATCH_LOCKS_MAX / 2)],
    ]);
  });

  test("that renew or release go before acquires of the same lock", async () => {
    const { submit, store, at, lanes } = scene({ lanes: 1, queuedMax: 2 * BATCH_COMMANDS_MAX });
    for (let index = 0; index < 2 * BATCH_COMMANDS_MAX; index++) submit(1n, acquire(1n));
    // Only these still find room in the queue.
    expect(() => lanes.submit(1n, acquire(1n))).toThrow(OVERLOADED);
    const kept = [lanes.submit(1n, renew(1n)), lanes.submit(1n, release(1n))];
    await turn();
    expect(store.lockIds).toEqual([[1n]]);
    await at(0).commit();
    expect(await Promise.all(kept)).toMatchObject([
      { outcome: { kind: "unknown_claim" } },
      { outcome: { kind: "unknown_claim" } },
    ]);
  });

  test("have short transactions while one client asks for very much beside others, and for a while after that", async () => {
    const count = 4 * BATCH_LOCKS_MAX;
    const { submit, store, at } = scene({ lanes: 1 }, count + 1);
    for (const lockId of ids(count)) submit(lockId, acquireBy("greedy", lockId));
    await turn();
    // Nobody else waits.
    expect(sizes(store)).toEqual([BATCH_LOCKS_MAX]);
    submit(BigInt(count + 1), acquireBy("other", BigInt(count + 1)));
    await at(0).commit();
    await turn();
    vi.advanceTimersByTime(CROWDED_FOR_MS - 1);
    await at(1).commit();
    await turn();
    vi.advanceTimersByTime(1);
    await at(2).commit();
    await turn();
    const short = CROWDED_BATCH_LOCKS_MAX;
    expect(sizes(store)).toEqual([BATCH_LOCKS_MAX, short, short, BATCH_LOCKS_MAX]);
  });

  test("are refused if too many wait for a transaction; those in one do not count", async () => {
    const { submit, lanes } = scene({ queuedMax: 2 });
    submit(1n);
    submit(2n);
    expect(() => lanes.submit(3n, ADVANCE)).toThrow(
      expect.objectContaining({ kind: "overloaded", reason: "commands_queued", retryAfterMs: 250 }),
    );
    await turn();
    submit(1n);
    submit(3n);
    expect(() => lanes.submit(3n, ADVANCE)).toThrow(OVERLOADED);
  });

  test("for a row that is gone, or that has another name by now, are answered with null", async () => {
    const { submit, at, store } = scene();
    store.locks.delete(1n);
    const gone = submit(1n);
    const renamed = submit(2n, setLimit(3n));
    await turn();
    await at(0).commit();
    expect([await gone, await renamed]).toEqual([null, null]);
  });
});

describe("the lanes are drained", () => {
  test.each(["waits for its turn", "runs", "is held up"])(
    "only after a command is answered that %s",
    async (what) => {
      const { submit, lanes, at, store } = scene();
      await lanes.drained();
      submit(1n);
      if (what !== "waits for its turn") await turn();
      if (what === "is held up") await at(0).fail(held());
      const drained = vi.fn();
      for (let who = 0; who < 2; who++) void lanes.drained().then(drained);
      await turn();
      submit(2n);
      await at(store.begun.length - 1).commit();
      await turn();
      expect(drained).not.toHaveBeenCalled();
      await at(store.begun.length - 1).commit();
      await turn();
      expect(drained).toHaveBeenCalledTimes(2);
    },
  );
});

describe("a transaction that fails", () => {
  test("because of the database fails all of its commands with the same error, and their locks go on", async () => {
    const { submit, at, failed, store } = scene();
    const asked = [submit(1n), submit(2n)];
    await turn();
    await at(0).fail(away());
    const ended = await Promise.allSettled(asked);
    expect(ended).toMatchObject([
      { reason: { kind: "unavailable", outcomeUnknown: false } },
      { reason: { kind: "unavailable" } },
    ]);
    expect(failed).toEqual([(ended[0] as PromiseRejectedResult).reason]);
    const later = submit(1n);
    await turn();
    expect(store.lockIds).toEqual([[1n, 2n], [1n]]);
    await at(1).commit();
    expect(await later).toMatchObject({ outcome: { kind: "limit" } });
  });

  test("because of a bug is divided into one for each lock, so that one lock spoils no other", async () => {
    const { submit, at, answers, store, failed } = scene();
    const bug = new Error("A bug, made by a test.");
    const asked = [submit(1n), submit(2n), submit(3n)];
    await turn();
    await at(0).fail(bug);
    await at(1).commit();
    await at(2).fail(bug);
    await at(3).commit();
    expect(store.lockIds).toEqual([[1n, 2n, 3n], [1n], [2n], [3n]]);
    expect(answers).toEqual(["1 answered", "2 failed", "3 answered"]);
    await expect(asked[1]).rejects.toBe(bug);
    expect(failed).toEqual([bug]);
  });
});

describe("beside a lock whose rows another transaction holds", () => {
  test("the locks of a transaction are divided until that lock is alone, and waited for apart", async () => {
    const { submit, at, store, answers } = scene();
    for (const lockId of [1n, 2n, 3n, 4n]) submit(lockId);
    await turn();
    await at(0).fail(held());
    expect(store.lockIds.slice(1)).toEqual([[1n, 2n]]);
    await at(1).commit();
    await at(2).fail(held());
    await at(3).fail(held());
    // The third lock now waits patiently and takes no lane.
    expect(store.begun.map(patience)).toEqual(["1,2,3,4", "1,2", "3,4", "3", "3 patiently", "4"]);
    await at(5).commit();
    expect(answers).toEqual(["1 answered", "2 answered", "4 answered"]);
    await at(4).commit();
    expect(answers.at(-1)).toBe("3 answered");
  });

  test("a lock that was found held is waited for at once for a while, and then tried again", async () => {
    const { submit, store, meetHeld } = scene();
    const { patient } = await meetHeld(1n);
    await patient.commit();
    submit(1n);
    submit(2n);
    await turn();
    expect(store.begun.slice(2).map(patience)).toEqual(["1 patiently", "2"]);
    for (const begun of store.begun.slice(2)) await begun.commit();
    await vi.advanceTimersByTimeAsync(HELD_UP_MS);
    submit(1n);
    await turn();
    expect(store.at(4).plan.impatient).toBe(true);
  });

  test("waiting commands count as queued until the wait is over", async () => {
    const { submit, lanes, meetHeld } = scene({ queuedMax: 2 });
    const { patient } = await meetHeld(1n);
    submit(1n);
    expect(() => lanes.submit(2n, setLimit(2n))).toThrow(OVERLOADED);
    await patient.commit();
    await turn();
    submit(2n);
    expect(() => lanes.submit(3n, setLimit(3n))).toThrow(OVERLOADED);
  });

  test("a lock whose wait fails is stuck, and gets a slot alone", async () => {
    const { submit, at, store, meetHeld, failed } = scene();
    const { answer, patient } = await meetHeld(1n);
    await vi.advanceTimersByTimeAsync(ROLLED_BACK.longestMs + 1);
    await patient.fail(held());
    await expect(answer).rejects.toMatchObject(HELD_UP);
    expect(failed).toHaveLength(1);
    expect(() => submit(1n, ADVANCE)).toThrow(expect.objectContaining(HELD_UP));
    const next = submit(1n);
    submit(2n);
    await turn();
    expect(store.begun.slice(2).map(patience)).toEqual(["1 patiently", "2"]);
    await at(2).commit();
    await at(3).commit();
    expect(await next).toMatchObject({ outcome: { kind: "limit" } });
    await vi.advanceTimersByTimeAsync(STUCK_MS);
    submit(1n, ADVANCE);
    await turn();
    expect(at(4).plan.impatient).toBe(true);
  });

  test("locks that wait together in a patient slot are divided if one of them fails the others", async () => {
    const { submit, at, store, answers, failed } = scene({ patientSlots: 1 });
    for (const lockId of [1n, 2n]) {
      submit(lockId);
      await turn();
      await at(store.begun.length - 1).fail(held());
      await at(store.begun.length - 1).commit();
    }
    // Both locks are remembered as held, and wait together.
    submit(1n);
    submit(2n);
    await turn();
    expect(store.lockIds.at(-1)).toEqual([1n, 2n]);
    await at(4).fail(held());
    expect(store.lockIds.at(-1)).toEqual([1n]);
    await at(5).fail(held());
    expect(store.lockIds.at(-1)).toEqual([2n]);
    const bug = new Error("A bug, made by a test.");
    await at(6).fail(bug);
    // The first lock is tried again, now as a stuck lock.
    expect(store.lockIds.at(-1)).toEqual([1n]);
    await at(7).commit();
    expect(answers.slice(2)).toEqual(["2 failed", "1 answered"]);
    expect(failed).toEqual([bug]);
  });

  test.each([
    ["an advance", ADVANCE],
    ["an acquire of a capture", ofMany(1n)],
  ])("%s does not wait for it", async (_, optional) => {
    const { submit, at, store, failed } = scene();
    const answer = submit(1n, optional);
    await turn();
    await at(0).fail(held());
    await expect(answer).rejects.toMatchObject(HELD_UP);
    expect(failed).toMatchObject([HELD_UP]);
    expect(store.begun).toHaveLength(1);
  });

  test("a capture's acquire waits all the same if it may already have been committed", async () => {
    const { submit, at } = scene();
    const answer = submit(1n, ofMany(1n));
    await turn();
    await at(0).commitUnheard();
    await vi.runAllTimersAsync();
    await at(1).fail(held());
    expect(at(2).plan).toMatchObject({ impatient: false, requestIds: ["request for 1"] });
    await at(2).commit();
    expect(await answer).toMatchObject({ outcome: { kind: "held" } });
  });

  test("an advance that may have been committed does not wait", async () => {
    const { submit, at, store } = scene();
    const answer = submit(1n, ADVANCE);
    await turn();
    await at(0).fail(unknownOutcome());
    const failing = expect(answer).rejects.toMatchObject({ reason: ROW_LOCKED, outcomeUnknown: true });
    await vi.runAllTimersAsync();
    await at(1).fail(held());
    await failing;
    expect(store.begun).toHaveLength(2);
  });

  test("optional commands are refused while another command waits for the lock; after that it depends on their kind", async () => {
    const { submit, lanes, at, store, meetHeld } = scene();
    const { patient } = await meetHeld(1n);
    for (const optional of [ADVANCE, ofMany(1n)])
      expect(() => lanes.submit(1n, optional)).toThrow(expect.objectContaining(HELD_UP));
    await patient.commit();
    // Briefly contended: an Acquire that can take another lock is refused; an advance has no other lock.
    expect(() => lanes.submit(1n, ofMany(1n))).toThrow(expect.objectContaining(HELD_UP));
    const advance = submit(1n, ADVANCE);
    await turn();
    expect(store.begun).toHaveLength(3);
    expect(at(2).plan.impatient).toBe(true);
    await at(2).commit();
    expect(await advance).toMatchObject({ outcome: { kind: "done" } });
  });

  test("an advance of a lock that was held lately goes alone, when it is first", async () => {
    const { submit, store, at, meetHeld } = scene({ lanes: 1 });
    const { patient } = await meetHeld(1n);
    await patient.commit();
    submit(2n);
    submit(1n, ADVANCE);
    submit(3n);
    await turn();
    expect(store.lockIds.slice(2)).toEqual([[2n, 3n]]);
    await at(2).commit();
    submit(4n);
    await turn();
    expect(store.lockIds.slice(3)).toEqual([[1n]]);
    await at(3).commit();
    await turn();
    expect(store.lockIds.slice(4)).toEqual([[4n]]);
  });

  test("optional commands are refused if they share a transaction or a queue with a waiting one", async () => {
    const { submit, lanes, at, store, answers } = scene({ queuedMax: 4 });
    const change = submit(1n);
    const shares = submit(1n, ofMany(1n));
    await turn();
    const queued = submit(1n, ADVANCE);
    const alsoQueued = submit(1n);
    const refused = [
      expect(shares).rejects.toMatchObject(HELD_UP),
      expect(queued).rejects.toMatchObject(HELD_UP),
    ];
    await at(0).fail(held());
    await Promise.all(refused);
    expect(store.begun).toHaveLength(2);
    await at(1).commit();
    await turn();
    expect(at(2).lockIds).toEqual([1n]);
    await at(2).commit();
    expect([await change, await alsoQueued]).toMatchObject([
      { outcome: { version: 1n } },
      { outcome: { version: 2n } },
    ]);
    expect(answers).toHaveLength(4);
    // None of them counts as queued any more.
    await lanes.drained();
  });

  test("commands held up for long are reported by lock, later ones immediately, and no others", async () => {
    const { submit, heldUp, meetHeld } = scene();
    const { patient } = await meetHeld(1n);
    submit(1n);
    await vi.advanceTimersByTimeAsync(RETURNED_AFTER_MS - 1);
    expect(heldUp).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(heldUp).toEqual([1n, 1n]);
    submit(1n);
    submit(2n);
    expect(heldUp).toEqual([1n, 1n, 1n]);
    await patient.commit();
    await turn();
    const quick = scene();
    await (await quick.meetHeld(1n)).patient.commit();
    await vi.advanceTimersByTimeAsync(2 * RETURNED_AFTER_MS);
    expect(quick.heldUp).toEqual([]);
  });
});
