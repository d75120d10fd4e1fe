// How a person writes the values of flags and arguments. Each parser throws an InvalidArgumentError, which the command
// reports: it says what to write instead.

import { InvalidArgumentError } from "commander";
import {
  ATTEMPTS_MAX,
  DELAY_US_MAX,
  DURATION_US_MAX,
  NAME_BYTES_MAX,
  STATUS_BYTES_MAX,
  STATUSES_MAX,
  TTL_US_MIN,
} from "../../server/core/bounds.ts";
import { UNIT_MS } from "./context.ts";
import { timeWords } from "./print.ts";

/** Makes a parser of times such as 500ms, 30s, 5m, 2h and 1d. It returns milliseconds; a bare number is seconds. */
export function timeParser(minMs: number, maxMs = DURATION_US_MAX / 1_000): (text: string) => number {
  return (text) => {
    const [, number = "", unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? [];
    const ms = Number(number || Number.NaN) * UNIT_MS[unit as keyof typeof UNIT_MS];
    if (Number.isNaN(ms)) throw new InvalidArgumentError("write a time such as 30s, 500ms, 5m or 2h");
    if (ms < minMs || ms > maxMs)
      throw new InvalidArgumentError(`write a time from ${timeWords(minMs)} to ${timeWords(maxMs)}`);
    return ms;
  };
}

/** Makes a parser of whole numbers within bounds. */
export function countParser(min = 0, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isNaN(count)) throw new InvalidArgumentError("write a whole number");
    if (count < min || count > max) throw new InvalidArgumentError(`write a number from ${min} to ${max}`);
    return count;
  };
}

export const parseTtl = timeParser(TTL_US_MIN / 1_000);
export const parseDelay = timeParser(0, DELAY_US_MAX / 1_000);
export const parseAttempts = countParser(0, ATTEMPTS_MAX);

export function parseWait(text: string): number | "forever" {
  return text === "forever" ? text : timeParser(0)(text);
}

export function parseName(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > 0 && bytes <= NAME_BYTES_MAX) return text;
  const fault = bytes === 0 ? "it is empty" : `it is ${bytes} bytes long`;
  throw new InvalidArgumentError(`${fault}: name the lock in 1 to ${NAME_BYTES_MAX} bytes`);
}

export function parseStatus(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= STATUS_BYTES_MAX) return text;
  throw new InvalidArgumentError(`it is ${bytes} bytes long: use at most ${STATUS_BYTES_MAX}`);
}

/** For a flag that may be repeated. */
export function addStatus(text: string, statuses: readonly string[] = []): readonly string[] {
  if (statuses.length === STATUSES_MAX)
    throw new InvalidArgumentError(`there are more than ${STATUSES_MAX}: use fewer`);
  return [...statuses, parseStatus(text)];
}

/** For a flag that may be repeated. */
export function addLabel(text: string, labels: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at === 0) throw new InvalidArgumentError("write key=value, with a key");
  return at < 0 ? { ...labels, [text]: "" } : { ...labels, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Returns an instant; null: at any time. A time is an instant from now on. */
export function parseNotBefore(
  text: string,
): { readonly notBefore: Date | null } | { readonly notBeforeIn: number } {
  if (text === "none") return { notBefore: null };
  if (!/^\d{4}-/.test(text)) return { notBeforeIn: parseDelay(text) };
  const isInstant = /T.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
  if (isInstant) return { notBefore: new Date(text) };
  throw new InvalidArgumentError("write an instant with its zone, such as 2030-01-01T06:00:00Z");
}

type Given<Fields> = { readonly [Field in keyof Fields]?: Exclude<Fields[Field], undefined> };

/** Returns the fields that are defined: the client's options accept no undefined ones. */
export function given<const Fields extends object>(fields: Fields): Given<Fields> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as Given<Fields>;
}
