// The steps of a scenario. A step is a verb with its argument and with expectations beside it. A verb that is neither
// in runner-verbs.ts nor `each` is a command to a driver; README.md lists these.
//
//   gives: {...}      what the answer must match (see matches.ts); by default any answer that is not an error
//   fails: {...}      what the error must match
//   becomes: {...}    repeats the question until the answer matches
//   later: true       a later step awaits the answer: `answer: NAME`
//   keep: {x: path}   keeps a part of the answer as ${x}
//   times: 10         ten commands at once, distinguished by ${i}
//   took: {$max: ms}  how long the answer took
//   by: ${instant}    the latest time for the answer or event, in milliseconds since 1970
//   as: NAME          the name for `answer` and `order`
//
// `each: {rows: [...], steps: [...]}` runs the same steps for each row in turn, with ${row.FIELD}.

import type { Json } from "./driver-process.ts";
import { check, checkAsked, inTime } from "./expectations.ts";
import { RUNNER_VERBS, type Verb } from "./runner-verbs.ts";
import { readSteps, type Step } from "./scenario.ts";
import type { Stage } from "./stage.ts";

/** Runs the steps in order. Throws at the first that fails. */
export async function takeSteps(stage: Stage, steps: readonly Step[]): Promise<void> {
  for (const [index, step] of steps.entries()) {
    try {
      await (step.verb === "each" ? takeForEach(stage, step) : take(stage, step));
    } catch (error) {
      const words = `step ${index + 1} (${step.verb} ${JSON.stringify(step.about)}): ${(error as Error).message}`;
      throw new Error(words, { cause: error });
    }
  }
}

async function take(stage: Stage, step: Step): Promise<void> {
  const verb = RUNNER_VERBS[step.verb] ?? command;
  if (step.times === 1) {
    await verb(stage, stage.fill(step));
    return;
  }
  const each = Array.from({ length: step.times }, (_, index) => {
    stage.values.set("i", index);
    return verb(stage, stage.fill(step));
  });
  await Promise.all(each);
}

async function takeForEach(stage: Stage, { about }: Step): Promise<void> {
  const { rows, steps } = about as { rows: Json[]; steps: unknown };
  for (const row of rows) {
    for (const [field, value] of Object.entries(row)) stage.values.set(`row.${field}`, stage.fill(value));
    try {
      await takeSteps(stage, readSteps(steps));
    } catch (error) {
      throw new Error(`row ${JSON.stringify(row)}: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** Sends a command to a driver. */
const command: Verb = async (stage, step) => {
  const about = step.about as Json;
  const ask = () => stage.ask({ do: step.verb, ...about });
  if (step.becomes !== undefined) {
    await checkAsked(stage, step, async () => {
      const { result, error } = (await inTime(ask().answer)).line;
      if (error) throw new Error(`It has failed.\n    ${JSON.stringify(error)}`);
      return result;
    });
    return;
  }
  const asked = ask();
  // If the driver has ended, the step that awaits the answer reports it.
  asked.answer.catch(() => {});
  const name = String(step.as ?? about.lock);
  if (step.later) {
    stage.asked.set(name, asked);
    return;
  }
  const heard = await inTime(asked.answer);
  stage.heard.set(name, heard);
  check(stage, step, heard, asked.sentMs);
};
