// Runs the scenarios with the clients: `npm run test:clients`. Writes docs/conformance.md after a complete run, and
// ends with a summary line, as all test runs here do.
//
//   --only go,python     only these languages
//   --scenario 'words'   only scenarios with these words in their names
//   --require-all        a scenario that cannot run on this machine counts as failed
//   --test-servers       only scenarios without servers of their own, on servers that the clients' modules for tests start

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openDatabases } from "./databases.ts";
import { exitOnSignals } from "./end-with-runner.ts";
import { LANGUAGES, Language } from "./language.ts";
import { closingLine, type Outcome } from "./outcome.ts";
import { play } from "./play.ts";
import { readScenarios, type Scenario } from "./scenario.ts";
import { conformanceDocument, conformanceTable } from "./table.ts";
import { together } from "./together.ts";

const DOCUMENT = join(import.meta.dirname, "../../../docs/conformance.md");
const LANGUAGES_AT_ONCE = 2;
const SCENARIOS_AT_ONCE = 4;

exitOnSignals();
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    scenario: { type: "string" },
    "require-all": { type: "boolean", default: false },
    "test-servers": { type: "boolean", default: false },
  },
});
const onTestServer = values["test-servers"];
const isWhole = values.only === undefined && values.scenario === undefined && !onTestServer;
const names = values.only?.split(",").map((name) => name.trim()) ?? Object.keys(LANGUAGES);
const unknown = names.filter((name) => !(name in LANGUAGES));
if (unknown.length > 0)
  throw new Error(`--only: no such language: ${unknown} (have: ${Object.keys(LANGUAGES)})`);
const scenarios = readScenarios().filter(
  ({ name, needs, servers }) =>
    name.includes(values.scenario ?? "") &&
    !(onTestServer && (needs === "mysql" || Object.keys(servers).length > 0)),
);
if (scenarios.length === 0) throw new Error(`--scenario: none has "${values.scenario}" in its name`);

const outcomes = new Map(scenarios.map(({ name }) => [name, new Map<string, Outcome>()]));
const databases = await openDatabases(process.env);
console.log(`on ${databases.label}`);
try {
  await together(LANGUAGES_AT_ONCE, names, (name) =>
    runLanguage(new Language(name, databases, { onTestServer })),
  );
} finally {
  await databases.stop();
}

const columns = Object.fromEntries(Object.entries(LANGUAGES).filter(([name]) => names.includes(name)));
const table = conformanceTable({ scenarios, languages: columns, outcomes });
if (isWhole) writeFileSync(DOCUMENT, conformanceDocument(databases.label.replace(/ .*/, ""), table));
console.log(`\n${closingLine(outcomes)}`);
if (/ [1-9]\d* failed/.test(closingLine(outcomes))) process.exitCode = 1;

async function runLanguage(language: Language): Promise<void> {
  let notHere: Outcome | undefined;
  try {
    const why = await language.build();
    if (why !== undefined) notHere = required({ kind: "not run", why });
  } catch (error) {
    notHere = { kind: "failed", why: (error as Error).message };
  }
  if (notHere) console.log(`${language.name}: ${notHere.kind}, as ${"why" in notHere && notHere.why}`);
  try {
    await together(SCENARIOS_AT_ONCE, scenarios, async (scenario) => {
      const startedMs = performance.now();
      const outcome = notHere ?? required(await play(language, scenario));
      outcomes.get(scenario.name)?.set(language.name, outcome);
      if (!notHere) report(language, scenario, outcome, performance.now() - startedMs);
    });
  } finally {
    await language.stop();
  }
}

/** Turns "not run" into "failed" if everything must be run. */
function required(outcome: Outcome): Outcome {
  return outcome.kind === "not run" && values["require-all"] ? { ...outcome, kind: "failed" } : outcome;
}

function report(language: Language, { name }: Scenario, outcome: Outcome, tookMs: number): void {
  const why = "why" in outcome ? `\n    ${outcome.why}` : "";
  console.log(`${outcome.kind.padEnd(8)} ${language.name}: ${name} (${(tookMs / 1_000).toFixed(1)} s)${why}`);
}
