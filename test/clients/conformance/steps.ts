// The steps of a scenario. A step is a verb with what it is about, and what is expected beside it. Verbs that are not in
// runner-verbs.ts, and not `each`, are commands to a driver, as README.md lists them.
//
//   gives: {...}      what the answer must match (see matches.ts); unless told otherwise, any answer that is no error
//   fails: {...}      what the error must match
//   becomes: {...}    asked again until the answer matches
//   later: true       the answer is for a later step, `answer: NAME`
//   keep: {x: path}   keeps a part of the answer as ${x}
//   times: 10         ten of it at once, told apart by ${i}
//   took: {$max: ms}  how long the answer was on its way
//   by: ${instant}    the answer or event must have come by then, in milliseconds since 1970
//   as: NAME          under which `answer` and `order` speak of it
//
// `each: {rows: [...], steps: [...]}` takes the same steps for each row, one row after the other, with ${row.FIELD}.

import type { Json } from "./driver-process.ts";
import { check, checkAsked, inTime } from "./expectations.ts";
import { RUNNER_VERBS, type Verb } from "./runner-verbs.ts";
import { readSteps, type Step } from "./scenario.ts";
import type { Stage } from "./stage.ts";

/** One after the other. Throws at the first that does not go as it should. */
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

/** To a driver. */
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
  // A driver that has ended is told of by the step that waits for the answer.
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
