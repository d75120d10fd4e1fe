// Nothing is granted before its not_before: a task that is made with a rest, or put off, is not taken during the rest. The
// rest counts by the database's clock, so one during which that clock was set says nothing.

import type { ClockStepped, History } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import type { Span } from "./spans.ts";

/** What is asked of a database that runs up to a thousandth faster or slower. */
const DRIFT = 0.001;

interface Rest {
  readonly task: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Grants with a higher token came after it began. */
  readonly token: bigint;
}

export function rests(history: History): Breach[] {
  const steps = history.of("step");
  const taken = Map.groupBy(
    history.of("take").flatMap(({ taken, who, endMs }) => taken.map((one) => ({ ...one, who, endMs }))),
    ({ task }) => task,
  );
  const breaches: Breach[] = [];
  for (const rest of restsIn(history)) {
    if (steps.some((step) => overlaps(rest, step))) continue;
    for (const { who, token, endMs } of taken.get(rest.task) ?? []) {
      if (BigInt(token) <= rest.token || endMs >= rest.untilMs) continue;
      const what = `${rest.task}: ${who} was given ${token} ${(rest.untilMs - endMs).toFixed(0)} ms too early`;
      breaches.push({ rule: "nothing is granted before its time", what });
    }
  }
  return breaches;
}

/**
 * Tasks that were made with a rest, or put off, while the clock was wrong. If it was ahead, they rest for that much longer:
 * such a rest cannot be told from one that is wanted.
 */
export function wronglyRested(history: History): ReadonlySet<string> {
  const steps = history.of("step");
  const rested = [...history.of("make"), ...history.of("finish")].filter(
    ({ restMs, startMs, endMs, outcome }) => {
      // Without an answer, it may have happened at any later time.
      const untilMs = outcome === "unknown" ? Number.POSITIVE_INFINITY : endMs;
      return restMs > 0 && steps.some((step) => overlaps({ fromMs: startMs, untilMs }, step));
    },
  );
  return new Set(rested.map(({ task }) => task));
}

function restsIn(history: History): Rest[] {
  const made = history
    .of("make")
    .filter(({ outcome }) => outcome === "done")
    .map(({ task, startMs, restMs }) => restOf(task, startMs, restMs, 0n));
  const putOff = history
    .of("finish")
    .filter(({ outcome, status }) => outcome === "released" && status === "again")
    .map(({ task, startMs, restMs, token }) => restOf(task, startMs, restMs, BigInt(token)));
  return [...made, ...putOff].filter(({ fromMs, untilMs }) => untilMs > fromMs);
}

function restOf(task: string, startMs: number, restMs: number, token: bigint): Rest {
  return { task, token, fromMs: startMs, untilMs: startMs + restMs * (1 - DRIFT) };
}

function overlaps({ fromMs, untilMs }: Span, { startMs, endMs }: ClockStepped): boolean {
  return startMs <= untilMs && endMs >= fromMs;
}
