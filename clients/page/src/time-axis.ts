// Where the marks of a time axis stand, and what they say.

import { clock, day } from "./words.ts";

const S = 1_000;
const MIN = 60 * S;
const H = 60 * MIN;
const D = 24 * H;
const STEPS_MS = [S, 2 * S, 5 * S, 10 * S, 15 * S, 30 * S]
  .concat([MIN, 2 * MIN, 5 * MIN, 10 * MIN, 15 * MIN, 30 * MIN])
  .concat([H, 2 * H, 3 * H, 6 * H, 12 * H])
  .concat([D, 2 * D, 5 * D, 10 * D, 30 * D, 100 * D, 365 * D]);

export interface Mark {
  readonly ms: number;
  readonly text: string;
}

/** At most `count` marks at round times of the browser's zone. */
export function marksOf(fromMs: number, untilMs: number, count: number): Mark[] {
  const stepMs = STEPS_MS.find((step) => (untilMs - fromMs) / step <= count) ?? (STEPS_MS.at(-1) as number);
  const zoneMs = new Date(fromMs).getTimezoneOffset() * MIN;
  const marks: Mark[] = [];
  for (let ms = Math.ceil((fromMs - zoneMs) / stepMs) * stepMs + zoneMs; ms <= untilMs; ms += stepMs) {
    const date = new Date(ms);
    marks.push({ ms, text: stepMs >= D ? day(date) : clock(date).slice(0, stepMs >= MIN ? 5 : 8) });
  }
  return marks;
}
