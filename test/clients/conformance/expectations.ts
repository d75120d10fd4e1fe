// Checks whether an answer or event is as its step says, and waits until it is. Every wait is bounded.

import { setTimeout as sleep } from "node:timers/promises";
import { type Heard, type Json, PATIENCE_MS } from "./driver-process.ts";
import { mismatch } from "./matches.ts";
import type { Step } from "./scenario.ts";
import type { Stage } from "./stage.ts";
import { at } from "./values.ts";

const POLL_EVERY_MS = 25;

/** Throws if the line is not as the step says. Stores what the step keeps. */
export function check(stage: Stage, step: Step, heard: Heard, sentMs: number): void {
  const { gives, fails, took, by, keep } = step;
  const { result, error } = heard.line;
  const whole = `\n    ${JSON.stringify(heard.line)}`;
  if (fails !== undefined && error === undefined) throw new Error(`It should have failed.${whole}`);
  if (fails === undefined && error !== undefined) throw new Error(`It has failed.${whole}`);
  const wrong = fails === undefined ? gives !== undefined && mismatch(result, gives) : mismatch(error, fails);
  if (wrong) throw new Error(`${wrong}${whole}`);
  const tookMs = Math.round(heard.atMs - sentMs);
  const late = took !== undefined && mismatch(tookMs, took, "the time it took");
  if (late) throw new Error(late);
  if (by !== undefined && heard.atEpochMs > (by as number))
    throw new Error(`It came ${heard.atEpochMs - (by as number)} ms too late.`);
  for (const [name, path] of Object.entries(keep)) stage.values.set(name, at(result ?? heard.line, path));
}

/** Asks once, or repeatedly until the answer matches the step's `becomes`. */
export async function checkAsked(stage: Stage, step: Step, ask: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const result = await ask();
    const wrong = step.becomes === undefined ? undefined : mismatch(result, step.becomes);
    if (wrong === undefined) {
      check(stage, step, heardNow({ result }), performance.now());
      return;
    }
    if (performance.now() > untilMs) throw new Error(`After ${PATIENCE_MS} ms ${wrong}`);
    await sleep(POLL_EVERY_MS);
  }
}

/** Wraps an answer from the runner itself. */
export function heardNow(line: Json): Heard {
  return { order: 0, atMs: performance.now(), atEpochMs: Date.now(), line };
}

export async function inTime<Value>(answer: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const error = new Error(`No answer within ${PATIENCE_MS} ms.`);
  const timer = setTimeout(() => late.reject(error), PATIENCE_MS);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
