// Which test notices which planted fault, from Stryker's JSON report of a run that did not stop at the first test that
// notices one. It reads reports, and runs nothing.

interface Mutant {
  readonly id: string;
  readonly status: string;
  readonly killedBy?: readonly string[];
}

/** As far as it is read here: https://github.com/stryker-mutator/mutation-testing-elements, report schema. */
export interface Report {
  readonly files: Record<string, { readonly mutants: readonly Mutant[] }>;
  readonly testFiles: Record<string, { readonly tests: readonly { id: string; name: string }[] }>;
}

interface Row {
  readonly file: string;
  readonly name: string;
  /** Ids of the mutants that it notices. */
  readonly kills: Set<string>;
}

/**
 * A line for each file and each test: how many mutants it notices, how many no other one notices, and how many it adds to
 * the tests that notice more than it: 0 says that those notice all that it notices.
 */
export function matrixText({ files, testFiles }: Report): string {
  const mutants = Object.values(files).flatMap((file) => file.mutants);
  const tests = Object.entries(testFiles).flatMap(([file, { tests }]) =>
    tests.map(({ id, name }) => ({
      file,
      name,
      kills: new Set(mutants.filter(({ killedBy }) => killedBy?.includes(id)).map((mutant) => mutant.id)),
    })),
  );
  const byFile = Object.entries(Object.groupBy(tests, ({ file }) => file)).map(([file, ofFile = []]) => ({
    file,
    name: "",
    kills: new Set(ofFile.flatMap(({ kills }) => [...kills])),
  }));
  return [
    ...scores(files),
    "\nmutants that it notices | that no other notices | that it adds",
    ...lines(byFile),
    "\nby test",
    ...lines(tests),
  ].join("\n");
}

function scores(files: Report["files"]): string[] {
  const count = (mutants: readonly Mutant[], ...statuses: string[]) =>
    mutants.filter(({ status }) => statuses.includes(status)).length;
  const line = (name: string, mutants: readonly Mutant[]) =>
    `${name}: ${count(mutants, "Killed", "Timeout")} of ${count(mutants, "Killed", "Timeout", "Survived", "NoCoverage")} noticed`;
  const all = Object.entries(files).map(([name, { mutants }]) => [name, mutants] as const);
  return [...all, ["all", all.flatMap(([, mutants]) => mutants)] as const].map(([name, mutants]) =>
    line(name, mutants),
  );
}

function lines(rows: readonly Row[]): string[] {
  const noticedBy = new Map<string, number>();
  for (const { kills } of rows) for (const id of kills) noticedBy.set(id, (noticedBy.get(id) ?? 0) + 1);
  const added = addedBy(rows);
  return rows
    .toSorted((a, b) => (added.get(b) ?? 0) - (added.get(a) ?? 0) || b.kills.size - a.kills.size)
    .map((row) => {
      const alone = [...row.kills].filter((id) => noticedBy.get(id) === 1).length;
      return `${row.kills.size} | ${alone} | ${added.get(row) ?? 0} | ${row.file} ${row.name}`;
    });
}

/** Takes the test that adds most, then the one that adds most to that, and so on. */
function addedBy(rows: readonly Row[]): Map<Row, number> {
  const added = new Map<Row, number>();
  const noticed = new Set<string>();
  const left = new Set(rows);
  const adds = ({ kills }: Row) => [...kills].filter((id) => !noticed.has(id)).length;
  while (left.size > 0) {
    const [next, most] = [...left]
      .map((row) => [row, adds(row)] as const)
      .reduce((a, b) => (b[1] > a[1] ? b : a));
    if (most === 0) break;
    added.set(next, most);
    left.delete(next);
    for (const id of next.kills) noticed.add(id);
  }
  return added;
}
