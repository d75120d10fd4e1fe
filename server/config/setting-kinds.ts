// The kinds of values that settings have: how each is written, its bounds, and what to do about a wrong one. Knows no
// setting by name. A library of schemas would save nothing here: each kind has its own advice, and help shows its bound.

import { UNIT_MS } from "../../clients/shell/context.ts";

export interface Kind<Value> {
  /** How a value is shown in usage lines, such as `<duration>`. */
  readonly placeholder: string;
  readonly bound: string;
  /** What holds if nothing is written; unset: an empty text. */
  readonly usual?: string;
  read(text: string): Value | Refusal;
}

/** Why a text is no value. The message says what to write instead; it completes the sentence "ROWLOCK_X is "…": ". */
export class Refusal extends Error {}

/** Milliseconds, written like 500ms, 10s, 5m, 2h or 7d; a bare number is seconds, as in the shell. */
export function duration(min: string, max: string): Kind<number> {
  const [minMs, maxMs] = [durationMs(min), durationMs(max)];
  return {
    placeholder: "<duration>",
    bound: `${min} to ${max}`,
    read(text) {
      const ms = durationMs(text);
      if (ms >= minMs && ms <= maxMs) return ms;
      return new Refusal(
        `write a duration such as 500ms, 10s, 5m, 2h or 7d, from ${min} to ${max}; a number alone means seconds`,
      );
    },
  };
}

/** NaN: the text is no duration. */
export function durationMs(text: string): number {
  const [, number = "", unit = "s"] = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text) ?? [];
  return Number(number || Number.NaN) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

export function count(min: number, max: number): Kind<number> {
  return {
    placeholder: "<number>",
    bound: `${min} to ${max}`,
    read(text) {
      const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : new Refusal(`write a whole number from ${min} to ${max}`);
    },
  };
}

/** The same, or this word, which becomes null, and which is usual. */
export function or<Value>(word: string, { placeholder, bound, read }: Kind<Value>): Kind<Value | null> {
  return {
    placeholder,
    bound: `${bound}, or ${word}`,
    usual: word,
    read(text) {
      if (text === word) return null;
      const value = read(text);
      return value instanceof Refusal ? new Refusal(`${value.message}, or ${word}`) : value;
    },
  };
}

export function oneOf<const Word extends string>(words: readonly Word[]): Kind<Word> {
  const bound = words.join(", ");
  return {
    placeholder: "<word>",
    bound,
    read: (text) => words.find((word) => word === text) ?? new Refusal(`write one of ${bound}`),
  };
}

/** Some of these words, separated by commas; at least one. */
export function listOf<const Word extends string>(words: readonly Word[]): Kind<readonly Word[]> {
  const bound = `of ${words.join(", ")}`;
  return {
    placeholder: "<words>",
    bound,
    read(text) {
      const written = text.split(",").map((word) => word.trim());
      const known = words.filter((word) => written.includes(word));
      return known.length === new Set(written).size ? known : new Refusal(`write one or more ${bound}`);
    },
  };
}

export const flag: Kind<boolean> = {
  placeholder: "[true|false]",
  bound: "true or false",
  usual: "false",
  read: (text) =>
    text === "true" || text === "false" ? text === "true" : new Refusal("write true or false"),
};

/** The name of a file; null: none. The code that uses the file checks it. */
export function file(bound: string): Kind<string | null> {
  return { placeholder: "<file>", bound, read: (text) => (text === "" ? null : text) };
}

/** Any text; the code that uses it checks it. */
export function text(placeholder: string, bound: string): Kind<string> {
  return { placeholder, bound, read: (written) => written };
}

/** The key of a label of claims; null: none. */
export function labelKey(bytesMax: number): Kind<string | null> {
  const bound = `1 to ${bytesMax} bytes`;
  return {
    placeholder: "<label>",
    bound,
    read(text) {
      if (Buffer.byteLength(text) > bytesMax) return new Refusal(`write the key of a label, ${bound}`);
      return text === "" ? null : text;
    },
  };
}

