// The table and the closing line for a run.

import { expect, test } from "vitest";
import { closingLine, type Outcome } from "./outcome.ts";
import { readScenarios } from "./scenario.ts";
import { conformanceTable } from "./table.ts";

const scenarios = readScenarios(`
- {name: one, shows: It works., steps: [{pause: 1}]}
- {name: two, shows: It waits., steps: [{pause: 1}]}
`);
const languages = { a: "A", b: "B", c: "C" };
const notHere: Outcome = { kind: "not run", why: "b is not here" };
const outcomes = new Map<string, Map<string, Outcome>>([
  [
    "one",
    new Map<string, Outcome>([
      ["a", { kind: "passed" }],
      ["b", notHere],
      ["c", { kind: "does not apply", why: "C has no threads." }],
    ]),
  ],
  [
    "two",
    new Map<string, Outcome>([
      ["a", { kind: "failed", why: "step 1, on port 4711" }],
      ["b", notHere],
      ["c", { kind: "passed" }],
    ]),
  ],
]);

test("the page has all outcomes, each reason once, and no part of a failure that changes from run to run", () => {
  expect(conformanceTable({ scenarios, languages, outcomes })).toBe(`| scenario | what it shows | A | B | C |
| --- | --- | --- | --- | --- |
| one | It works. | passed | not run | – |
| two | It waits. | **failed** | not run | passed |

- B, not run: b is not here (all scenarios)
- C, –: C has no threads. (one)
- A, **failed** (two)`);
});

test("the closing line counts the scenarios that ran and those that did not", () => {
  expect(closingLine(outcomes)).toBe("2 passed, 1 failed, 2 skipped");
});
