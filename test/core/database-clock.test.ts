// What the database clock's estimate says after late readings. ROWLOCK_TEST_SEED repeats a run, ROWLOCK_TEST_RUNS makes
// it longer.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLOCK_DRIFT_MAX, CLOCK_JUMP_US_MIN } from "../../server/core/bounds.ts";
import type { Clock } from "../../server/core/database-clock.ts";
import { DatabaseClock } from "../../server/core/database-clock.ts";
import { seed } from "../support/seed.ts";

const SECOND_US = 1_000_000;
const HOUR_US = 3_600 * SECOND_US;
const START_US = 1_700_000_000 * SECOND_US;
const numRuns = Number(process.env.ROWLOCK_TEST_RUNS ?? 200);

interface Passing {
  readonly passUs?: number;
  readonly stepUs?: number;
  /** Travel times of the question and of its answer. */
  readonly outUs?: number;
  readonly lateUs?: number;
}

function watched() {
  const jumps: number[] = [];
  const clock = new DatabaseClock();
  clock.onJump((byUs) => jumps.push(byUs));
  let monotonicUs = 5 * SECOND_US;
  let databaseUs = START_US;
  const pass = (us: number) => {
    monotonicUs += us;
    databaseUs += us;
  };
  const ask = () => {
    const askedUs = monotonicUs;
    const nowUs = databaseUs;
    return () => clock.read(nowUs, askedUs, monotonicUs);
  };
  return {
    clock,
    jumps,
    pass,
    /** Starts a reading now. Calling the result delivers its answer, which counts from the time of the question. */
    ask,
    estimate: () => clock.estimate(monotonicUs, Number.POSITIVE_INFINITY),
    latest: () => clock.latestUs(monotonicUs),
    forgettable: (keptForUs: number) => clock.forgettableUs(keptForUs, monotonicUs),
    doubt: () => clock.doubt(monotonicUs),
    /** Lets time pass, shifts the clock by a step, and reads it. */
    read({ passUs = SECOND_US, stepUs = 0, outUs = 0, lateUs = 0 }: Passing = {}): Clock {
      pass(passUs);
      databaseUs += stepUs;
      const askedUs = monotonicUs;
      pass(outUs);
      const nowUs = databaseUs;
      pass(lateUs);
      return clock.read(nowUs, askedUs, monotonicUs);
    },
    step(us: number) {
      databaseUs += us;
    },
    databaseUs: () => databaseUs,
  };
}

describe("the clock that decisions use", () => {
  test("does not go back when the clock becomes better known, so a new wait is not longer than requested", () => {
    const { read, pass, estimate, latest } = watched();
    read({ outUs: 60_000, lateUs: 60_000 });
    pass(10);
    const given = estimate() as Clock;
    const exact = read({ passUs: 20 });
    expect(exact.nowUs).toBe(given.nowUs);
    expect(exact.atLeastUs).toBeGreaterThan(given.atLeastUs);
    expect(estimate()?.nowUs).toBe(given.nowUs);
    expect(latest()).toBe(given.nowUs);
    expect(read({ passUs: SECOND_US }).nowUs).toBeGreaterThan(given.nowUs);
  });

  test("goes back when the database's clock does", () => {
    const { read, databaseUs } = watched();
    read();
    expect(read({ stepUs: -HOUR_US }).nowUs).toBe(databaseUs());
  });

  test("does not stay ahead because of a reading from before the clock was set back that is answered after one from after it", () => {
    const { read, ask, databaseUs } = watched();
    read();
    const answer = ask();
    const askedUs = databaseUs();
    read({ stepUs: -HOUR_US });
    expect(answer().nowUs).toBe(askedUs);
    expect(read().nowUs).toBe(databaseUs());
  });
});

