// The background loops of a replica: what each does, how much it does at a time, and how it handles a database that was
// away.

import { afterEach, beforeEach, describe, expect, type Mock, test, vi } from "vitest";
import type { ClaimRef } from "../../../server/core/claim.ts";
import type { EngineEvent } from "../../../server/engine/answers.ts";
import { Background, type BackgroundOptions } from "../../../server/engine/background/background.ts";
import * as bounds from "../../../server/engine/engine-bounds.ts";
import { CLAIM } from "../../support/claims.ts";

// The fake timers do not reach this import.
vi.mock(import("node:timers/promises"), async (original) => ({
  ...(await original()),
  setTimeout: ((ms: number) => new Promise((resolve) => setTimeout(resolve, ms))) as never,
}));

// Keeps heartbeats from coinciding with the other loops.
const GRACE_MS = 8_400;
const HEARTBEAT_MS = GRACE_MS / bounds.HEARTBEATS_PER_GRACE;
const ATTACHED_MS = 10_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  // No jitter.
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const ref = (ticketNumber: bigint): ClaimRef => ({ ...CLAIM, ticketNumber });
const numbers = (claims: readonly ClaimRef[]) => claims.map(({ ticketNumber }) => Number(ticketNumber));

function scene() {
  const followed: ClaimRef[] = [];
  const comingBack: ClaimRef[] = [];
  const heartbeats: number[][] = [];
  const registered: string[] = [];
  const started: bigint[] = [];
  const failures: string[] = [];
  /** Rows that another transaction holds. */
  const heldUp = new Set<bigint>();
  let due: bigint[] = [];
  let failing: Error | null = null;
  const dueAsked: bigint[] = [];
  let clockReads = 0;
  const purges = {
    ...{ claims: [] as number[], locks: [] as number[], claimsLeft: 0, locksLeft: 0, rows: 0 },
    ...{ trimmed: [] as number[][], changes: [] as number[][], forgotten: [] as number[][] },
    ...{ forgetNext: [] as number[], newestUs: null as number | null },
  };
  const clock = { cameBack: vi.fn(), forgettableUs: vi.fn((): number | null => 777) };
  const look: Mock = vi.fn(async () => {});
  const deleted: [string, number][] = [];
  const fails = async <Answer>(answer: Answer): Promise<Answer> => {
    if (failing) throw failing;
    return answer;
  };
  const purge = (which: "claims" | "locks") => async (untilUs: number, max: number) => {
    purges[which].push(untilUs);
    const deleted = Math.min(max, purges[`${which}Left`]);
    purges[`${which}Left`] -= deleted;
    return deleted;
  };
  const store = {
    clock,
    heartbeat: (_replica: bigint, claims: readonly ClaimRef[]) => {
      heartbeats.push(numbers(claims));
      return fails(claims.filter(({ ticketNumber }) => heldUp.has(ticketNumber)));
    },
    dueLocks: (after: bigint, max: number) => {
      if (max === 1) clockReads += 1;
      else dueAsked.push(after);
      const left = due.filter((id) => id > after);
      const lockIds = left.slice(0, max);
      return fails({ nowUs: 0, lockIds, next: left.length > max ? (lockIds.at(-1) ?? null) : null });
    },
    noteKeptBy: async () => {},
    purgeClaims: purge("claims"),
    purgeLocks: purge("locks"),
    endedClaims: async () => (purges.newestUs === null ? [] : [{ claim: { endedAtUs: purges.newestUs } }]),
    async forgetRequests(fromUs: number, untilUs: number) {
      purges.forgotten.push([fromUs, untilUs]);
      return purges.forgetNext.shift() ?? null;
    },
    historyStats: async () => ({ rows: purges.rows, overdueUs: 0 }),
    async trimHistory(untilUs: number, max: number) {
      purges.trimmed.push([untilUs, max]);
      return max;
    },
    async purgeChanges(untilUs: number, keptMax: number) {
      purges.changes.push([untilUs, keptMax]);
      return 0;
    },
  };
  const background = new Background({
    store,
    followers: { claims: () => followed },
    returned: { claims: () => comingBack },
    detachments: { async repeat() {}, during: (heartbeat: () => Promise<void>) => heartbeat() },
    policy: {
      graceUs: GRACE_MS * 1_000,
      attachedForUs: ATTACHED_MS * 1_000,
      keptForUs: () => 9,
      queueMax: 9,
    },
    replica: 5n,
    cleaning: { idleLockUs: 55, retentionUs: 9, historyRowsMax: 10_000, changesUs: 70, keptBy: "test" },
    advances: { start: async (lockId: bigint) => void started.push(lockId), again() {} },
    claimsFromAhead: { async bringBack() {} },
    checked: { mustBeNewEnough: () => fails(undefined) },
    rulesInForce: { register: () => fails(void registered.push("registered")) },
    witness: { look },
    observer: (event: EngineEvent) => event.kind === "deleted" && deleted.push([event.what, event.rows]),
    invariantChecks: { async run() {} },
    doctorIntervalMs: null,
    onFailure: (loop: string) => failures.push(loop),
  } as unknown as BackgroundOptions);
  return {
    ...{ background, followed, comingBack, heartbeats, registered, started, failures, heldUp, clock },
    ...{ dueAsked, purges, look, deleted },
    setDue(ids: bigint[]) {
      due = ids;
    },
    fail(error: Error | null) {
      failing = error;
    },
    clockReads: () => clockReads,
  };
}
const away = () => new Error("The database is away, by a test.");
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("a replica that starts registers itself, searches for rows that were set back, and reads the clock before any loop runs; or fails", async () => {
  const { background, registered, look, fail, dueAsked, clockReads } = scene();
  fail(away());
  await expect(background.start()).rejects.toThrow("away");
  await pass(10 * bounds.SWEEP_INTERVAL_MS);
  expect(dueAsked).toEqual([]);
  fail(null);
  await background.start();
  expect(registered).toHaveLength(2);
  expect(look).toHaveBeenCalledTimes(1);
  expect(clockReads()).toBe(1);
  await background.stop();
});

