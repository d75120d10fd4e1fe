// What the activity counts, in which step, and how it forgets.

import { describe, expect, test } from "vitest";
import type { EngineEvent } from "../../server/engine/answers.ts";
import { Activity } from "../../server/page/activity.ts";
import { ACTIVITY_STEP_MS, ACTIVITY_STEPS } from "../../server/page/page-bounds.ts";

const granted = (waitedUs: number | null): EngineEvent =>
  ({
    kind: "event",
    lockName: "x",
    event: { kind: "granted", queued: waitedUs !== null, waitedUs: waitedUs ?? 0 },
  }) as never;
const ended = (was: string, endReason: string): EngineEvent =>
  ({ kind: "event", lockName: "x", event: { kind: "ended", was, claim: { endReason } } }) as never;
const answered = (verb: string, kind: string): EngineEvent =>
  ({ kind: "answered", command: { verb }, outcome: { kind } }) as never;

/** Activity with a clock that the test sets. */
function clocked() {
  const clock = { ms: 1_000_000 };
  const activity = new Activity(() => clock.ms);
  return {
    activity,
    see: (...events: EngineEvent[]) => {
      for (const event of events) activity.observe(event);
    },
    pass: (steps: number) => {
      clock.ms += steps * ACTIVITY_STEP_MS;
    },
    last: (count = 1) => {
      const { series } = activity.body();
      return Object.fromEntries(Object.entries(series).map(([name, values]) => [name, values.slice(-count)]));
    },
  };
}

const QUIET = { grants: [0], handOvers: [0], waitMsP50: [null], waitMsP99: [null], refused: [0], lost: [0] };

test("at first, all steps are quiet", () => {
  const { activity, last } = clocked();
  const { stepMs, endMs, series } = activity.body();
  expect(stepMs).toBe(ACTIVITY_STEP_MS);
  expect(Math.abs(Date.now() - endMs)).toBeLessThan(60_000);
  for (const values of Object.values(series)) expect(values).toHaveLength(ACTIVITY_STEPS);
  expect(last()).toEqual(QUIET);
});

describe("a step", () => {
  test("is shown when it is over, as counts a second", () => {
    const { see, pass, last } = clocked();
    see(granted(null), granted(1_000), granted(2_000), granted(null), granted(null));
    see(answered("acquire", "refused"), answered("acquire", "held"), answered("renew", "ended"));
    expect(last()).toEqual(QUIET);
    pass(1);
    expect(last()).toMatchObject({ grants: [1], handOvers: [0.4], refused: [0.2], lost: [0] });
    pass(1);
    expect(last(2)).toMatchObject({ grants: [1, 0], handOvers: [0.4, 0] });
  });

  test("counts leases that ended without their holders", () => {
    const { see, pass, last } = clocked();
    see(
      ended("held", "released"),
      ended("held", "spent"),
      ended("held", "expired"),
      ended("held", "lapsed"),
      ended("held", "force_released"),
    );
    see(ended("waiting", "cancelled"), ended("waiting", "timed_out"));
    pass(1);
    expect(last()).toMatchObject({ lost: [0.6] });
  });

  test("has the waits of those who had waited, within a tenth", () => {
    const { see, pass, last } = clocked();
    see(granted(null));
    for (let ms = 1; ms <= 100; ms += 1) see(granted(ms * 1_000));
    pass(1);
    const { waitMsP50, waitMsP99 } = last();
    for (const [shown, exact] of [
      [waitMsP50?.[0], 50],
      [waitMsP99?.[0], 99],
    ] as const) {
      expect(shown).toBeGreaterThan(exact * 0.9);
      expect(shown).toBeLessThan(exact * 1.1);
    }
    // The shortest and the longest have a class, too.
    see(granted(0));
    pass(1);
    expect(last().waitMsP50?.[0]).toBeLessThan(0.01);
    see(granted(1e15));
    pass(1);
    expect(last().waitMsP99?.[0]).toBeGreaterThan(1e9);
  });
});

test("steps without events pass, too, and the oldest are forgotten", () => {
  const { see, pass, last } = clocked();
  see(granted(null));
  pass(3);
  see(granted(null), granted(null));
  pass(1);
  expect(last(4).grants).toEqual([0.2, 0, 0, 0.4]);
  pass(ACTIVITY_STEPS - 4);
  expect(last(ACTIVITY_STEPS).grants?.[0]).toBe(0.2);
  pass(1);
  expect(last(ACTIVITY_STEPS).grants?.[0]).toBe(0);
  expect(last(ACTIVITY_STEPS).grants?.[2]).toBe(0.4);
  pass(10 * ACTIVITY_STEPS);
  see(granted(null));
  pass(1);
  expect(last(ACTIVITY_STEPS).grants).toEqual([...Array(ACTIVITY_STEPS - 1).fill(0), 0.2]);
});