describe("a jump", () => {
  test("is not assumed after a late reading, nor after the next punctual one", () => {
    const { read, jumps } = watched();
    read();
    read({ lateUs: 4 * SECOND_US });
    expect(read().jumpedAtUs).toBeNull();
    expect(jumps).toEqual([]);
  });

  test("is not assumed after a late first reading", () => {
    const { read, jumps } = watched();
    read({ lateUs: 560_000 });
    expect(read().jumpedAtUs).toBeNull();
    expect(read({ outUs: 560_000 }).jumpedAtUs).toBeNull();
    expect(jumps).toEqual([]);
  });

  test("ahead that is reverted delays deadlines no longer", () => {
    const { read } = watched();
    read();
    const jumpedAtUs = read({ stepUs: HOUR_US }).jumpedAtUs as number;
    const clock = read({ stepUs: -HOUR_US });
    expect(clock.jumpedAtUs as number).toBeCloseTo(jumpedAtUs - HOUR_US, -6);
    expect(clock.nowUs - (clock.jumpedAtUs as number)).toBe(SECOND_US);
  });

  test("back in a late reading is accepted only for the part that the delay cannot explain", () => {
    const { read, jumps } = watched();
    read();
    read({ stepUs: -2 * SECOND_US, outUs: 4 * SECOND_US });
    expect(jumps).toEqual([]);
    read({ stepUs: -5 * SECOND_US, outUs: 4 * SECOND_US });
    expect(jumps).toHaveLength(1);
  });

  test("is not reverted by a late reading from before it, which ends and shortens nothing", () => {
    const { read, ask, pass, jumps, databaseUs } = watched();
    read();
    const askedUs = databaseUs();
    const answer = ask();
    pass(1_000);
    read({ stepUs: HOUR_US });
    const clock = answer();
    expect(jumps).toHaveLength(1);
    expect(clock.atLeastUs).toBe(askedUs);
    expect(clock.nowUs).toBe(databaseUs());
    expect(clock.jumpedAtUs).not.toBeNull();
    expect(read().jumpedAtUs).toBe(clock.jumpedAtUs);
  });
});

describe("a small step", () => {
  test.each([50_000, -50_000])("of %i us is followed, and is no jump", (stepUs) => {
    const { read, estimate, jumps } = watched();
    read();
    const clock = read({ stepUs });
    expect(estimate()).toMatchObject({ atLeastUs: clock.nowUs, nowUs: clock.nowUs, jumpedAtUs: null });
    expect(jumps).toEqual([]);
  });

  test("hidden by late readings is found as soon as the clock is doubted", () => {
    const { read, step, doubt, estimate, ask } = watched();
    read();
    step(-50_000);
    // The estimate is still the one from before the step.
    expect(read({ outUs: 60_000 }).nowUs).toBeLessThan(estimate()?.atLeastUs as number);
    const before = ask();
    read({ passUs: 1, outUs: 60_000 });
    doubt();
    expect(estimate()).toBeNull();
    before();
    expect(estimate()).toBeNull();
    const { nowUs } = read({ outUs: 60_000 });
    expect(estimate()?.atLeastUs).toBeLessThanOrEqual(nowUs);
  });
});

test("a reading that was asked for before a doubt gives its own time, and not that of before the clock was set back", () => {
  const { read, step, pass, ask, doubt, estimate } = watched();
  read();
  pass(1_000);
  step(-HOUR_US);
  estimate();
  const answered = ask();
  pass(1);
  doubt();
  const { nowUs, atLeastUs } = answered();
  expect(nowUs).toBe(START_US + SECOND_US + 1_000 - HOUR_US);
  expect(atLeastUs).toBeLessThanOrEqual(nowUs);
});

describe("a short step", () => {
  test("ahead is not a jump, and what it skipped is added to what was given before", () => {
    const { read, jumps } = watched();
    read();
    expect(read({ stepUs: 300_000 })).toMatchObject({ jumpedAtUs: null, skippedUs: 300_000 + 1_000 });
    expect(jumps).toEqual([]);
  });

  test("wears off as a clock may drift", () => {
    const { read } = watched();
    read();
    const { skippedUs } = read({ stepUs: 300_000 });
    expect(read({ passUs: 100 * SECOND_US }).skippedUs).toBe(skippedUs - 100 * SECOND_US * CLOCK_DRIFT_MAX);
    expect(read({ passUs: HOUR_US }).skippedUs).toBe(0);
  });
});

describe("the known time", () => {
  test("protects what was kept since before a jump ahead, until the unseen lead of the clock ends", () => {
    const { read, forgettable, step, pass, databaseUs } = watched();
    read();
    const beforeUs = databaseUs();
    expect(forgettable(HOUR_US)).toBe(beforeUs);
    step(2 * HOUR_US);
    expect(forgettable(HOUR_US)).toBe(beforeUs);
    read({ passUs: 0 });
    pass(HOUR_US - 1);
    expect(forgettable(HOUR_US)).toBeNull();
    pass(1);
    expect(forgettable(HOUR_US)).toBeGreaterThan(beforeUs + 2 * HOUR_US);
  });

  test("after a gap counts from the first reading", () => {
    const { read, clock } = watched();
    const first = read();
    expect(first.backAtUs).toBe(first.nowUs);
    expect(read().backAtUs).toBe(first.nowUs);
    clock.cameBack();
    const again = read();
    expect(again.backAtUs).toBe(again.nowUs);
  });
});

// Short enough that two of the longest delays and a minute's drift do not hide a jump.
const DELAY_US_MAX = 200_000;

