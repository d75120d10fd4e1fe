// The table of docs/conformance.md: scenarios by languages. It changes only if an outcome changes.

import type { Outcome, Outcomes } from "./outcome.ts";
import type { Scenario } from "./scenario.ts";

const WORDS: Readonly<Record<Outcome["kind"], string>> = {
  passed: "passed",
  failed: "**failed**",
  "not run": "not run",
  "does not apply": "–",
};

export interface TableOptions {
  readonly scenarios: readonly Scenario[];
  /** The language's name by folder. */
  readonly languages: Readonly<Record<string, string>>;
  readonly outcomes: Outcomes;
}

export function conformanceTable({ scenarios, languages, outcomes }: TableOptions): string {
  const folders = Object.keys(languages);
  const row = (...cells: string[]) => `| ${cells.join(" | ")} |`;
  const rows = scenarios.map(({ name, shows }) => {
    const of = outcomes.get(name);
    return row(name, shows.trim(), ...folders.map((folder) => WORDS[of?.get(folder)?.kind ?? "not run"]));
  });
  return [
    row("scenario", "what it shows", ...Object.values(languages)),
    row(...Array.from({ length: folders.length + 2 }, () => "---")),
    ...rows,
    "",
    ...reasons({ languages, outcomes }),
  ].join("\n");
}

/** Why cells say something other than "passed", each reason once. */
function reasons({ languages, outcomes }: Pick<TableOptions, "languages" | "outcomes">): string[] {
  const scenariosBy = new Map<string, string[]>();
  for (const [scenario, of] of outcomes)
    for (const [folder, outcome] of of) {
      if (outcome.kind === "passed") continue;
      // A failure's message differs from run to run, so leave it out.
      const why = outcome.kind === "failed" ? "" : `: ${outcome.why}`;
      const reason = `${languages[folder] ?? folder}, ${WORDS[outcome.kind]}${why}`;
      scenariosBy.set(reason, [...(scenariosBy.get(reason) ?? []), scenario]);
    }
  return [...scenariosBy].map(([reason, names]) => {
    const isAll = names.length === outcomes.size;
    return `- ${reason} (${isAll ? "all scenarios" : names.join("; ")})`;
  });
}

/** The text of the whole document. */
export function conformanceDocument(database: string, table: string): string {
  return `# Conformance of the clients

What each client was seen to do, in one suite for all of them: [test/clients/conformance](../test/clients/conformance/README.md).
\`npm run test:clients\` writes this page; nobody edits it. This run was on ${database}.

${table}
`;
}
