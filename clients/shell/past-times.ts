// Times in the past as people write and read them, in the time zone of their terminal.

import { InvalidArgumentError } from "commander";
import { UNIT_MS } from "./context.ts";

const AGO = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const CLOCK = /^(\d\d?):(\d\d)(?::(\d\d))?$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const DATE_AND_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?$/;

/** Parses a flag. */
export function parsePast(text: string): Date {
  const date = pastOf(text, new Date());
  if (date && !Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError(
    "write a time such as 2h (ago), 03:12 (in the last 24 hours), yesterday, 2030-01-31 or 2030-01-31T06:00:00Z",
  );
}

/** The instant that a person means at `now`; undefined: none. What has no zone is in that of the terminal. */
export function pastOf(text: string, now: Date): Date | undefined {
  const [, number, unit] = AGO.exec(text) ?? [];
  if (unit) return new Date(now.getTime() - Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  if (text === "now") return now;
  if (text === "today") return midnight(now, 0);
  if (text === "yesterday") return midnight(now, -1);
  const [isClock, hours, minutes, seconds = 0] = CLOCK.exec(text) ?? [];
  if (isClock) return lastTime(Number(hours), Number(minutes), Number(seconds), now);
  // Without a time, JavaScript would take it for midnight in UTC.
  if (DAY.test(text)) return new Date(`${text}T00:00`);
  return DATE_AND_TIME.test(text) ? new Date(text.replace(" ", "T")) : undefined;
}

function midnight(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days);
}

/** The last time that clocks showed this. */
function lastTime(hours: number, minutes: number, seconds: number, now: Date): Date | undefined {
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const on = (days: number) => {
    const date = midnight(now, days);
    date.setHours(hours, minutes, seconds);
    return date;
  };
  return on(0) <= now ? on(0) : on(-1);
}

/** 2030-01-31 06:00:00, in the time zone of the terminal. */
export function localTime(date: Date): string {
  return `${localDay(date)} ${localClock(date)}`;
}

/** 2030-01-31 */
export function localDay(date: Date): string {
  return [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join("-");
}

/** 06:00:00 */
export function localClock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