describe("heartbeats", () => {
  test("keep the places of followers and of returning waiters, a bounded number at a time", async () => {
    const { background, followed, comingBack, heartbeats } = scene();
    for (let number = 1; number <= bounds.HEARTBEAT_KEYS_MAX; number++) followed.push(ref(BigInt(number)));
    comingBack.push(ref(7_000n));
    await background.start();
    await pass(HEARTBEAT_MS - 1);
    expect(heartbeats).toEqual([]);
    await pass(1);
    expect(heartbeats.map((part) => part.length)).toEqual([bounds.HEARTBEAT_KEYS_MAX, 1]);
    expect(heartbeats[1]).toEqual([7_000]);
    await background.stop();
  });

  test("that a locked row has prevented are soon repeated, for the places that are still followed", async () => {
    const { background, followed, heartbeats, heldUp } = scene();
    followed.push(ref(1n), ref(2n), ref(3n));
    heldUp.add(2n).add(3n);
    await background.start();
    await pass(HEARTBEAT_MS);
    expect(heartbeats).toEqual([[1, 2, 3]]);
    followed.pop();
    await pass(bounds.HEARTBEAT_AGAIN_MS);
    expect(heartbeats.slice(1)).toEqual([[2]]);
    heldUp.clear();
    await pass(bounds.HEARTBEAT_AGAIN_MS);
    expect(heartbeats.slice(2)).toEqual([[2]]);
    await pass(bounds.HEARTBEAT_AGAIN_MS);
    expect(heartbeats).toHaveLength(3);
    await background.stop();
  });

  test("of a replica without waiters are replaced by its own sign of life", async () => {
    const { background, registered, followed, heartbeats } = scene();
    await background.start();
    await pass(HEARTBEAT_MS);
    expect(registered).toHaveLength(2);
    expect(heartbeats).toEqual([]);
    followed.push(ref(1n));
    await pass(HEARTBEAT_MS);
    expect(registered).toHaveLength(2);
    expect(heartbeats).toEqual([[1]]);
    await background.stop();
  });

  test("run before decisions, once for all, after they have failed for half the time that a place lasts", async () => {
    const { background, followed, heartbeats, clock, fail } = scene();
    followed.push(ref(1n));
    await pass(ATTACHED_MS / 2 - 1);
    expect(background.lateFromMs).toBeGreaterThan(performance.now());
    await pass(1);
    expect(background.lateFromMs).toBe(performance.now());
    // A failure makes the waiting decisions fail, and the next decision tries again.
    fail(away());
    await expect(background.lateHeartbeat()).rejects.toThrow("away");
    expect(clock.cameBack).not.toHaveBeenCalled();
    fail(null);
    const first = background.lateHeartbeat();
    expect(background.lateHeartbeat()).toBe(first);
    await first;
    expect(heartbeats).toEqual([[1], [1]]);
    // Waiters of other replicas get more time, too.
    expect(clock.cameBack).toHaveBeenCalledTimes(1);
    expect(background.lateFromMs).toBeGreaterThan(performance.now());
    await pass(ATTACHED_MS / 2);
    await background.lateHeartbeat();
    expect(heartbeats).toHaveLength(3);
  });

  test("that fail in their loop are reported, and the next ones notice that the database was away", async () => {
    const { background, failures, fail, clock } = scene();
    await background.start();
    fail(away());
    await pass(2 * HEARTBEAT_MS);
    expect(failures).toContain("heartbeat");
    await pass(ATTACHED_MS);
    fail(null);
    await pass(2 * HEARTBEAT_MS);
    expect(clock.cameBack).toHaveBeenCalledTimes(1);
    await background.stop();
  });
});

