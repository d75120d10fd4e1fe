// Dates and times as people write them. A date that is in no calendar, such as 30 February, is none: JavaScript would take
// it for another one.

const WRITTEN =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/;
const DAY_MS = 86_400_000;
const MIN_MS = 60_000;

/** Year, month from 1 on, day, hours, minutes, seconds. */
type Fields = readonly [number, number, number, number, number, number];

/** A time without a zone, in that of the terminal. */
export interface LocalTime {
  readonly date: Date;
  /** The other instant at which clocks showed this, the later one. */
  readonly again?: Date;
  /** Set if clocks never showed this: `date` is then what they showed so long after the gap began. */
  readonly isSkipped?: true;
}

/** The instant that a text with a zone names, such as 2030-01-01T06:00:00Z; undefined: none. */
export function instantOf(text: string): Date | undefined {
  const [isWritten, , , , hours, , , , zone] = WRITTEN.exec(text) ?? [];
  if (isWritten === undefined || zone === undefined || hours === undefined || !fieldsOf(text))
    return undefined;
  const date = new Date(text.replace(" ", "T"));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** What a day, or a day and a time, without a zone names; undefined: no such day or time, or it has a zone. */
export function localTimeOf(text: string): LocalTime | undefined {
  const fields = fieldsOf(text);
  if (!fields || WRITTEN.exec(text)?.[8] !== undefined) return undefined;
  const found = localTimeAt(fields);
  const ms = Math.trunc(Number(`0.${WRITTEN.exec(text)?.[7] ?? 0}`) * 1_000);
  // Setting a field would choose between two such times again.
  for (const date of [found.date, found.again]) date?.setTime(date.getTime() + ms);
  return found;
}

/** When clocks showed this. */
export function localTimeAt(fields: Fields): LocalTime {
  const date = dateAt(fields);
  if (!shows(date, fields)) return { date, isSkipped: true };
  const offsetMs = (days: number) => new Date(date.getTime() + days * DAY_MS).getTimezoneOffset() * MIN_MS;
  const other = new Date(date.getTime() + offsetMs(1) - offsetMs(-1));
  if (other.getTime() === date.getTime() || !shows(other, fields)) return { date };
  return other < date ? { date: other, again: date } : { date, again: other };
}

function dateAt([year, month, day, hours, minutes, seconds]: Fields): Date {
  const date = new Date(2000, 0, 1, 0, 0, 0);
  // The constructor takes years before 100 for others.
  date.setFullYear(year, month - 1, day);
  date.setHours(hours, minutes, seconds, 0);
  return date;
}

function shows(date: Date, [, , day, hours, minutes]: Fields): boolean {
  return date.getDate() === day && date.getHours() === hours && date.getMinutes() === minutes;
}

/** The fields of what is written, if a calendar and a clock have them. */
function fieldsOf(text: string): Fields | undefined {
  const found = WRITTEN.exec(text);
  if (!found) return undefined;
  const [year, month, day, hours, minutes, seconds] = found.slice(1, 7).map((field) => Number(field ?? 0));
  const fields = [year, month, day, hours, minutes, seconds] as unknown as Fields;
  const [, m, d, h, min, s] = fields;
  const end = new Date(0);
  end.setUTCFullYear(fields[0], m, 0);
  const isThere = m >= 1 && m <= 12 && d >= 1 && d <= end.getUTCDate() && h < 24 && min < 60 && s < 60;
  return isThere ? fields : undefined;
}
