// The kinds of values that settings have: how each is written, its bounds, and what to do about a wrong one. Knows no
// setting by name. A kind's message completes the sentence "ROWLOCK_X is "…": ".

import { z } from "zod";
import { UNIT_MS } from "./duration-units.ts";
import type { ListenAddress } from "./listen-address.ts";
import { parseListenAddress } from "./listen-address.ts";

export interface Kind<Value> {
  /** Reads what was written; its issues say what to write instead. */
  readonly schema: z.ZodType<Value, string>;
  /** How a value is shown in usage lines, such as `<duration>`. */
  readonly placeholder: string;
  /** What is allowed, for people. */
  readonly bound: string;
}

/** Milliseconds, written like 500ms, 10s, 5m, 2h or 7d. */
export function duration(min: string, max: string): Kind<number> {
  const [minMs, maxMs] = [parseDurationMs(min), parseDurationMs(max)] as [number, number];
  return kind("<duration>", `${min} to ${max}`, (text, refuse) => {
    const ms = parseDurationMs(text);
    if (ms !== null && ms >= minMs && ms <= maxMs) return ms;
    return refuse(`write a duration such as 500ms, 10s, 5m, 2h or 7d, from ${min} to ${max}`);
  });
}

export function count(min: number, max: number): Kind<number> {
  return kind("<number>", `${min} to ${max}`, (text, refuse) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : refuse(`write a whole number from ${min} to ${max}`);
  });
}

/** The same, or `auto`, which becomes null: the code that uses the setting then decides. */
export function orAuto<Value>({ placeholder, bound, schema }: Kind<Value>): Kind<Value | null> {
  return kind(placeholder, `${bound}, or auto`, (text, refuse) => {
    if (text === "auto") return null;
    const result = schema.safeParse(text);
    return result.success ? result.data : refuse(`${result.error.issues[0]?.message}, or auto`);
  });
}

export function flag(): Kind<boolean> {
  return kind("[true|false]", "true or false", (text, refuse) => {
    if (text === "true") return true;
    return text === "false" ? false : refuse("write true or false");
  });
}

export function oneOf<const Word extends string>(words: readonly Word[]): Kind<Word> {
  return kind("<word>", words.join(", "), (text, refuse) => {
    const word = words.find((candidate) => candidate === text);
    return word ?? refuse(`write one of ${words.join(", ")}`);
  });
}

export function listenAddress(): Kind<ListenAddress> {
  return kind(
    "<host:port>",
    "host:port or [IPv6]:port, port 0 to 65535",
    (text, refuse) =>
      parseListenAddress(text) ??
      refuse(
        "write host:port, such as 127.0.0.1:50051, 0.0.0.0:50051 or [::1]:50051; port 0 takes a free one",
      ),
  );
}

/** An address, or `off`, which becomes null. */
export function listenAddressOrOff(): Kind<ListenAddress | null> {
  return kind("<host:port>", "host:port, [IPv6]:port, or off", (text, refuse) => {
    if (text === "off") return null;
    return (
      parseListenAddress(text) ?? refuse("write host:port, such as 127.0.0.1:9464 or [::1]:9464, or off")
    );
  });
}

/** The name of a file; null: none. Does not check whether the file can be read. */
export function optionalFile(): Kind<string | null> {
  return kind("<file>", "a PEM file", (text) => (text === "" ? null : text));
}

/** The name of a file that the server writes itself; null: none. */
export function ownFile(): Kind<string | null> {
  return kind("<file>", "a file in a directory that outlives the server", (text) =>
    text === "" ? null : text,
  );
}

/** Any text; the code that uses it checks it. */
export function text(placeholder: string, bound: string): Kind<string> {
  return kind(placeholder, bound, (written) => written);
}

/** Names and patterns (a prefix and a star), separated by commas, that put names into classes. */
export function namePatterns(
  maxPatterns: number,
  maxBytes: number,
  reserved: string,
): Kind<readonly string[]> {
  const bound = `at most ${maxPatterns}, a star only at the end`;
  return kind("<patterns>", bound, (text, refuse) => {
    const patterns = text
      .split(",")
      .map((pattern) => pattern.trim())
      .filter((pattern) => pattern !== "");
    if (patterns.length > maxPatterns) {
      return refuse(
        `it has ${patterns.length} patterns: keep at most ${maxPatterns}, as each adds time series`,
      );
    }
    for (const pattern of patterns) {
      if (pattern.slice(0, -1).includes("*")) {
        return refuse(
          `the pattern "${pattern}" has a star before its end: write a prefix and a star, as etl/*`,
        );
      }
      if (Buffer.byteLength(pattern) > maxBytes) {
        return refuse(`the pattern that begins "${pattern.slice(0, 20)}" is longer than ${maxBytes} bytes`);
      }
      if (pattern === reserved)
        return refuse(`"${reserved}" is the class of the names that match no pattern: leave it out`);
    }
    return [...new Set(patterns)];
  });
}

/** Milliseconds; null: the text is no duration. */
function parseDurationMs(text: string): number | null {
  const parts = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  return parts ? Number(parts[1]) * UNIT_MS[parts[2] as keyof typeof UNIT_MS] : null;
}

/** `refuse` records what to write instead; `read` must return its result instead of a value. */
function kind<Value>(
  placeholder: string,
  bound: string,
  read: (text: string, refuse: (message: string) => never) => Value,
): Kind<Value> {
  const schema = z.string().transform(
    (text, context): Value =>
      read(text, (message) => {
        context.addIssue({ code: "custom", message });
        return z.NEVER;
      }),
  );
  return { placeholder, bound, schema };
}
