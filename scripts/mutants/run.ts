// Plants small faults in the code of a folder, one at a time, and reports those that no fast test notices:
//   npm run mutants -- server/engine            every file of the folder, with the tests of test/engine
//   npm run mutants -- server/engine/changes test/engine test/stories
//   npm run mutants -- server/grpc/admission.ts:30-90 test/grpc/admission.test.ts
//   npm run mutants -- --matrix server/core     which test notices which fault, and which notices one that no other does
//   npm run mutants -- --matrix --keep before.json server/core   and Stryker's report is kept in that file
// The first argument is a folder, a file, or some lines of a file; several are separated by commas. Further ones are
// folders or files of tests. Prints each survivor as a diff, and fails if fewer than 80% of the faults are noticed. A folder
// takes minutes, so `npm test` does not include it.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { matrixText } from "./matrix.ts";

const CAUGHT_PERCENT_MIN = 80;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    matrix: { type: "boolean", default: false },
    keep: { type: "string" },
    concurrency: { type: "string", default: "2" },
  },
});
const [targetArgument, ...testArguments] = positionals;
const targets = targetArgument?.split(",") ?? [];
const [target] = targets;
if (target === undefined || !targets.every((one) => existsSync(one.replace(/:\d+-\d+$/, "")))) {
  console.error(
    "usage: npm run mutants -- [--matrix] [--keep FILE] [--concurrency 2] FOLDER_OR_FILE[,...] [FOLDER_OR_FILE_OF_TESTS...], as in: server/engine",
  );
  process.exit(2);
}

/**
 * The tests of `server/engine/changes` are in `test/engine/changes`, or in the nearest existing folder above it.
 */
function testsOf(path: string): string {
  const parts = path.replace(/^server\//, "").split("/");
  for (const client of ["clients/shell", "clients/typescript"])
    if (path.startsWith(client)) return `test/${client}`;
  while (parts.length > 0 && !existsSync(join("test", ...parts))) parts.pop();
  return join("test", ...parts);
}

const tests = testArguments.length > 0 ? testArguments : [testsOf(target)];
process.env.ROWLOCK_MUTANTS_TESTS = tests.join(",");
process.env.ROWLOCK_TEST_DATABASES ??= "sqlite";
console.error(`${targets.join(", ")}, by the tests of ${tests.join(", ")}`);

const own = import.meta.dirname;
// StrykerJS is installed at its first use, because it is as large as all other packages of the project.
if (!existsSync(join(own, "node_modules"))) run("npm", ["ci", "--prefix", own]);

const scratch = mkdtempSync(join(tmpdir(), "rowlock-mutants-"));
try {
  const config = join(scratch, "stryker.config.json");
  const report = join(scratch, "mutation.json");
  writeFileSync(
    config,
    JSON.stringify({
      testRunner: "vitest",
      plugins: [join(own, "node_modules/@stryker-mutator/vitest-runner/dist/src/index.js")],
      vitest: { configFile: relative(process.cwd(), join(own, "vitest.config.ts")), related: false },
      mutate: targets.map((one) => (/\.ts(:|$)/.test(one) ? one : `${one}/**/*.ts`)),
      // Texts are not promised. What a file computes once when it loads cannot be replaced later.
      mutator: { excludedMutations: ["StringLiteral"] },
      ignoreStatic: true,
      // Each mutant runs only the tests that reach it.
      coverageAnalysis: "perTest",
      // Otherwise the first test that notices a mutant is the only one that is asked.
      disableBail: flags.matrix,
      concurrency: Number(flags.concurrency),
      timeoutMS: 3_000,
      dryRunTimeoutMinutes: 15,
      // Stryker would read it with an API older than the project's TypeScript. The tests erase types and need no such
      // file.
      tsconfigFile: "none",
      tempDirName: join(scratch, "sandbox"),
      ignorePatterns: ["clients/go", "clients/java", "clients/python", "clients/typescript/gen", "dist"],
      // Stryker cannot copy this link to a folder.
      buildCommand: "ln -s ../../proto/gen clients/typescript/gen",
      reporters: ["clear-text", "progress-append-only", "json"],
      jsonReporter: { fileName: report },
      clearTextReporter: { logTests: false },
      thresholds: { high: 100, low: CAUGHT_PERCENT_MIN, break: CAUGHT_PERCENT_MIN },
    }),
  );
  run(join(own, "node_modules/.bin/stryker"), ["run", config]);
  if (flags.keep && existsSync(report)) copyFileSync(report, flags.keep);
  if (flags.matrix && existsSync(report)) console.log(matrixText(JSON.parse(readFileSync(report, "utf8"))));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Sets this process's exit code if the command fails. */
function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
