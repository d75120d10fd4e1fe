// Many runs, each from a seed. One that breaks a promise is made shorter and printed, so that it can be read and run again.

import { expect, test } from "vitest";
import { seed } from "../../test/support/seed.ts";
import { DIFFERENCES } from "./planted.ts";
import { runSeeds, Thread } from "./seeds.ts";
import { stepsOf } from "./steps.ts";

const SEEDS = Number(process.env.ROWLOCK_TEST_SEEDS ?? 2_000);
/** The same runs every time, so that what fails is a change; run.ts looks at others. */
const FROM = process.env.ROWLOCK_TEST_SEED === undefined ? 1 : seed >>> 0;
/** On a machine that does twenty other things. */
const SLOWEST_MS_PER_SEED = 600;
const FEW_TRIES = 60;
const SAME_SEEDS = 15;

test(
  `all promises are kept in ${SEEDS} runs`,
  async () => {
    const { runs, broken } = await runSeeds({ from: FROM, count: SEEDS, stopsAtBreach: true });
    const [first] = broken;
    expect(first && (await told(first.seed))).toBeUndefined();
    expect(runs).toBe(SEEDS);
  },
  120_000 + SEEDS * SLOWEST_MS_PER_SEED,
);

test.each([
  [
    2107279,
    "a Capture was repeated after the clock was set back, and the late first attempt gave its lease back",
  ],
  [2110844, "a task was made by a call that was under way for so long that the end of the run overlooked it"],
  [
    3014532,
    "a server that had doubts about its clock gave a task a rest until the time before the clock was set back",
  ],
])("seed %i keeps all promises: %s", async (one) => {
  const thread = await Thread.start();
  const { breaches } = await thread.history(one);
  await thread.end();
  expect(breaches).toEqual([]);
});

test("the same seed gives the same run, to the last event", async () => {
  // Whatever ran in the thread before, and however long it has been there.
  const seeds = Array.from({ length: SAME_SEEDS }, (_, index) => FROM + index);
  const [ones, others] = await Promise.all(
    [seeds, seeds.toReversed()].map(async (inOrder) => {
      const thread = await Thread.start();
      const runs = new Map<number, Awaited<ReturnType<Thread["history"]>>>();
      for (const each of inOrder) runs.set(each, await thread.history(each));
      await thread.end();
      return runs;
    }),
  );
  expect(ones?.get(FROM + 1)?.trace.length).toBeGreaterThan(100);
  for (const each of seeds) {
    const one = ones?.get(each);
    expect(one?.lines.length).toBeGreaterThan(10);
    expect(one?.trace.length).toBeGreaterThan(10);
    expect(one, `seed ${each}`).toEqual(others?.get(each));
  }
});

test("a run that breaks a promise is made shorter", async () => {
  const difference = DIFFERENCES.find(({ fault }) => fault === "gives a token twice");
  const { broken } = await runSeeds({
    from: 1,
    count: 200,
    threads: 1,
    stopsAtBreach: true,
    ...(difference && { difference }),
  });
  const found = broken[0]?.seed as number;
  const thread = await Thread.start(difference);
  const short = await thread.shortened(found, FEW_TRIES);
  await thread.end();
  const rules = ({ breaches }: Pick<typeof short, "breaches">) => breaches.map(({ rule }) => rule);
  expect(short.steps.length).toBeLessThan(stepsOf(found).length);
  expect(rules(short)).toEqual(
    expect.arrayContaining([expect.toBeOneOf(rules({ breaches: short.shortBreaches }))]),
  );
});

/** What a person needs to know of a run that has failed. */
async function told(failed: number): Promise<string> {
  const thread = await Thread.start();
  const { breaches, shortBreaches, steps, history, tries } = await thread.shortened(failed);
  await thread.end();
  const lines = (all: typeof breaches) => all.map(({ rule, what }) => `  ${rule}: ${what}`);
  return [
    `Seed ${failed} breaks promises; to run it again: node proof/simulation/run.ts --shorten ${failed}`,
    ...lines(breaches),
    `${steps.length} steps are left after ${tries} runs:`,
    ...steps.map((step) => `  ${JSON.stringify(step)}`),
    "Their history:",
    ...history.map((line) => `  ${line}`),
    ...lines(shortBreaches),
  ].join("\n");
}