test("a sweep goes on from lock to lock, a bounded part at a time, and begins again after the last one", async () => {
  const { background, started, setDue, dueAsked } = scene();
  const count = bounds.SWEEP_LOCKS_MAX * bounds.SWEEP_ROUNDS_MAX + 1;
  const due = Array.from({ length: count }, (_, index) => BigInt(index + 1));
  setDue(due);
  await background.start();
  await pass(bounds.SWEEP_INTERVAL_MS);
  const firsts = Array.from({ length: bounds.SWEEP_ROUNDS_MAX + 1 }, (_, round) => {
    return BigInt(round * bounds.SWEEP_LOCKS_MAX);
  });
  expect(dueAsked).toEqual(firsts.slice(0, -1));
  expect(started).toEqual(due.slice(0, -1));
  await pass(bounds.SWEEP_INTERVAL_MS);
  expect(dueAsked).toEqual(firsts);
  expect(started).toEqual(due);
  await pass(bounds.SWEEP_INTERVAL_MS);
  expect(dueAsked[firsts.length]).toBe(0n);
  await background.stop();
});

describe("a purge", () => {
  test("goes on in rounds while there is more, but not for ever", async () => {
    const { background, purges, deleted } = scene();
    purges.claimsLeft = 2 * bounds.PURGE_ROWS_MAX;
    purges.locksLeft = Number.POSITIVE_INFINITY;
    await background.start();
    await pass(bounds.PURGE_INTERVAL_MS + 1_000);
    expect(purges.claims).toEqual([777, 777, 777]);
    expect(purges.locks).toEqual(Array.from({ length: bounds.PURGE_ROUNDS_MAX }, () => 55));
    const part = (what: string) => [what, bounds.PURGE_ROWS_MAX];
    expect(deleted.slice(0, 3)).toEqual([part("ended_claims"), part("ended_claims"), part("idle_locks")]);
    expect(deleted).toHaveLength(2 + bounds.PURGE_ROUNDS_MAX);
    await background.stop();
  });

  test("looks about once a minute whether there are too many ended claims, and for old changes", async () => {
    const { background, purges } = scene();
    purges.rows = 10_000;
    await background.start();
    await pass(bounds.PURGE_INTERVAL_MS);
    expect(purges.trimmed).toEqual([]);
    expect(purges.changes).toEqual([[777 - 70, bounds.CHANGES_KEPT_MAX]]);
    purges.rows = 10_000 + bounds.PURGE_ROWS_MAX + 30;
    await pass(bounds.TRIM_INTERVAL_MS - bounds.PURGE_INTERVAL_MS);
    expect(purges.trimmed).toEqual([]);
    await pass(2 * bounds.PURGE_INTERVAL_MS);
    // None that is younger than the retention.
    expect(purges.trimmed).toEqual([
      [777 - 9, bounds.PURGE_ROWS_MAX],
      [777 - 9, 30],
    ]);
    expect(purges.changes).toHaveLength(2);
    await background.stop();
  });

  test("request ids are forgotten after the retention time, from where the last round stopped, and not over again", async () => {
    const { background, purges, clock } = scene();
    const DAY_US = bounds.FORGOTTEN_BEFORE_US;
    clock.forgettableUs.mockReturnValue(3 * DAY_US);
    purges.newestUs = 2 * DAY_US;
    purges.forgetNext = [2 * DAY_US - 5];
    await background.start();
    await vi.advanceTimersByTimeAsync(2 * bounds.PURGE_INTERVAL_MS);
    const untilUs = 3 * DAY_US - 9;
    expect(purges.forgotten.slice(0, 2)).toEqual([
      [DAY_US - 9, untilUs],
      [2 * DAY_US - 5, untilUs],
    ]);
    await vi.advanceTimersByTimeAsync(2 * bounds.PURGE_INTERVAL_MS);
    expect(purges.forgotten.at(-1)).toEqual([untilUs, untilUs]);
    // The clock was set back.
    clock.forgettableUs.mockReturnValue(DAY_US);
    await vi.advanceTimersByTimeAsync(2 * bounds.PURGE_INTERVAL_MS);
    expect(purges.forgotten.at(-1)).toEqual([DAY_US - 9, DAY_US - 9]);
    await background.stop();
  });

  test("deletes no claim while the clock cannot measure its age, but still deletes locks", async () => {
    const { background, purges, clock } = scene();
    clock.forgettableUs.mockReturnValue(null);
    await background.start();
    await pass(bounds.PURGE_INTERVAL_MS);
    expect(clock.forgettableUs).toHaveBeenCalledWith(9, performance.now() * 1_000);
    expect(purges.claims).toEqual([]);
    expect(purges.locks).toEqual([55]);
    await background.stop();
  });
});
