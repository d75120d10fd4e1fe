// The words of ARCHITECTURE.md are those of the code: few of our own, each in use, and one meaning for each.

import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const OWN_WORDS_MAX = 15;

/** Words with one meaning in names of types and classes, and the only places where such names stand. */
const ONLY_IN: Readonly<Record<string, RegExp>> = {
  // The product's stream of calls, never a connection to the database.
  Session: /^server\/grpc\//,
  // The stream of a prefix's locks, never a poll or a follower.
  Watch: /^server\/(engine\/(subscribers|answers)|grpc\/|metrics\/)/,
  Lease: /^server\/(core|engine|grpc)\//,
  // What a person or a scheduler sets or ends, never a row that a transaction writes, nor news for a subscriber.
  Change:
    /^server\/(core\/|engine\/(history|views\/|transaction\/limit-rules)|grpc\/methods\/|storage\/(rows\/kept-changes|store))/,
  // A request of the contract.
  Call: /^server\/(core\/(command|span)|grpc\/|http\/|metrics\/)/,
  // The state of a claim, a call or a capture in a queue: see WaitingCall, WaitingCapture.
  Waiting: /^server\/(engine\/subscribers\/waiting-captures|grpc\/messages\/call-error)/,
  // Who comes next.
  Turn: /^server\/(grpc\/|engine\/views\/|storage\/migrate\/)/,
};

/** Words with so many meanings that no type has them. */
const TOO_WIDE: Readonly<Record<string, string>> = {
  Known: "cached, reported, or what it is",
  Work: "jobs, steps, or what it is",
  Room: "capacity, or what has room",
};

/** Second words for what has a word already: the right one. */
const SECOND_WORDS: Readonly<Record<string, string>> = {
  departure: "detach",
  comeback: "return",
  goodbye: "retire",
  told: "notified",
  facts: "meta",
};

interface Named {
  readonly path: string;
  readonly name: string;
}

const files = globSync("server/**/*.ts", { cwd: ROOT });
const exported: readonly Named[] = files.flatMap((path) => {
  const source = readFileSync(join(ROOT, path), "utf8");
  const found = source.matchAll(/^export (?:abstract )?(?:class|interface|type|function|const) (\w+)/gm);
  return Array.from(found, ([, name]) => ({ path, name: name as string }));
});
/** All names of the code in lower case, with their words apart: `patient slots`. */
const spaced = new Set(
  files.flatMap((path) => {
    const code = readFileSync(join(ROOT, path), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*|"[^"]*"/g, "");
    const names = code.match(/[A-Za-z]\w*/g) ?? [];
    return [basename(path, ".ts").replaceAll("-", " "), ...names.map(apart)];
  }),
);

function apart(name: string): string {
  return name
    .replaceAll("_", " ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase();
}

const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
const table = architecture.split("Our own terms:")[1]?.split("\n## ")[0] ?? "";
const own = Array.from(table.matchAll(/^\| (?!word|---)([^|]+) \|/gm), ([, word]) => word as string);

describe("our own words", () => {
  test("are few", () => {
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThanOrEqual(OWN_WORDS_MAX);
  });

  test.each(own)("%s stands in the names of the code", (word) => {
    expect([...spaced].some((name) => ` ${name}`.includes(` ${word}`))).toBe(true);
  });

  test.each(own)("%s is explained once", (word) => {
    const rows = architecture.split("\n").filter((line) => line.startsWith(`| ${word} |`));
    expect(rows).toHaveLength(1);
  });
});

describe("a word has one meaning", () => {
  test.each(Object.entries(ONLY_IN))("types named %s are at home in one part", (word, home) => {
    const strangers = exported.filter(
      ({ path, name }) => new RegExp(`^${word}|${word}(?=[A-Z]|s?$)`).test(name) && !home.test(path),
    );
    expect(strangers).toEqual([]);
  });

  test.each(Object.entries(TOO_WIDE))("no type is named %s: say %s", (word) => {
    const own = files.flatMap((path) => {
      const code = readFileSync(join(ROOT, path), "utf8");
      const found = code.matchAll(/^(?:export )?(?:abstract )?(?:class|interface|type) (\w+)/gm);
      return Array.from(found, ([, name]) => name as string);
    });
    expect(own.filter((name) => ` ${apart(name)} `.includes(` ${word.toLowerCase()} `))).toEqual([]);
  });

  test.each(Object.entries(SECOND_WORDS))("nothing is named %s, as the word is %s", (second) => {
    expect([...spaced].filter((name) => ` ${name} `.includes(` ${second}`))).toEqual([]);
  });
});
