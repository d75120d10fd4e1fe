// Plants small faults in the code of a folder, one at a time, and reports those that no fast test notices:
//   npm run mutants -- server/engine            every file of the folder, with the tests of test/engine
//   npm run mutants -- server/engine/following test/engine test/stories
// The first argument is a folder or a file, further ones are folders of tests. Prints each survivor as a diff, and fails
// where fewer than 80% of the faults are noticed. It takes minutes for a folder and is no part of `npm test`.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Stryker } from "@stryker-mutator/core";

const CAUGHT_PERCENT_MIN = 80;

const [target, ...testFolders] = process.argv.slice(2);
if (target === undefined || !existsSync(target)) {
  console.error("usage: npm run mutants -- FOLDER_OR_FILE [FOLDER_OF_TESTS...], as in: server/engine");
  process.exit(2);
}

/** `server/engine/following` is tested by `test/engine/following`, or by the nearest folder above it that there is. */
function testsOf(path: string): string {
  const parts = path.replace(/^server\//, "").split("/");
  if (path.startsWith("clients/typescript")) return "test/clients/typescript";
  while (parts.length > 0 && !existsSync(join("test", ...parts))) parts.pop();
  return join("test", ...parts);
}

const folders = testFolders.length > 0 ? testFolders : [testsOf(target)];
process.env.ROWLOCK_MUTANTS_TESTS = folders.join(",");
process.env.ROWLOCK_TEST_DATABASES ??= "sqlite";
console.error(`${target}, by the tests of ${folders.join(", ")}`);

const scratch = mkdtempSync(join(tmpdir(), "rowlock-mutants-"));
try {
  await new Stryker({
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner"],
    vitest: { configFile: "scripts/mutants-vitest.config.ts", related: false },
    mutate: [target.endsWith(".ts") ? target : `${target}/**/*.ts`],
    // A text is no promise. What is worked out once, as a file is loaded, cannot be exchanged later.
    mutator: { excludedMutations: ["StringLiteral"] },
    ignoreStatic: true,
    // Each mutant runs only the tests that reach it.
    coverageAnalysis: "perTest",
    concurrency: 2,
    timeoutMS: 3_000,
    dryRunTimeoutMinutes: 15,
    // Stryker would read it by the API of a TypeScript older than the project's; the tests erase types and need none.
    tsconfigFile: "none",
    tempDirName: scratch,
    ignorePatterns: ["clients/go", "clients/java", "clients/python", "dist"],
    reporters: ["clear-text", "progress-append-only"],
    clearTextReporter: { logTests: false },
    thresholds: { high: 100, low: CAUGHT_PERCENT_MIN, break: CAUGHT_PERCENT_MIN },
  }).runMutationTest();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