const event = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      outUs: fc.nat(DELAY_US_MAX),
      lateUs: fc.nat(DELAY_US_MAX),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      us: fc.oneof(fc.nat(1_000), fc.nat(SECOND_US), fc.nat(60 * SECOND_US)),
      drift: fc.double({ min: -1, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("jump" as const),
      us: fc.constantFrom(-HOUR_US, -2 * SECOND_US, 2 * SECOND_US, HOUR_US),
    }),
  },
);
type Event = (typeof event extends fc.Arbitrary<infer T> ? T : never) & object;

/** Runs the events with overlapping readings: each reading is answered when its time comes, between other events. */
function run(
  events: readonly Event[],
  check: (at: { clock: DatabaseClock; t: number; trueUs: number }) => void,
) {
  const clock = new DatabaseClock();
  const jumps: number[] = [];
  clock.onJump((byUs) => jumps.push(byUs));
  let t = 0;
  let trueUs = START_US;
  let drift = 0;
  /**
   * `clearFrom`: readings from then on cannot be mistaken for readings from before the last jump. `isSeen`: one of them
   * has come.
   */
  let clearFrom = 0;
  let isSeen = true;
  const made: { askedUs: number; madeUs: number; answeredUs: number; nowUs: number | null }[] = [];
  const passTo = (until: number) => {
    for (;;) {
      const next = made
        .flatMap((one) => [
          { one, at: one.madeUs, what: "make" as const, done: one.nowUs !== null },
          { one, at: one.answeredUs, what: "answer" as const, done: false },
        ])
        .filter(({ at, done }) => !done && at <= until)
        .toSorted((a, b) => a.at - b.at || (a.what === "make" ? -1 : 1))[0];
      const to = next?.at ?? until;
      trueUs += (to - t) * (1 + drift * CLOCK_DRIFT_MAX);
      t = to;
      if (!next) return;
      if (next.what === "make") next.one.nowUs = Math.floor(trueUs);
      else {
        made.splice(made.indexOf(next.one), 1);
        const { nowUs, askedUs } = next.one;
        const told = clock.read(nowUs as number, askedUs, t);
        expect(told.nowUs).toBeGreaterThanOrEqual(nowUs as number);
        expect(told.atLeastUs).toBeLessThanOrEqual(nowUs as number);
        isSeen ||= askedUs >= clearFrom;
        if (isSeen) check({ clock, t, trueUs });
      }
    }
  };
  for (const each of events) {
    if (each.kind === "read") {
      made.push({
        askedUs: t,
        madeUs: t + each.outUs,
        answeredUs: t + each.outUs + each.lateUs,
        nowUs: null,
      });
    } else if (each.kind === "pass") {
      drift = each.drift;
      passTo(t + each.us);
      if (isSeen) check({ clock, t, trueUs });
    } else {
      // A question asked at the very instant of the step would be neither before nor after it.
      passTo(t + 1);
      trueUs += each.us;
      clearFrom = Math.max(t, ...made.map(({ answeredUs }) => answeredUs));
      isSeen = false;
    }
  }
  passTo(t + 2 * DELAY_US_MAX);
  return jumps;
}

describe(`random readings, seed ${seed}`, () => {
  const within = ({ clock, t, trueUs }: { clock: DatabaseClock; t: number; trueUs: number }) => {
    const known = clock.estimate(t, Number.POSITIVE_INFINITY);
    if (!known) return;
    // Readings are in whole microseconds.
    expect(known.atLeastUs).toBeLessThanOrEqual(trueUs + 1);
    expect(known.nowUs).toBeGreaterThanOrEqual(trueUs - 1);
  };

  test("without a jump never report one, and keep the clock within its bounds", () => {
    const calm = fc.array(event, { maxLength: 60 }).map((all) => all.filter(({ kind }) => kind !== "jump"));
    fc.assert(
      fc.property(calm, (events) => {
        expect(run(events, within)).toEqual([]);
      }),
      { seed, numRuns },
    );
  });

  test("keep it within its bounds again after a jump, once all earlier requests are answered", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => void run(events, within)),
      { seed, numRuns },
    );
  });

  test("report a single jump, and the latest time at which it can have been", () => {
    const few = fc.array(
      event.filter(({ kind }) => kind === "read"),
      { minLength: 1, maxLength: 5 },
    );
    const passing = { kind: "pass", us: SECOND_US, drift: 0 } as const;
    const step = fc.constantFrom(-HOUR_US, -2 * SECOND_US, 2 * SECOND_US, HOUR_US);
    fc.assert(
      fc.property(few, step, few, (before, us, after) => {
        const jumps = run([...before, passing, { kind: "jump", us }, ...after], () => {});
        expect(jumps).toHaveLength(1);
        expect(Math.abs((jumps[0] as number) - us)).toBeLessThan(CLOCK_JUMP_US_MIN);
      }),
      { seed, numRuns },
    );
  });
});
