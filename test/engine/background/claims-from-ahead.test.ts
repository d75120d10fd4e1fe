// When claims are looked at that a clock that was ahead may have given their times, and how many are brought back at once.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Advance } from "../../../server/core/command.ts";
import type { Lock } from "../../../server/core/lock.ts";
import type { ClaimTimes } from "../../../server/core/transitions.ts";
import { ClaimsFromAhead } from "../../../server/engine/background/claims-from-ahead.ts";
import * as bounds from "../../../server/engine/engine-bounds.ts";
import { CLAIM, FREE_LOCK } from "../../support/claims.ts";

const NOW_US = 1e15;
const HOUR_US = 3.6e9;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function scene() {
  let jumped = (_byUs: number) => {};
  /** `isDeaf`: advances do nothing. */
  const state = { isKnown: true, isDeaf: false, failing: null as Error | null };
  const claims = new Map<bigint, ClaimTimes>();
  const locks: Lock[] = [];
  const looks: number[] = [];
  const advanced: [bigint, number][] = [];
  const ahead = new ClaimsFromAhead({
    store: {
      clock: {
        onJump: (listener: typeof jumped) => {
          jumped = listener;
        },
        latestUs: () => (state.isKnown ? NOW_US : null),
      },
      async claimTimes(see: (claims: readonly ClaimTimes[]) => void) {
        looks.push(performance.now());
        if (state.failing) throw state.failing;
        see([...claims.values()]);
      },
      limitRules: async () => [],
      busyLocks: async (see: (locks: readonly { readonly lock: Lock }[]) => void) =>
        see(locks.map((lock) => ({ lock }))),
    },
    advances: {
      async start(lockId: bigint, { claims: named = [] }: Advance) {
        advanced.push([lockId, named.length]);
        if (state.isDeaf) return;
        for (const { ticketNumber } of named) claims.delete(ticketNumber);
        for (const lock of locks) if (lock.id === lockId) lock.rateUntilUs = NOW_US;
      },
    },
  } as unknown as ConstructorParameters<typeof ClaimsFromAhead>[0]);
  return {
    ...{ state, claims, locks, looks, advanced, bringBack: () => ahead.bringBack() },
    add(lockId: bigint, count: number, times: Partial<ClaimTimes> = {}) {
      for (let made = 0; made < count; made++) {
        const ticketNumber = BigInt(claims.size + 1);
        const own = {
          lockId,
          ticketNumber,
          state: "held",
          requestedAtUs: NOW_US,
          deadlineUs: NOW_US + HOUR_US,
        } as const;
        claims.set(ticketNumber, { ...CLAIM, grantedAtUs: NOW_US, ttlUs: 1e6, ...own, ...times });
      }
    },
    setBack: () => jumped(-HOUR_US),
    setAhead: () => jumped(HOUR_US),
    /** Asks again and again for so long, in steps of the loop. */
    async for(ms: number) {
      for (let passed = 0; passed < ms; passed += bounds.AHEAD_INTERVAL_MS) {
        await ahead.bringBack();
        vi.advanceTimersByTime(bounds.AHEAD_INTERVAL_MS);
      }
    },
  };
}

const LONG_MS = 10 * bounds.AHEAD_AGAIN_MS;

describe("all claims are looked at", () => {
  test("at the start, once more when earlier transactions are over, and again after the clock was set back alone", async () => {
    const { for: pass, looks, setBack, setAhead } = scene();
    await pass(LONG_MS);
    expect(looks.map((ms) => ms - (looks[0] as number))).toEqual([0, bounds.AHEAD_AGAIN_MS]);
    setAhead();
    await pass(LONG_MS);
    expect(looks).toHaveLength(2);
    setBack();
    await pass(LONG_MS);
    expect(looks).toHaveLength(4);
  });

  test("when the clock is known, and soon again after a failure", async () => {
    const stage = scene();
    stage.state.isKnown = false;
    await stage.for(LONG_MS);
    expect(stage.looks).toHaveLength(0);
    stage.state.isKnown = true;
    stage.state.failing = new Error("away");
    await expect(stage.bringBack()).rejects.toThrow("away");
    stage.state.failing = null;
    stage.add(7n, 1);
    await stage.bringBack();
    expect(stage.advanced).toEqual([[7n, 1]]);
  });
});

test("a clock that is set back during a look causes another one at once", async () => {
  const stage = scene();
  await stage.for(LONG_MS);
  stage.setBack();
  const { length } = stage.looks;
  const looking = stage.bringBack();
  vi.advanceTimersByTime(1);
  stage.setBack();
  await looking;
  await stage.bringBack();
  expect(stage.looks).toHaveLength(length + 2);
});

test("only claims from a clock that was ahead are brought back, those of a lock together", async () => {
  const stage = scene();
  stage.add(7n, 3);
  stage.add(8n, 2, { deadlineUs: NOW_US });
  stage.add(9n, 1, { deadlineUs: null, ttlUs: null });
  stage.add(10n, 1, { state: "waiting", requestedAtUs: NOW_US + HOUR_US });
  await stage.bringBack();
  expect(stage.advanced).toEqual([
    [7n, 3],
    [10n, 1],
  ]);
});

test("a lock is advanced whose waiters wait for a rate that counts from a time ahead, and no other lock", async () => {
  const stage = scene();
  const rate = { permits: 1, perUs: 1e6, burst: 10 };
  const waited = { ...FREE_LOCK, rate, waiting: 1, wakesAtUs: NOW_US + HOUR_US };
  stage.locks.push(
    { ...waited, id: 7n, rateUntilUs: NOW_US + HOUR_US },
    { ...waited, id: 8n, rateUntilUs: NOW_US + 10e6 },
    { ...waited, id: 9n, rateUntilUs: NOW_US + HOUR_US, waiting: 0, wakesAtUs: null },
  );
  await stage.bringBack();
  expect(stage.advanced).toEqual([[7n, 0]]);
});

test("a bounded number is brought back at a time, and the rest the next times, without another look", async () => {
  const stage = scene();
  const most = bounds.AHEAD_CLAIMS_MAX * bounds.AHEAD_ROUNDS_MAX;
  stage.add(7n, 2 * most + 1);
  for (const left of [most + 1, 1, 0]) {
    await stage.bringBack();
    expect(stage.claims.size).toBe(left);
  }
  expect(stage.looks).toHaveLength(1);
  expect(Math.max(...stage.advanced.map(([, count]) => count))).toBe(bounds.AHEAD_CLAIMS_MAX);
});
