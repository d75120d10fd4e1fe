// The scenario file as a whole, and what makes a scenario invalid.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LANGUAGES } from "./language.ts";
import { readScenarios } from "./scenario.ts";
import { filled } from "./values.ts";

test("each scenario has its row in docs/conformance.md, and each language its column", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/conformance.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  expect(rows[0]).toBe(`| scenario | what it shows | ${Object.values(LANGUAGES).join(" | ")} |`);
  const shown = rows.slice(2).map((row) => row.split(" | ").slice(0, 2).join(" | "));
  expect(shown).toEqual(readScenarios().map(({ name, shows }) => `| ${name} | ${shows.trim()}`));
});

test("a scenario excludes only languages that exist", () => {
  const named = readScenarios().flatMap(({ except }) => Object.keys(except));
  expect(named.filter((name) => !(name in LANGUAGES))).toEqual([]);
});

test.each([
  ["a word that nobody knows", "- {name: a, shows: b, clinets: {}, steps: [{pause: 1}]}", "clinets"],
  ["a step without a verb", "- {name: a, shows: b, steps: [{gives: {}}]}", "one verb is wanted"],
  ["a step with two verbs", "- {name: a, shows: b, steps: [{pause: 1, look: {}}]}", "one verb is wanted"],
  ["no steps", "- {name: a, shows: b, steps: []}", "steps"],
  [
    "a name that is there twice",
    "[{name: a, shows: b, steps: [{pause: 1}]}, {name: a, shows: b, steps: [{pause: 1}]}]",
    "Two scenarios have the name: a",
  ],
])("%s is refused", (_, text, words) => {
  expect(() => readScenarios(text)).toThrow(words);
});

const kept = (name: string) => `\${${name}}`;

test("names and saved values are filled in", () => {
  const values = new Map<string, unknown>([
    ["token", 7],
    ["row.name", "x"],
  ]);
  const step = {
    name: "~/job",
    tokens: { "~/job": "1" },
    list: [kept("token"), `w${kept("token")}-${kept("row.name")}`],
    plain: 1,
  };
  expect(filled(step, values, "slug")).toEqual({
    name: "slug/job",
    tokens: { "slug/job": "1" },
    list: [7, "w7-x"],
    plain: 1,
  });
  expect(() => filled(kept("gone"), values, "slug")).toThrow("Nothing is kept under gone.");
});