export interface PatternTime {
  readonly pattern: string;
  readonly keptForUs: number;
}

/** Names and patterns, each with a duration: `etl/*=30d,web/*=1h`. */
export function patternTimes(
  patternsMax: number,
  bytesMax: number,
  longest: string,
): Kind<readonly PatternTime[]> {
  const longestMs = durationMs(longest);
  return {
    placeholder: "<patterns>",
    bound: `at most ${patternsMax}, each with a duration up to ${longest}, a star only at the end`,
    read(text) {
      const parts = partsOf(text);
      const times = parts.map((part) => {
        const at = part.lastIndexOf("=");
        const pattern = part.slice(0, Math.max(at, 0)).trim();
        return { part, pattern, ms: durationMs(part.slice(at + 1).trim()) };
      });
      const advice = times.flatMap(({ part, pattern, ms }, index) => {
        if (pattern === "" || !(ms <= longestMs))
          return `write "${shortened(part)}" as a pattern and a duration up to ${longest}, as etl/*=30d`;
        const isTwice = times.findIndex((other) => other.pattern === pattern) < index;
        if (isTwice) return `it has "${shortened(pattern)}" twice: keep one`;
        return adviceOn(pattern, bytesMax) ?? [];
      });
      if (parts.length > patternsMax)
        advice.unshift(`it has ${parts.length} patterns: keep at most ${patternsMax}`);
      if (advice.length > 0) return new Refusal(advice.join("; "));
      return times.map(({ pattern, ms }) => ({ pattern, keptForUs: ms * 1_000 }));
    },
  };
}

/** Names and patterns (a prefix and a star), separated by commas, that put names into classes. */
export function namePatterns(
  patternsMax: number,
  bytesMax: number,
  reserved: string,
): Kind<readonly string[]> {
  return {
    placeholder: "<patterns>",
    bound: `at most ${patternsMax}, a star only at the end`,
    read(text) {
      const patterns = partsOf(text);
      if (patterns.length > patternsMax)
        return new Refusal(
          `it has ${patterns.length} patterns: keep at most ${patternsMax}, as each adds time series`,
        );
      const [advice] = patterns.flatMap((pattern) =>
        pattern === reserved
          ? `"${reserved}" is the class of the names that match no pattern: leave it out`
          : (adviceOn(pattern, bytesMax) ?? []),
      );
      return advice === undefined ? [...new Set(patterns)] : new Refusal(advice);
    },
  };
}

/** A job, and how old its last success may be. */
export interface MonitoredJob {
  readonly name: string;
  readonly okWithinMs: number;
}

/** Names of locks, each with a duration: `cron/nightly=26h`. */
export function nameTimes(
  namesMax: number,
  bytesMax: number,
  longest: string,
): Kind<readonly MonitoredJob[]> {
  const { read } = patternTimes(namesMax, bytesMax, longest);
  return {
    placeholder: "<names>",
    bound: `at most ${namesMax}, each with a duration up to ${longest}`,
    read(text) {
      const times = read(text);
      if (times instanceof Refusal) return times;
      const pattern = times.find((time) => time.pattern.endsWith("*"))?.pattern;
      if (pattern !== undefined)
        return new Refusal(`"${shortened(pattern)}" is a pattern: name each lock, as cron/nightly=26h`);
      return times.map((time) => ({ name: time.pattern, okWithinMs: time.keptForUs / 1_000 }));
    },
  };
}

/** What is between commas. */
export function partsOf(text: string): string[] {
  const parts = text.split(",").map((part) => part.trim());
  return parts.filter((part) => part !== "");
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function adviceOn(pattern: string, bytesMax: number): string | undefined {
  if (pattern.slice(0, -1).includes("*"))
    return `the pattern "${pattern}" has a star before its end: write a prefix and a star, as etl/*`;
  if (Buffer.byteLength(pattern) > bytesMax)
    return `the pattern that begins "${pattern.slice(0, 20)}" is longer than ${bytesMax} bytes`;
  return undefined;
}
