// The simulation is checked: it must catch each planted fault within a number of seeds. Says after how many it did.

import { afterAll, expect, test } from "vitest";
import { DIFFERENCES } from "./planted.ts";
import { runSeeds } from "./seeds.ts";

/** Twice as many as any of them took; most took fewer than a hundred. */
const SEEDS_MAX = 6_000;
const SLOWEST_MS = 600_000;
const caught: string[] = [];

afterAll(() => console.info(caught.join("\n")));

test.each(DIFFERENCES)(
  "a server that $fault is caught",
  async (difference) => {
    const { runs, broken } = await runSeeds({ from: 1, count: SEEDS_MAX, difference, stopsAtBreach: true });
    const [first] = broken;
    expect(first, `${runs} runs kept all promises`).toBeDefined();
    const rules = [...new Set(first?.breaches.map(({ rule }) => rule))];
    caught.push(`${difference.fault}: seed ${first?.seed}, ${rules.join("; ")}`);
  },
  SLOWEST_MS,
);
