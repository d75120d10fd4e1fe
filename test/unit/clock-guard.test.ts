// The guard against a database whose clock jumps: what it believes, and when.

import { describe, expect, test } from "vitest";
import { ClockGuard } from "../../server/engine/clock-guard.ts";

const SECOND_US = 1_000_000;
const HOUR_US = 3_600 * SECOND_US;
const START_US = 1_700_000_000 * SECOND_US;

function guarded() {
  const jumps: number[] = [];
  const clocks = { monotonicUs: 5 * SECOND_US, databaseUs: START_US };
  const guard = new ClockGuard(
    (byUs) => jumps.push(byUs),
    () => clocks.monotonicUs,
  );
  return {
    jumps,
    /** Lets time pass, sets the database's clock off by a step, and reads it; `lateUs`: the reading was on its way. */
    read({ passUs = SECOND_US, stepUs = 0, lateUs = 0 }) {
      clocks.databaseUs += passUs + stepUs;
      clocks.monotonicUs += passUs;
      const askedUs = guard.ask();
      const readUs = clocks.databaseUs;
      clocks.databaseUs += lateUs;
      clocks.monotonicUs += lateUs;
      return guard.read(readUs, askedUs);
    },
  };
}

describe("the guard of the database's clock", () => {
  test.each([SECOND_US, 60 * SECOND_US, HOUR_US])("believes a step ahead of %i us at once", (stepUs) => {
    const { read, jumps } = guarded();
    read({});
    const clock = read({ stepUs });
    expect(clock.jumpedAtUs).toBe(clock.nowUs);
    expect(jumps).toHaveLength(1);
    expect(jumps[0]).toBeCloseTo(stepUs, -4);
    expect(read({}).jumpedAtUs).toBe(clock.jumpedAtUs);
    expect(jumps).toHaveLength(1);
  });

  test("takes a late reading for neither a step back nor, when the next one is in time, a step ahead", () => {
    const { read, jumps } = guarded();
    read({});
    read({ lateUs: 4 * SECOND_US });
    expect(read({}).jumpedAtUs).toBeNull();
    expect(jumps).toEqual([]);
  });

  test("believes a step back at once, and then the step ahead that takes it back", () => {
    const { read, jumps } = guarded();
    read({});
    read({ stepUs: -HOUR_US });
    expect(jumps).toHaveLength(1);
    expect(jumps[0]).toBeCloseTo(-HOUR_US, -6);
    // Soon after it: a lease that was given in between would otherwise have ended an hour ago.
    const clock = read({ passUs: SECOND_US / 10, stepUs: HOUR_US });
    expect(clock.jumpedAtUs).toBe(clock.nowUs);
  });

  test("does not put off what is due for longer when a jump ahead is taken back", () => {
    const { read } = guarded();
    read({});
    const jumpedAtUs = read({ stepUs: HOUR_US }).jumpedAtUs as number;
    const clock = read({ stepUs: -HOUR_US });
    expect(clock.jumpedAtUs as number).toBeCloseTo(jumpedAtUs - HOUR_US, -6);
    expect(clock.nowUs - (clock.jumpedAtUs as number)).toBeCloseTo(SECOND_US, -6);
  });

  test("believes a step back in a late reading only for what the delay cannot explain", () => {
    const { read, jumps } = guarded();
    read({});
    read({ stepUs: -2 * SECOND_US, lateUs: 4 * SECOND_US });
    expect(jumps).toHaveLength(1);
    expect(jumps[0]).toBeCloseTo(-2 * SECOND_US, -5);
  });

  test("takes drift for drift, however long it goes on", () => {
    const { read, jumps } = guarded();
    for (let hour = 0; hour < 48; hour++) read({ passUs: HOUR_US, stepUs: -HOUR_US * 0.0005 });
    expect(jumps).toEqual([]);
  });

  test("does not make much of a long silence: a step ahead in it is seen", () => {
    const { read } = guarded();
    read({});
    const clock = read({ passUs: 60 * SECOND_US, stepUs: 60 * SECOND_US });
    expect(clock.jumpedAtUs).toBe(clock.nowUs);
  });
});
