// The marks of a time axis, and what they say.

import { DAY_MS, MIN_MS, roundTimes, stepOf } from "../../shell/time-axis.ts";
import { clock, day } from "./words.ts";

export interface Mark {
  readonly ms: number;
  readonly text: string;
}

/** At most `count` marks at round times of the browser's zone. */
export function marksOf(fromMs: number, untilMs: number, count: number): Mark[] {
  const stepMs = stepOf((step) => (untilMs - fromMs) / step <= count);
  return roundTimes(fromMs, untilMs, stepMs).map((ms) => {
    const date = new Date(ms);
    return { ms, text: stepMs >= DAY_MS ? day(date) : clock(date).slice(0, stepMs >= MIN_MS ? 5 : 8) };
  });
}
