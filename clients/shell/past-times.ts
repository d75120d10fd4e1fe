// Times in the past as people write and read them, in the time zone of their terminal.

import { InvalidArgumentError } from "commander";
import { UNIT_MS } from "./context.ts";
import { instantOf, type LocalTime, localTimeAt, localTimeOf } from "./written-times.ts";

const AGO = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const CLOCK = /^(\d\d?):(\d\d)(?::(\d\d))?$/;

/** An instant in the past, and what to say of it: clocks showed what was written twice, or never. */
export interface Past {
  readonly date: Date;
  readonly note?: string;
}

/** Parses a flag. */
export function parsePast(text: string): Past {
  const past = pastOf(text, new Date());
  if (past) return past;
  throw new InvalidArgumentError(
    "write a time such as 2h (ago), 03:12 (in the last 24 hours), yesterday, 2030-01-31 or 2030-01-31T06:00:00Z",
  );
}

/** What a person means at `now`; undefined: nothing. What has no zone is in that of the terminal. */
export function pastOf(text: string, now: Date): Past | undefined {
  const [, number, unit] = AGO.exec(text) ?? [];
  if (unit) return { date: new Date(now.getTime() - Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS]) };
  if (text === "now") return { date: now };
  if (text === "today" || text === "yesterday")
    return firstOf(midnight(now, text === "today" ? 0 : -1), text);
  const [isClock, hours, minutes, seconds = 0] = CLOCK.exec(text) ?? [];
  if (isClock) return lastTime(Number(hours), Number(minutes), Number(seconds), now);
  const date = instantOf(text);
  if (date) return { date };
  const local = localTimeOf(text);
  return local && firstOf(local, text);
}

function firstOf({ date, again, isSkipped }: LocalTime, text: string): Past {
  if (isSkipped) return { date, note: `Clocks here never showed ${text}: ${localTime(date)} was taken.` };
  if (!again) return { date };
  const [first, second] = [date, again].map(instantWords);
  return {
    date,
    note: `Clocks here showed ${text} twice: the first one was taken, ${first}; the other is ${second}.`,
  };
}

function midnight(now: Date, days: number): LocalTime {
  return timeOn(now, days, 0, 0, 0);
}

function timeOn(now: Date, days: number, hours: number, minutes: number, seconds: number): LocalTime {
  const noon = new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, 12);
  return localTimeAt([noon.getFullYear(), noon.getMonth() + 1, noon.getDate(), hours, minutes, seconds]);
}

/** The last time that clocks showed this. */
function lastTime(hours: number, minutes: number, seconds: number, now: Date): Past | undefined {
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const today = timeOn(now, 0, hours, minutes, seconds);
  if (today.date > now) return lastOf(timeOn(now, -1, hours, minutes, seconds));
  if (!today.isSkipped) return lastOf(today, now);
  const { date } = timeOn(now, -1, hours, minutes, seconds);
  return { date, note: `Clocks here did not show this time today: ${localTime(date)} was taken.` };
}

function lastOf({ date, again, isSkipped }: LocalTime, now?: Date): Past {
  if (isSkipped) return { date, note: `Clocks here did not show this time: ${localTime(date)} was taken.` };
  if (!again) return { date };
  const isFirst = now !== undefined && again > now;
  if (isFirst) return { date };
  const [first, last] = [date, again].map(instantWords);
  return {
    date: again,
    note: `Clocks here showed this time twice: the last one was taken, ${last}; the first is ${first}.`,
  };
}

/** With its zone, as only that distinguishes two times that clocks show alike. */
function instantWords(date: Date): string {
  return date.toISOString().replace(/\.000Z$/, "Z");
}

/** 2030-01-31 06:00:00, in the time zone of the terminal. */
export function localTime(date: Date): string {
  return `${localDay(date)} ${localClock(date)}`;
}

const SAID_BY_A_SERVER = /(?:(yesterday) at |(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d:\d\d) UTC\b/g;

/** The words of a server about a wait, with its times, such as `14:03:20 UTC`, as 2030-01-31 15:03:20 in the terminal's zone. */
export function inLocalTime(words: string, now: Date): string {
  return words.replace(SAID_BY_A_SERVER, (_, yesterday?: string, day?: string, clock?: string) => {
    const that = new Date(now);
    if (yesterday !== undefined) that.setUTCDate(that.getUTCDate() - 1);
    const date = new Date(`${day ?? that.toISOString().slice(0, 10)}T${clock}Z`);
    return Number.isNaN(date.getTime()) ? _ : localTime(date);
  });
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
