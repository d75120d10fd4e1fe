// Makes a failing run shorter: leaves out steps for as long as the same promise is still broken. What is left out changes
// when everything else happens, so each shorter list is tried with a few kinds of luck.

import type { Breach } from "../faults/checker/breach.ts";
import { type Run, simulate } from "./simulate.ts";
import type { Step } from "./step.ts";
import { stepsOf } from "./steps.ts";
import type { Rows } from "./store/database.ts";
import type { Planted } from "./store/sim-store.ts";

/** Runs, each of which takes some tens of milliseconds. */
export const TRIES_MAX = 600;
const LUCKS = 4;

export interface Short {
  /** What the whole run breaks. */
  readonly breaches: readonly Breach[];
  readonly steps: readonly Step[];
  /** With which these steps break them. */
  readonly luck: number;
  readonly history: readonly string[];
  readonly shortBreaches: readonly Breach[];
  readonly tries: number;
}

export async function shortened(
  rows: Rows,
  seed: number,
  planted: Planted = {},
  triesMax = TRIES_MAX,
): Promise<Short> {
  const whole = await simulate(rows, seed, { planted });
  const rules = new Set(whole.breaches.map(({ rule }) => rule));
  let best: { steps: readonly Step[]; luck: number; run: Run } = {
    steps: stepsOf(seed),
    luck: 0,
    run: whole,
  };
  let tries = 0;
  /** Whether the same promise is broken with these steps. */
  const fails = async (steps: readonly Step[]): Promise<boolean> => {
    for (let luck = 0; luck < LUCKS; luck++) {
      tries += 1;
      const run = await simulate(rows, seed, { planted, steps, luck });
      if (!run.breaches.some(({ rule }) => rules.has(rule))) continue;
      best = { steps, luck, run };
      return true;
    }
    return false;
  };
  for (let part = Math.ceil(best.steps.length / 2); rules.size > 0 && part >= 1 && tries < triesMax; ) {
    let isShorter = false;
    for (let at = 0; at < best.steps.length && tries < triesMax; ) {
      const without = [...best.steps.slice(0, at), ...best.steps.slice(at + part)];
      if (await fails(without)) isShorter = true;
      else at += part;
    }
    if (part > 1) part = Math.ceil(part / 2);
    else if (!isShorter) break;
  }
  return {
    breaches: whole.breaches,
    steps: best.steps,
    luck: best.luck,
    history: best.run.history.entries.map((entry) => JSON.stringify(entry)),
    shortBreaches: best.run.breaches,
    tries,
  };
}
