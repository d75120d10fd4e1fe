// The tests that run against mutants: those that run.ts names, without the slow ones.
import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

const foldersAndFiles = process.env.ROWLOCK_MUTANTS_TESTS?.split(",") ?? [];
const include = foldersAndFiles.map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`));

export default defineConfig({
  test: {
    include,
    // Patches of the code's text do not fit code into which Stryker has planted its faults.
    exclude: ["**/*.slow.test.ts", "**/*.long.test.ts", "proof/core/planted.test.ts"],
    // Each mutant then loads the modules once, and not for each file. What vitest.config.ts isolates or runs apart cannot.
    isolate: globSync(include).some((path) =>
      /\bvi\.(mock|doMock)\(|\bawait import\(|useFakeTimers/.test(readFileSync(path, "utf8")),
    ),
    setupFiles: ["scripts/mutants/no-shrinking.ts"],
    globalSetup: ["test/support/mysql-family/global-setup.ts"],
    // Set it to 1,500 ms for tests without a server: a test that hangs in a mutant then fails, and needs no new
    // process.
    testTimeout: Number(process.env.ROWLOCK_MUTANTS_TEST_MS ?? 30_000),
  },
});
